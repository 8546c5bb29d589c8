/* What the int8 dot products of all AArch64 levels share: inputs are kept as signed bytes, without offset. The meaning of
 * each function is in i8_tmpl.h. */
/* Not formatted by clang-format: one line per function, so that levels can be compared. */
/* clang-format off */

typedef int8x16_t dot_levels;

TR_INLINE dot_levels dot_levels_load(void) { return vld1q_s8(tr_screen_levels); }

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
