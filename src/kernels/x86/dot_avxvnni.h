/* int8 dot products by vpdpbusd, eight outputs at a time. It multiplies unsigned with signed bytes and does not saturate:
 * inputs are kept with 128 added, and 128 colsum is taken from the sums. The meaning of each function is in i8_tmpl.h. */
/* A line a function, so that the levels can be compared. */
/* clang-format off */
typedef __m256i dot_sum, dot_input, dot_weight;

#define DOT_PARTS 2
#define DOT_ROWS 6
#define DOT_PANELS 1
#define DOT_TURNS 2

TR_INLINE dot_sum dot_zero(void) { return _mm256_setzero_si256(); }
TR_INLINE dot_sum dot_sum_add(dot_sum a, dot_sum b) { return _mm256_add_epi32(a, b); }
TR_INLINE dot_weight dot_weight_load(const char *line, int h)
{
    return _mm256_loadu_si256((const __m256i *)(line + 32 * h));
}

typedef __m256i dot_levels;

TR_INLINE dot_levels dot_levels_load(void)
{
    return _mm256_add_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)tr_screen_levels)),
                           _mm256_set1_epi8(TR_SCREEN_MOST));
}

TR_INLINE dot_weight dot_nibbles_load(dot_levels levels, const char *line, int h, int half)
{
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)(line + 32 * h));
    const __m256i nibbles = half ? _mm256_srli_epi16(bytes, 4) : bytes;
    return _mm256_shuffle_epi8(levels, _mm256_and_si256(nibbles, _mm256_set1_epi8(15)));
}

TR_INLINE dot_input dot_input_load(const char *row, int group)
{
    int32_t four;
    memcpy(&four, row + 4 * (size_t)group, sizeof four);
    return _mm256_set1_epi32(four);
}

/* The same instruction in its VEX form (AVX-VNNI) or its EVEX form (AVX-512 VNNI with VL). */
TR_INLINE dot_sum dot_add(dot_sum sum, dot_input a, dot_weight w)
{
#if defined(__AVXVNNI__)
    return _mm256_dpbusd_avx_epi32(sum, a, w);
#else
    return _mm256_dpbusd_epi32(sum, a, w);
#endif
}

#define DOT_RAISES
TR_INLINE dot_sum dot_raised_add(dot_sum sum, dot_input a, dot_weight w) { return dot_add(sum, w, a); }

TR_INLINE vec dot_raised_value(const dot_sum sums[DOT_PARTS], int32_t most)
{
    vec value;
    UNROLL(2, h, 0, 2)
        value.p[h] = _mm256_cvtepi32_ps(_mm256_sub_epi32(sums[h], _mm256_set1_epi32(most)));
    return value;
}

TR_INLINE void dot_signed(const char *row, int i, int8_t *out)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(row + i));
    _mm_storeu_si128((__m128i *)out, _mm_xor_si128(bytes, _mm_set1_epi8(-128)));
}

#define DOT_LIES_IN_ORDER
TR_INLINE int32_t dot_fold(__m256i sum)
{
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

TR_INLINE int32_t dot_row(const char *row, const char *w, int inputs, int32_t *colsum)
{
    __m256i sum = _mm256_setzero_si256(), weights = _mm256_setzero_si256();
    for (int i = 0; i < inputs; i += 32) {
        const __m256i line = _mm256_loadu_si256((const __m256i *)(w + i));
        sum = dot_add(sum, _mm256_loadu_si256((const __m256i *)(row + i)), line);
        weights = dot_add(weights, _mm256_set1_epi8(1), line);
    }
    *colsum = dot_fold(weights);
    return dot_fold(sum);
}

TR_INLINE vec dot_value(const dot_sum sums[DOT_PARTS], const int32_t colsum[16])
{
    vec value;
    UNROLL(2, h, 0, 2) {
        const __m256i columns = _mm256_loadu_si256((const __m256i *)(colsum + 8 * h));
        value.p[h] = _mm256_cvtepi32_ps(_mm256_sub_epi32(sums[h], _mm256_slli_epi32(columns, 7)));
    }
    return value;
}

TR_INLINE void dot_put(char *row, int i, vec q)
{
    const __m256i offset = _mm256_set1_epi32(128);
    const __m256i words = _mm256_packs_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(q.p[0]), offset),
                                             _mm256_add_epi32(_mm256_cvtps_epi32(q.p[1]), offset));
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 0xd8);
    /* the first lane: 0-3, 8-11; the second: 4-7, 12-15 */
    const __m128i order = _mm_setr_epi8(0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15);
    _mm_storeu_si128((__m128i *)(row + i), _mm_shuffle_epi8(_mm256_castsi256_si128(bytes), order));
}
