/* int8 dot products by pairs of int16 (vpmaddwd), in which nothing can overflow. Inputs are kept as int16. The meaning of
 * each function is in i8_tmpl.h. */
/* Not formatted by clang-format: one line per function, so that levels can be compared. */
/* clang-format off */
typedef __m256i dot_sum;    /* of four outputs, two sums each */
typedef __m256i dot_input;  /* the same 4 inputs four times */
typedef __m256i dot_weight; /* 4 weights of four outputs */

#define DOT_PARTS 4
#define DOT_ROWS 3
#define DOT_PANELS 1
#define DOT_TURNS 1

TR_INLINE dot_sum dot_zero(void) { return _mm256_setzero_si256(); }
TR_INLINE dot_sum dot_sum_add(dot_sum a, dot_sum b) { return _mm256_add_epi32(a, b); }

TR_INLINE dot_weight dot_weight_load(const char *line, int h)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(line + 16 * h)));
}

TR_INLINE dot_input dot_input_load(const char *row, int group)
{
    int64_t four;
    memcpy(&four, row + 8 * (size_t)group, sizeof four);
    return _mm256_set1_epi64x(four);
}

TR_INLINE dot_sum dot_add(dot_sum sum, dot_input a, dot_weight w)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, w));
}

TR_INLINE vec dot_value(const dot_sum sums[DOT_PARTS], const int32_t colsum[16])
{
    (void)colsum;
    /* adding neighbours leaves outputs 0 1 4 5 | 2 3 6 7 */
    const __m256i low = _mm256_permute4x64_epi64(_mm256_hadd_epi32(sums[0], sums[1]), 0xd8);
    const __m256i high = _mm256_permute4x64_epi64(_mm256_hadd_epi32(sums[2], sums[3]), 0xd8);
    return (vec){{_mm256_cvtepi32_ps(low), _mm256_cvtepi32_ps(high)}};
}

TR_INLINE void dot_put(char *row, int i, vec q)
{
    const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(q.p[0]), _mm256_cvtps_epi32(q.p[1]));
    _mm256_storeu_si256((__m256i *)(row + 2 * (size_t)i), _mm256_permute4x64_epi64(words, 0xd8));
}

#define DOT_OFFSET_LEVELS
typedef __m256i dot_levels;

TR_INLINE dot_levels dot_levels_load(void)
{
    return _mm256_add_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)tr_screen_levels)),
                           _mm256_set1_epi8(TR_SCREEN_MAX));
}

TR_INLINE void dot_signed(const char *row, int i, int8_t *out)
{
    const __m256i words = _mm256_loadu_si256((const __m256i *)(row + 2 * (size_t)i));
    _mm_storeu_si128((__m128i *)out, _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
