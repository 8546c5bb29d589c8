/* int8 dot products for every AArch64 CPU: products of bytes as int16 (smull), which holds them, then neighbours added to
 * int32 sums (sadalp). The meaning of each function is in i8_tmpl.h. */
/* Not formatted by clang-format: one line per function, so that levels can be compared. */
/* clang-format off */
#include "kernels/arm/dot_shared.h"

typedef int32x4_t dot_sum;   /* of two outputs, two sums each */
typedef int8x8_t dot_input;  /* the same 4 inputs twice */
typedef int8x8_t dot_weight; /* 4 weights of two outputs */

#define DOT_PARTS 8
#define DOT_ROWS 3
#define DOT_PANELS 1
#define DOT_TURNS 1

TR_INLINE dot_sum dot_zero(void) { return vdupq_n_s32(0); }
TR_INLINE dot_sum dot_sum_add(dot_sum a, dot_sum b) { return vaddq_s32(a, b); }
TR_INLINE dot_weight dot_weight_load(const char *line, int h) { return vld1_s8((const int8_t *)line + 8 * h); }

TR_INLINE dot_weight dot_nibbles_load(dot_levels levels, const char *line, int h, int half)
{
    const uint8x8_t bytes = vld1_u8((const uint8_t *)line + 8 * h);
    return vqtbl1_s8(levels, half ? vshr_n_u8(bytes, 4) : vand_u8(bytes, vdup_n_u8(15)));
}

TR_INLINE dot_input dot_input_load(const char *row, int group)
{
    int32_t four;
    memcpy(&four, row + 4 * (size_t)group, sizeof four);
    return vreinterpret_s8_s32(vdup_n_s32(four));
}

TR_INLINE dot_sum dot_add(dot_sum sum, dot_input a, dot_weight w) { return vpadalq_s16(sum, vmull_s8(w, a)); }

TR_INLINE vec dot_value(const dot_sum sums[DOT_PARTS], const int32_t colsum[16])
{
    (void)colsum;
    return dot_floats(vpaddq_s32(sums[0], sums[1]), vpaddq_s32(sums[2], sums[3]), vpaddq_s32(sums[4], sums[5]),
                      vpaddq_s32(sums[6], sums[7]));
}
