/* int8 dot products by pairs of int16 (vpmaddwd), in which nothing can overflow. Inputs are kept as int16. The meaning of each
 * function is in i8_tmpl.h. */
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

/* Levels, as unsigned bytes above the least, meet signed inputs (vpmaddubsw): a pair of products is at most 2 * 127 times their
 * range, and sums of some of those still fit 16 bits. */
#define DOT_OWN_NIBBLES
enum { DOT_NIBBLE_INPUTS = 4096 };

typedef struct nibble_rows {
    _Alignas(32) int8_t x[2][DOT_NIBBLE_INPUTS + 64];
    __m256i raised[2]; /* what the products are too large by: the sum of inputs times minus the least level */
    __m256i levels;    /* less the least */
    int block;         /* lines whose sums fit 16 bits */
} nibble_rows;

TR_INLINE void nibble_begin(nibble_rows *rows, const tr_screened *op)
{
    const int padded = tr_pad16(op->screen->exact->inputs), least = -op->screen->levels[0];
    rows->block = 32767 / (4 * 127 * (op->screen->levels[TR_SCREEN_LEVELS - 1] + least));
    rows->levels = _mm256_add_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)op->screen->levels)),
                                   _mm256_set1_epi8((char)least));
    for (int r = 0; r < op->rows; r++) {
        const char *words = (const char *)op->q->rows + (size_t)r * op->q->stride;
        __m256i sums = _mm256_setzero_si256();
        for (int i = 0; i < padded; i += 16) {
            const __m256i w = _mm256_loadu_si256((const __m256i *)(words + 2 * i));
            const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
            _mm_store_si128((__m128i *)&rows->x[r][i], bytes);
            sums = _mm256_add_epi32(sums, _mm256_madd_epi16(w, _mm256_set1_epi16((short)least)));
        }
        /* all lanes become the sum of all */
        sums = _mm256_add_epi32(sums, _mm256_permute2x128_si256(sums, sums, 1));
        sums = _mm256_add_epi32(sums, _mm256_shuffle_epi32(sums, 0x4e));
        rows->raised[r] = _mm256_add_epi32(sums, _mm256_shuffle_epi32(sums, 0xb1));
        memset(&rows->x[r][padded], 0, 64);
    }
}

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
    UNROLL(2) for (int r = 0; r < rows; r++)
        sums[r][0] = sums[r][1] = _mm256_setzero_si256();
    for (int g = 0; g < groups; g += x->block) {
        const int last = g + x->block < groups ? g + x->block : groups;
        __m256i words[2][2];
        UNROLL(2) for (int r = 0; r < rows; r++)
            words[r][0] = words[r][1] = _mm256_setzero_si256();
        for (int k = g; k < last; k++) {
            __builtin_prefetch(w + (size_t)k * TR_LINE + DOT_AHEAD, 0, 3);
            UNROLL(2) for (int h = 0; h < 2; h++) {
                const __m256i bytes = _mm256_loadu_si256((const __m256i *)(w + (size_t)k * TR_LINE + 32 * h));
                const __m256i first = _mm256_shuffle_epi8(x->levels, _mm256_and_si256(bytes, low));
                const __m256i second = _mm256_shuffle_epi8(x->levels, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low));
                UNROLL(2) for (int r = 0; r < rows; r++) {
                    const int8_t *input = &x->x[r][8 * k];
                    words[r][h] = _mm256_add_epi16(words[r][h], _mm256_maddubs_epi16(first, nibble_input(input)));
                    words[r][h] = _mm256_add_epi16(words[r][h], _mm256_maddubs_epi16(second, nibble_input(input + 4)));
                }
            }
        }
        UNROLL(2) for (int r = 0; r < rows; r++)
            UNROLL(2) for (int h = 0; h < 2; h++)
                sums[r][h] = _mm256_add_epi32(sums[r][h], _mm256_madd_epi16(words[r][h], ones));
    }
    UNROLL(2) for (int r = 0; r < rows; r++)
        UNROLL(2) for (int h = 0; h < 2; h++)
            out[r].p[h] = _mm256_cvtepi32_ps(_mm256_sub_epi32(sums[r][h], x->raised[r]));
}
