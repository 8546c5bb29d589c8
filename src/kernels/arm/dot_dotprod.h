/* int8 dot products by sdot, four outputs at a time: signed by signed bytes, exact. The meaning of each function is in
 * i8_tmpl.h. */
/* Not formatted by clang-format: one line per function, so that levels can be compared. */
/* clang-format off */
#include "kernels/arm/dot_shared.h"

typedef int32x4_t dot_sum;    /* of four outputs */
typedef int8x16_t dot_input;  /* the same 4 inputs four times */
typedef int8x16_t dot_weight; /* 4 weights of four outputs */

#define DOT_PARTS 4
#define DOT_ROWS 6
#define DOT_PANELS 1
#define DOT_TURNS 2

TR_INLINE dot_sum dot_zero(void) { return vdupq_n_s32(0); }
TR_INLINE dot_sum dot_sum_add(dot_sum a, dot_sum b) { return vaddq_s32(a, b); }
TR_INLINE dot_weight dot_weight_load(const char *line, int h) { return vld1q_s8((const int8_t *)line + 16 * h); }

TR_INLINE dot_weight dot_nibbles_load(dot_levels levels, const char *line, int h, int half)
{
    const uint8x16_t bytes = vld1q_u8((const uint8_t *)line + 16 * h);
    return vqtbl1q_s8(levels, half ? vshrq_n_u8(bytes, 4) : vandq_u8(bytes, vdupq_n_u8(15)));
}

TR_INLINE dot_input dot_input_load(const char *row, int group)
{
    int32_t four;
    memcpy(&four, row + 4 * (size_t)group, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

TR_INLINE dot_sum dot_add(dot_sum sum, dot_input a, dot_weight w) { return vdotq_s32(sum, w, a); }

TR_INLINE vec dot_value(const dot_sum sums[DOT_PARTS], const int32_t colsum[16])
{
    (void)colsum;
    return dot_floats(sums[0], sums[1], sums[2], sums[3]);
}
