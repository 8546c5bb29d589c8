/* One CPU level: include a part_*.h, define TR_DOT (its int8 dot product), TR_TILES if it has tiles of its own for int8
 * products of many rows, TR_LEVEL (its table), TR_LEVEL_NAME and TR_LEVEL_FUSED, then this. */
#include "kernels/kernels.h"
#include "kernels/half.h"

#include <math.h>

enum { DOT_AHEAD = 2048 }; /* bytes by which reading int8 or nibbles runs ahead for one or two rows */

#include "kernels/vec16.h"
#include TR_DOT
#include "kernels/matmul_tmpl.h"
#include "kernels/i8_tmpl.h"
#ifdef TR_TILES
#include TR_TILES
#endif
#include "kernels/screen_tmpl.h"
#include "kernels/i8_screen_tmpl.h"
#include "kernels/screen_pack_tmpl.h"
#include "kernels/attention_tmpl.h"
#include "kernels/mix_tmpl.h"
#include "kernels/attend_rows_tmpl.h"
#include "kernels/rows_tmpl.h"
#include "kernels/peak_tmpl.h"

static void matmul(const tr_matmul *op, int first, int last, float *scratch)
{
    if (op->weight->type == TR_TYPE_I8) {
#ifdef TR_TILES
        if (dot_own_tiles(op, first, last))
            return;
#endif
        i8_matmul(op, first, last);
    } else {
        float_matmul(op, first, last, scratch);
    }
}

static void screen_bounds(const tr_screened *op, int first, int last, float *scratch)
{
    if (op->screen->exact->type == TR_TYPE_I8)
        i8_screen_bounds(op, first, last);
    else
        float_screen_bounds(op, first, last, scratch);
}

static void screened_best(const tr_screened *op, int first, int last, float *scratch)
{
    if (op->screen->exact->type == TR_TYPE_I8)
        i8_screened_best(op, first, last);
    else
        float_screened_best(op, first, last, scratch);
}

const tr_kernels TR_LEVEL = {
    .level = TR_LEVEL_NAME,
    .fused = TR_LEVEL_FUSED,
    .bf16_pairs = PAIRS,
    .matmul = matmul,
    .screen_build = screen_build,
    .screen_pack = screen_pack,
    .screen_bounds = screen_bounds,
    .screened_best = screened_best,
    .attn_decode = attend,
    .attn_prefill = attend_rows,
    .attn_pack = attend_pack,
    .gemm_nn = mix,
    .elu_plus_1 = elu_plus_1,
    .softmax = softmax,
    .quantise = quantise,
    .layernorm = layernorm,
    .embed_row = embed,
    .kv_store = kv_put,
    .ssru_step = recur,
    .aan_step = average,
    .add = add,
    .exp_sum = exp_sum,
    .top = top,
    .peak = peak,
    .read_memory = read_memory,
};
