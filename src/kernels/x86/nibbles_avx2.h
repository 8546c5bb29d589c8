/* Products of rows with one panel's nibbles (i8_screen_tmpl.h) by vpmaddubsw: the sum of two products is at most
 * 2 * 58 * 127, and two such sums still fit 16 bits. */
/* Not formatted by clang-format: one line per function, so that levels can be compared. */
/* clang-format off */
TR_INLINE __m256i nibble_input(const int8_t *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    return _mm256_set1_epi32(four);
}

TR_INLINE void nibble_values(const nibble_rows *x, const char *w, int groups, const int rows, vec out[2])
{
    const __m256i low = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
    __m256i sums[2][2];
    UNROLL(2, r, 0, rows)
        sums[r][0] = sums[r][1] = _mm256_setzero_si256();
    for (int g = 0; g < groups; g++) {
        __builtin_prefetch(w + (size_t)g * TR_LINE + DOT_AHEAD, 0, 3);
        UNROLL(2, h, 0, 2) {
            const __m256i bytes = _mm256_loadu_si256((const __m256i *)(w + (size_t)g * TR_LINE + 32 * h));
            const __m256i first = _mm256_shuffle_epi8(x->levels, _mm256_and_si256(bytes, low));
            const __m256i second = _mm256_shuffle_epi8(x->levels, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low));
            UNROLL(2, r, 0, rows) {
                const int8_t *input = x->own[r] + 8 * g;
                const __m256i words = _mm256_add_epi16(_mm256_maddubs_epi16(first, nibble_input(input)),
                                                       _mm256_maddubs_epi16(second, nibble_input(input + 4)));
                sums[r][h] = _mm256_add_epi32(sums[r][h], _mm256_madd_epi16(words, ones));
            }
        }
    }
    UNROLL(2, r, 0, rows)
        UNROLL(2, h, 0, 2)
            out[r].p[h] = _mm256_cvtepi32_ps(_mm256_sub_epi32(sums[r][h], _mm256_set1_epi32(x->offset[r])));
}
