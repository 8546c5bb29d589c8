/* int8 dot products by pairs of int16 (vpmaddwd), in which nothing can overflow. Inputs are kept as int16. The meaning of
 * each function is in i8_tmpl.h. */
/* Not formatted by clang-format: one line per function, so that levels can be compared. */
/* clang-format off */
typedef __m512i dot_sum;    /* of eight outputs, two sums each */
typedef __m512i dot_input;  /* the same 4 inputs eight times */
typedef __m512i dot_weight; /* 4 weights of eight outputs */

#define DOT_PARTS 2
#define DOT_ROWS 6
#define DOT_PANELS 2
#define DOT_TURNS 1

TR_INLINE dot_sum dot_zero(void) { return _mm512_setzero_si512(); }
TR_INLINE dot_sum dot_sum_add(dot_sum a, dot_sum b) { return _mm512_add_epi32(a, b); }

TR_INLINE dot_weight dot_weight_load(const char *line, int h)
{
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(line + 32 * h)));
}

typedef __m256i dot_levels;

TR_INLINE dot_levels dot_levels_load(void)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)tr_screen_levels));
}

TR_INLINE dot_weight dot_nibbles_load(dot_levels levels, const char *line, int h, int half)
{
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)(line + 32 * h));
    const __m256i nibbles = half ? _mm256_srli_epi16(bytes, 4) : bytes;
    return _mm512_cvtepi8_epi16(_mm256_shuffle_epi8(levels, _mm256_and_si256(nibbles, _mm256_set1_epi8(15))));
}

TR_INLINE dot_input dot_input_load(const char *row, int group)
{
    int64_t four;
    memcpy(&four, row + 8 * (size_t)group, sizeof four);
    return _mm512_set1_epi64(four);
}

TR_INLINE dot_sum dot_add(dot_sum sum, dot_input a, dot_weight w)
{
    return _mm512_add_epi32(sum, _mm512_madd_epi16(a, w));
}

TR_INLINE vec dot_value(const dot_sum sums[DOT_PARTS], const int32_t colsum[16])
{
    (void)colsum;
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return (vec){{_mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_permutex2var_epi32(sums[0], even, sums[1]),
                                                      _mm512_permutex2var_epi32(sums[0], odd, sums[1])))}};
}

TR_INLINE void dot_put(char *row, int i, vec q)
{
    _mm256_storeu_si256((__m256i *)(row + 2 * (size_t)i), _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(q.p[0])));
}
