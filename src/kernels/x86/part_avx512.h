/* The part of a 16-lane vector for AVX-512 (F, BW, DQ, VL): all 16 floats. The meaning of each function is in
 * part_portable.h. */
/* Not formatted by clang-format: one line per function, so that levels can be compared. */
/* clang-format off */
#include <immintrin.h>
#include <string.h>

#define TR_INLINE static inline __attribute__((always_inline))
#define TR_PART_AVX512

enum { LANES = 16, PARTS = 1 };
#define TILE_ROWS 6 /* rows of x in a tile of the matrix product: accumulators fill the registers */
#define WIDEN_TILES 8 /* if more tiles than this share a panel, its f16 or bf16 weights are widened first */
typedef __m512 part;

TR_INLINE __mmask16 lane_mask(int n) { return (__mmask16)_bzhi_u32(0xffff, n > 0 ? (unsigned)n : 0); }

TR_INLINE part part_set1(float a) { return _mm512_set1_ps(a); }
TR_INLINE part part_load(const float *p) { return _mm512_loadu_ps(p); }
TR_INLINE part part_load_n(const float *p, int n) { return _mm512_maskz_loadu_ps(lane_mask(n), p); }
TR_INLINE void part_store(float *p, part a) { _mm512_storeu_ps(p, a); }
TR_INLINE void part_store_n(float *p, part a, int n) { _mm512_mask_storeu_ps(p, lane_mask(n), a); }
TR_INLINE part part_add(part a, part b) { return _mm512_add_ps(a, b); }
TR_INLINE part part_sub(part a, part b) { return _mm512_sub_ps(a, b); }
TR_INLINE part part_mul(part a, part b) { return _mm512_mul_ps(a, b); }
TR_INLINE part part_div(part a, part b) { return _mm512_div_ps(a, b); }
TR_INLINE part part_fma(part a, part b, part c) { return _mm512_fmadd_ps(a, b, c); }
TR_INLINE part part_mla(part a, part b, part c) { return part_fma(a, b, c); }
TR_INLINE part part_max(part a, part b) { return _mm512_max_ps(a, b); }
TR_INLINE part part_min(part a, part b) { return _mm512_min_ps(a, b); }
TR_INLINE part part_zero_below(part a, part x, part limit)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), a);
}
TR_INLINE part part_tail(part a, int n, float fill) { return _mm512_mask_mov_ps(_mm512_set1_ps(fill), lane_mask(n), a); }
TR_INLINE int part_above(part a, part b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLE_UQ); }
TR_INLINE bool part_any_above(part a, part b) { return part_above(a, b) != 0; }
TR_INLINE part part_exp2_magic(part t)
{
    const __m512i n = _mm512_slli_epi32(_mm512_castps_si512(t), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(n, _mm512_castps_si512(_mm512_set1_ps(1.0f))));
}
TR_INLINE part part_abs(part a) { return _mm512_abs_ps(a); }
TR_INLINE part part_copysign(part a, part sign)
{
    return _mm512_or_ps(a, _mm512_and_ps(sign, _mm512_set1_ps(-0.0f)));
}
TR_INLINE part part_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
TR_INLINE void part_store_f16(uint16_t *p, part a)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
TR_INLINE part part_widen_bf16(__m256i h)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
TR_INLINE part part_load_bf16(const uint16_t *p) { return part_widen_bf16(_mm256_loadu_si256((const __m256i *)p)); }
TR_INLINE part part_load_i8(const int8_t *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
TR_INLINE void part_store_i8_n(int8_t *p, part a, int n)
{
    _mm_mask_storeu_epi8(p, lane_mask(n), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a)));
}
TR_INLINE part part_load_i8_n(const int8_t *p, int n)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(lane_mask(n), p)));
}
TR_INLINE part part_load_f16_n(const uint16_t *p, int n)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lane_mask(n), p));
}
TR_INLINE part part_load_bf16_n(const uint16_t *p, int n)
{
    return part_widen_bf16(_mm256_maskz_loadu_epi16(lane_mask(n), p));
}

/* Products of BF16 with BF16, pairs of them in every lane. The instruction takes denormal numbers for 0. */
#if defined(__AVX512BF16__)
#define TR_PART_PAIRS
TR_INLINE part part_load_pairs(const uint16_t *p) { return _mm512_loadu_ps(p); }
TR_INLINE part part_load_pairs_n(const uint16_t *p, int n) /* n <= 2 LANES, the others 0 */
{
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(_bzhi_u32(UINT32_MAX, n > 0 ? (unsigned)n : 0), p));
}
TR_INLINE part part_mla_pairs(part a, part b, part c) { return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b); }
TR_INLINE void part_store_rounded(uint16_t *p, part a) /* to BF16 */
{
    _mm256_storeu_si256((__m256i *)p, (__m256i)_mm512_cvtneps_pbh(a));
}
#endif
