/* int8 dot products by vpdpbusd, a panel at a time. It multiplies unsigned with signed bytes and does not saturate: inputs
 * are kept with 128 added, and 128 colsum is taken from the sums. The meaning of each function is in i8_tmpl.h. */
/* Not formatted by clang-format: one line per function, so that levels can be compared. */
/* clang-format off */
typedef __m512i dot_sum, dot_input, dot_weight;

#define DOT_PARTS 1
#define DOT_ROWS 6
#define DOT_PANELS 4
#define DOT_TURNS 4

TR_INLINE dot_sum dot_zero(void) { return _mm512_setzero_si512(); }
TR_INLINE dot_sum dot_sum_add(dot_sum a, dot_sum b) { return _mm512_add_epi32(a, b); }
TR_INLINE dot_weight dot_weight_load(const char *line, int h) { return _mm512_loadu_si512(line + 64 * h); }

typedef __m512i dot_levels;

TR_INLINE dot_levels dot_levels_load(void)
{
    return _mm512_add_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)tr_screen_levels)),
                           _mm512_set1_epi8(TR_SCREEN_MAX));
}

TR_INLINE dot_weight dot_nibbles_load(dot_levels levels, const char *line, int h, int half)
{
    const __m512i bytes = _mm512_loadu_si512(line + 64 * h), nibbles = half ? _mm512_srli_epi16(bytes, 4) : bytes;
    return _mm512_shuffle_epi8(levels, _mm512_and_si512(nibbles, _mm512_set1_epi8(15)));
}

TR_INLINE dot_input dot_input_load(const char *row, int group)
{
    int32_t four;
    memcpy(&four, row + 4 * (size_t)group, sizeof four);
    return _mm512_set1_epi32(four);
}

TR_INLINE dot_sum dot_add(dot_sum sum, dot_input a, dot_weight w) { return _mm512_dpbusd_epi32(sum, a, w); }

#define DOT_OFFSET_LEVELS
TR_INLINE dot_sum dot_offset_add(dot_sum sum, dot_input a, dot_weight w) { return _mm512_dpbusd_epi32(sum, w, a); }

TR_INLINE vec dot_offset_value(const dot_sum sums[DOT_PARTS], int32_t offset)
{
    return (vec){{_mm512_cvtepi32_ps(_mm512_sub_epi32(sums[0], _mm512_set1_epi32(offset)))}};
}

TR_INLINE void dot_signed(const char *row, int i, int8_t *out)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(row + i));
    _mm_storeu_si128((__m128i *)out, _mm_xor_si128(bytes, _mm_set1_epi8(-128)));
}

#define DOT_SUMS_IN_ORDER
TR_INLINE int32_t dot_row(const char *row, const char *w, int inputs, int32_t *colsum)
{
    __m512i sum = _mm512_setzero_si512(), weights = _mm512_setzero_si512();
    for (int i = 0; i < inputs; i += 64) {
        const __m512i line = _mm512_loadu_si512(w + i);
        sum = _mm512_dpbusd_epi32(sum, _mm512_loadu_si512(row + i), line);
        weights = _mm512_dpbusd_epi32(weights, _mm512_set1_epi8(1), line);
    }
    *colsum = _mm512_reduce_add_epi32(weights);
    return _mm512_reduce_add_epi32(sum);
}

TR_INLINE vec dot_value(const dot_sum sums[DOT_PARTS], const int32_t colsum[16])
{
    const __m512i columns = _mm512_loadu_si512(colsum);
    return (vec){{_mm512_cvtepi32_ps(_mm512_sub_epi32(sums[0], _mm512_slli_epi32(columns, 7)))}};
}

TR_INLINE void dot_put(char *row, int i, vec q)
{
    const __m512i shifted = _mm512_add_epi32(_mm512_cvtps_epi32(q.p[0]), _mm512_set1_epi32(128));
    _mm_storeu_si128((__m128i *)(row + i), _mm512_cvtepi32_epi8(shifted));
}
