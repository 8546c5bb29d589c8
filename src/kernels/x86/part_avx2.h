/* The part of a 16-lane vector for AVX2 with FMA and F16C: 8 floats. The meaning of each function is in part_portable.h. */
/* Not formatted by clang-format: one line per function, so that levels can be compared. */
/* clang-format off */
#include <immintrin.h>
#include <string.h>

#define TR_INLINE static inline __attribute__((always_inline))
#define TR_PART_AVX2

enum { LANES = 8, PARTS = 2 };
#define TILE_ROWS 3 /* rows of x in a tile of the matrix product: accumulators fill the registers */
#define WIDEN_TILES 8 /* if more tiles than this share a panel, its f16 or bf16 weights are widened first */
typedef __m256 part;

TR_INLINE __m256i lane_mask(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

TR_INLINE part part_set1(float a) { return _mm256_set1_ps(a); }
TR_INLINE part part_load(const float *p) { return _mm256_loadu_ps(p); }
TR_INLINE part part_load_n(const float *p, int n) { return _mm256_maskload_ps(p, lane_mask(n)); }
TR_INLINE void part_store(float *p, part a) { _mm256_storeu_ps(p, a); }
TR_INLINE void part_store_n(float *p, part a, int n) { _mm256_maskstore_ps(p, lane_mask(n), a); }
TR_INLINE part part_add(part a, part b) { return _mm256_add_ps(a, b); }
TR_INLINE part part_sub(part a, part b) { return _mm256_sub_ps(a, b); }
TR_INLINE part part_mul(part a, part b) { return _mm256_mul_ps(a, b); }
TR_INLINE part part_div(part a, part b) { return _mm256_div_ps(a, b); }
TR_INLINE part part_fma(part a, part b, part c) { return _mm256_fmadd_ps(a, b, c); }
TR_INLINE part part_mla(part a, part b, part c) { return part_fma(a, b, c); }
TR_INLINE part part_max(part a, part b) { return _mm256_max_ps(a, b); }
TR_INLINE part part_min(part a, part b) { return _mm256_min_ps(a, b); }
TR_INLINE part part_zero_below(part a, part x, part limit)
{
    return _mm256_andnot_ps(_mm256_cmp_ps(x, limit, _CMP_LT_OQ), a);
}
TR_INLINE part part_tail(part a, int n, float fill)
{
    return _mm256_blendv_ps(_mm256_set1_ps(fill), a, _mm256_castsi256_ps(lane_mask(n)));
}
TR_INLINE int part_above(part a, part b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NLE_UQ)); }
TR_INLINE bool part_any_above(part a, part b) { return part_above(a, b) != 0; }
TR_INLINE part part_exp2_magic(part t)
{
    const __m256i n = _mm256_slli_epi32(_mm256_castps_si256(t), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(n, _mm256_castps_si256(_mm256_set1_ps(1.0f))));
}
TR_INLINE part part_abs(part a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
TR_INLINE part part_copysign(part a, part sign) { return _mm256_or_ps(a, _mm256_and_ps(sign, _mm256_set1_ps(-0.0f))); }
TR_INLINE part part_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
TR_INLINE void part_store_f16(uint16_t *p, part a)
{
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
TR_INLINE part part_load_bf16(const uint16_t *p)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16));
}
TR_INLINE part part_load_i8(const int8_t *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
TR_INLINE void part_store_i8_n(int8_t *p, part a, int n)
{
    const __m256i i32 = _mm256_cvtps_epi32(a);
    const __m128i i16 = _mm_packs_epi32(_mm256_castsi256_si128(i32), _mm256_extracti128_si256(i32, 1));
    int8_t q[16];
    _mm_storeu_si128((__m128i *)q, _mm_packs_epi16(i16, i16));
    if (n == LANES)
        memcpy(p, q, LANES);
    else if (n > 0)
        memcpy(p, q, (size_t)n);
}

#include "kernels/part_tails.h"
