/* Makes the table of one CPU level out of the templates. Before this, include a part_*.h and define
 *   TR_DOT           the dot_*.h with its int8 dot product
 *   TR_NIBBLES       optional: a header with its own nibble_values (i8_screen_tmpl.h)
 *   TR_TILES         optional: a header with its own tiles for int8 products of many rows (i8_tmpl.h)
 *   TR_LEVEL, TR_LEVEL_NAME, TR_LEVEL_FUSED     the table, its name, whether its multiply-adds round once */
#include "kernels/kernels.h"

#include <math.h>

enum { DOT_AHEAD = 2048 }; /* prefetch distance in bytes of int8 weights or nibbles for one or two rows */

#include "kernels/vec16.h"
#include TR_DOT
#include "kernels/rows_tmpl.h"
#include "kernels/matmul_tmpl.h"
#include "kernels/i8_tmpl.h"
#include "kernels/screen_tmpl.h"
#include "kernels/i8_screen_tmpl.h"
#include "kernels/attn_decode_tmpl.h"
#include "kernels/attn_prefill_tmpl.h"
#include "kernels/peak_tmpl.h"

const tr_kernels TR_LEVEL = {
    .level = TR_LEVEL_NAME,
    .fused = TR_LEVEL_FUSED,
    .bf16_pairs = PAIRS,
    .matmul = matmul,
    .gemm_nn = gemm_nn,
    .quantise = quantise,
    .screen_build = screen_build,
    .screen_pack = screen_pack,
    .screen_bounds = screen_bounds,
    .screened_best = screened_best,
    .attn_decode = attn_decode,
    .attn_prefill = attn_prefill,
    .attn_pack = attn_pack,
    .kv_store = kv_store,
    .layernorm = layernorm,
    .embed_row = embed_row,
    .ssru_step = ssru_step,
    .aan_step = aan_step,
    .add = add,
    .elu_plus_1 = elu_plus_1,
    .softmax = softmax,
    .exp_sum = exp_sum,
    .top = top,
    .peak = peak,
    .read_memory = read_memory,
};
