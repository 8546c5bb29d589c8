/* One CPU level of the floating-point kernels: include a part_*.h, define TR_LEVEL (its table) and TR_LEVEL_NAME, then this. */
#include "kernels/kernels.h"

#include <math.h>

#include "kernels/vec16.h"
#include "kernels/matmul_tmpl.h"
#include "kernels/screen_tmpl.h"
#include "kernels/attention_tmpl.h"
#include "kernels/rows_tmpl.h"

const tr_kernels TR_LEVEL = {
    .level = TR_LEVEL_NAME,
    .fused = TR_LEVEL_FUSED,
    .matmul = matmul,
    .screen_build = screen_build,
    .screened_best = screened_best,
    .attend = attend,
    .layernorm = layernorm,
    .embed = embed,
    .kv_put = kv_put,
};
