/* int8 dot products for any CPU, in the compiler's generic vectors: inputs are kept as int16, products of int8 fit there.
 * The meaning of each function is in i8_tmpl.h. */
/* Not formatted by clang-format: one line per function, so that levels can be compared. */
/* clang-format off */
typedef int8_t dot_bytes __attribute__((vector_size(8)));
typedef int16_t dot_words __attribute__((vector_size(16)));
typedef int32_t dot_sum __attribute__((vector_size(16))); /* of two outputs, two sums each */
typedef dot_words dot_input;                              /* the same 4 inputs twice */
typedef dot_words dot_weight;                             /* 4 weights of two outputs */

#define DOT_PARTS 8
#define DOT_ROWS 2
#define DOT_PANELS 1
#define DOT_TURNS 1

TR_INLINE dot_sum dot_zero(void) { return (dot_sum){0}; }
TR_INLINE dot_sum dot_sum_add(dot_sum a, dot_sum b) { return a + b; }

TR_INLINE dot_weight dot_weight_load(const char *line, int h)
{
    dot_bytes bytes;
    memcpy(&bytes, line + 8 * h, sizeof bytes);
    return __builtin_convertvector(bytes, dot_words);
}

typedef const int8_t *dot_levels;

TR_INLINE dot_levels dot_levels_load(void) { return tr_screen_levels; }

TR_INLINE dot_weight dot_nibbles_load(dot_levels levels, const char *line, int h, int half)
{
    dot_weight w;
    for (int i = 0; i < 8; i++)
        w[i] = levels[((uint8_t)line[8 * h + i] >> 4 * half) & 15];
    return w;
}

TR_INLINE dot_input dot_input_load(const char *row, int group)
{
    int64_t four;
    memcpy(&four, row + 8 * (size_t)group, sizeof four);
    typedef int64_t twice __attribute__((vector_size(16)));
    return (dot_words)(twice){four, four};
}

TR_INLINE dot_sum dot_add(dot_sum sum, dot_input a, dot_weight w)
{
    const dot_sum products = (dot_sum)(a * w); /* two int16 in each lane, in the byte order's order */
    return sum + (products >> 16) + ((products << 16) >> 16);
}

TR_INLINE vec dot_value(const dot_sum sums[DOT_PARTS], const int32_t colsum[16])
{
    (void)colsum;
    float value[16];
    for (int h = 0; h < DOT_PARTS; h++) {
        value[2 * h] = (float)(sums[h][0] + sums[h][1]);
        value[2 * h + 1] = (float)(sums[h][2] + sums[h][3]);
    }
    return vec_load(value);
}

TR_INLINE void dot_put(char *row, int i, vec q)
{
    float f[16];
    int16_t words[16];
    vec_store(f, q);
    for (int k = 0; k < 16; k++)
        words[k] = (int16_t)f[k];
    memcpy(row + 2 * (size_t)i, words, sizeof words);
}
