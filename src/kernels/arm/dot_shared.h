/* What the int8 dot products of all AArch64 levels share: inputs are kept as signed bytes, without offset. The meaning of
 * each function is in i8_tmpl.h. */

typedef int8x16_t dot_weight; /* 4 weights of four outputs */

TR_INLINE dot_weight dot_weight_load(const char *line, int h) { return vld1q_s8((const int8_t *)line + 16 * h); }

TR_INLINE dot_weight dot_nibbles_load(const char *line, int h, int half)
{
    const uint8x16_t bytes = vld1q_u8((const uint8_t *)line + 16 * h);
    const uint8x16_t nibbles = half ? vshrq_n_u8(bytes, 4) : vandq_u8(bytes, vdupq_n_u8(15));
    return vsubq_s8(vreinterpretq_s8_u8(nibbles), vdupq_n_s8(8));
}

/* Sums of four outputs each become the 16 outputs. */
TR_INLINE vec dot_floats(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d)
{
    return (vec){{vcvtq_f32_s32(a), vcvtq_f32_s32(b), vcvtq_f32_s32(c), vcvtq_f32_s32(d)}};
}

TR_INLINE void dot_put(char *row, int i, vec q)
{
    const int16x8_t low = vcombine_s16(vmovn_s32(vcvtnq_s32_f32(q.p[0])), vmovn_s32(vcvtnq_s32_f32(q.p[1])));
    const int16x8_t high = vcombine_s16(vmovn_s32(vcvtnq_s32_f32(q.p[2])), vmovn_s32(vcvtnq_s32_f32(q.p[3])));
    vst1q_s8((int8_t *)row + i, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
}
