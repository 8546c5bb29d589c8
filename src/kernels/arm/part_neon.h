/* The part of a 16-lane vector for NEON of AArch64: 4 floats. The meaning of each function is in part_portable.h. */
/* Not formatted by clang-format: one line per function, so that levels can be compared. */
/* clang-format off */
#include <arm_neon.h>
#include <string.h>

#define TR_INLINE static inline __attribute__((always_inline))
#define TR_PART_NEON

enum { LANES = 4, PARTS = 4 };
#define TILE_ROWS 6 /* rows of x in a tile of the matrix product: accumulators fill the registers */
#define WIDEN_TILES 8 /* if more tiles than this share a panel, its f16 or bf16 weights are widened first */
typedef float32x4_t part;

TR_INLINE uint32x4_t lane_mask(int n)
{
    static const int32_t lane[4] = {0, 1, 2, 3};
    return vcltq_s32(vld1q_s32(lane), vdupq_n_s32(n));
}

TR_INLINE part part_set1(float a) { return vdupq_n_f32(a); }
TR_INLINE part part_load(const float *p) { return vld1q_f32(p); }
TR_INLINE void part_store(float *p, part a) { vst1q_f32(p, a); }

TR_INLINE part part_load_n(const float *p, int n)
{
    if (n >= LANES)
        return vld1q_f32(p);
    float32x4_t a = vdupq_n_f32(0);
    if (n > 0)
        a = vld1q_lane_f32(p, a, 0);
    if (n > 1)
        a = vld1q_lane_f32(p + 1, a, 1);
    if (n > 2)
        a = vld1q_lane_f32(p + 2, a, 2);
    return a;
}

TR_INLINE void part_store_n(float *p, part a, int n)
{
    if (n >= LANES) {
        vst1q_f32(p, a);
        return;
    }
    if (n > 0)
        vst1q_lane_f32(p, a, 0);
    if (n > 1)
        vst1q_lane_f32(p + 1, a, 1);
    if (n > 2)
        vst1q_lane_f32(p + 2, a, 2);
}

TR_INLINE part part_add(part a, part b) { return vaddq_f32(a, b); }
TR_INLINE part part_sub(part a, part b) { return vsubq_f32(a, b); }
TR_INLINE part part_mul(part a, part b) { return vmulq_f32(a, b); }
TR_INLINE part part_div(part a, part b) { return vdivq_f32(a, b); }
TR_INLINE part part_fma(part a, part b, part c) { return vfmaq_f32(c, a, b); }
TR_INLINE part part_mla(part a, part b, part c) { return part_fma(a, b, c); }
/* fmax and fmaxnm treat NaN otherwise */
TR_INLINE part part_max(part a, part b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
TR_INLINE part part_min(part a, part b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
TR_INLINE part part_zero_below(part a, part x, part limit)
{
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(a), vcltq_f32(x, limit)));
}
TR_INLINE part part_tail(part a, int n, float fill) { return vbslq_f32(lane_mask(n), a, vdupq_n_f32(fill)); }
TR_INLINE bool part_any_above(part a, part b) { return vminvq_u32(vcleq_f32(a, b)) == 0; }
TR_INLINE part part_exp2_magic(part t)
{
    return vreinterpretq_f32_s32(vaddq_s32(vshlq_n_s32(vreinterpretq_s32_f32(t), 23), vdupq_n_s32(0x3f800000)));
}
TR_INLINE part part_abs(part a) { return vabsq_f32(a); }
TR_INLINE part part_copysign(part a, part sign)
{
    const uint32x4_t bit = vandq_u32(vreinterpretq_u32_f32(sign), vdupq_n_u32(0x80000000));
    return vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(a), bit));
}

TR_INLINE part part_load_f16(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
TR_INLINE void part_store_f16(uint16_t *p, part a) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a))); }
TR_INLINE part part_load_bf16(const uint16_t *p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }
TR_INLINE part part_load_i8(const int8_t *p)
{
    uint32_t four;
    memcpy(&four, p, sizeof four);
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four))))));
}
TR_INLINE void part_store_i8_n(int8_t *p, part a, int n)
{
    const int16x4_t words = vmovn_s32(vcvtnq_s32_f32(a));
    int8_t q[8];
    vst1_s8(q, vmovn_s16(vcombine_s16(words, words)));
    if (n >= LANES)
        memcpy(p, q, LANES);
    else if (n > 0)
        memcpy(p, q, (size_t)n);
}

#include "kernels/part_tails.h"
