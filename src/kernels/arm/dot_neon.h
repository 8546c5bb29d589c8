/* int8 dot products for every AArch64 CPU: products of bytes as int16 (smull), which holds them, then neighbours added to
 * int32 sums (sadalp). The meaning of each function is in i8_tmpl.h. */
#include "kernels/arm/dot_shared.h"

typedef struct dot_sum {
    int32x4_t low, high; /* of four outputs, two sums each */
} dot_sum;
typedef int8x8_t dot_input;   /* the same 4 inputs twice */

#define DOT_PARTS 4
#define DOT_ROWS 3
#define DOT_PANELS 1
#define DOT_TURNS 1

TR_INLINE dot_sum dot_zero(void) { return (dot_sum){vdupq_n_s32(0), vdupq_n_s32(0)}; }
TR_INLINE dot_sum dot_sum_add(dot_sum a, dot_sum b) { return (dot_sum){vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)}; }

TR_INLINE dot_input dot_input_load(const char *row, int group)
{
    int32_t four;
    memcpy(&four, row + 4 * (size_t)group, sizeof four);
    return vreinterpret_s8_s32(vdup_n_s32(four));
}

TR_INLINE dot_sum dot_add(dot_sum sum, dot_input a, dot_weight w)
{
    return (dot_sum){vpadalq_s16(sum.low, vmull_s8(vget_low_s8(w), a)), vpadalq_s16(sum.high, vmull_s8(vget_high_s8(w), a))};
}

TR_INLINE vec dot_value(const dot_sum sums[DOT_PARTS], const int32_t colsum[16])
{
    (void)colsum;
    return dot_floats(vpaddq_s32(sums[0].low, sums[0].high), vpaddq_s32(sums[1].low, sums[1].high),
                      vpaddq_s32(sums[2].low, sums[2].high), vpaddq_s32(sums[3].low, sums[3].high));
}
