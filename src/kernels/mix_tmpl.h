/* Products with what lies in memory order, y = a b: weights with values, and all that attention without softmax is made of.
 * A tile is up to MIX_ROWS rows of a by MIX_COLUMNS vectors of b's columns, which stay in registers with those of b. */

#if defined(TR_PART_AVX512)
enum { MIX_ROWS = 6, MIX_COLUMNS = 4 };
#else
enum { MIX_ROWS = 2, MIX_COLUMNS = 2 };
#endif

/* acc[r][c] += a[r, p] b[p, first + 16 c ..] over begin <= p < end, in that order. */
TR_INLINE void mix_tile(vec acc[MIX_ROWS][MIX_COLUMNS], const float *a, size_t a_stride, const int rows, const float *b,
                        size_t first, size_t b_stride, int begin, int end, const int columns)
{
    for (int p = begin; p < end; p++) {
        vec from[MIX_COLUMNS];
        UNROLL(4, c, 0, columns)
            from[c] = vec_load(b + first + (size_t)p * b_stride + 16 * (size_t)c);
        UNROLL(8, r, 0, rows) {
            const vec weight = vec_set1(a[(size_t)r * a_stride + (size_t)p]);
            UNROLL(4, c, 0, columns)
                acc[r][c] = vec_fma(weight, from[c], acc[r][c]);
        }
    }
}

/* y[r, 16 columns] += a[r, p] b[p, 16 columns] over begin <= p < end; y and b from column first on. */
TR_INLINE void mix_columns(float *y, size_t y_stride, const float *a, size_t a_stride, const int rows, const float *b,
                           size_t first, size_t b_stride, int begin, int end, const int columns)
{
    vec acc[MIX_ROWS][MIX_COLUMNS];
    UNROLL(8, r, 0, rows)
        UNROLL(4, c, 0, columns)
            acc[r][c] = vec_load(y + (size_t)r * y_stride + first + 16 * (size_t)c);
    mix_tile(acc, a, a_stride, rows, b, first, b_stride, begin, end, columns);
    UNROLL(8, r, 0, rows)
        UNROLL(4, c, 0, columns)
            vec_store(y + (size_t)r * y_stride + first + 16 * (size_t)c, acc[r][c]);
}

/* The same of all columns, width of them, padded to multiples of 16. */
TR_INLINE void mix_rows(float *y, size_t y_stride, const float *a, size_t a_stride, const int rows, const float *b,
                        size_t b_stride, int begin, int end, int width)
{
    int c = 0;
    for (; c + 16 * MIX_COLUMNS <= width; c += 16 * MIX_COLUMNS)
        mix_columns(y, y_stride, a, a_stride, rows, b, (size_t)c, b_stride, begin, end, MIX_COLUMNS);
    for (; c < width; c += 16)
        mix_columns(y, y_stride, a, a_stride, rows, b, (size_t)c, b_stride, begin, end, 1);
}

/* Rows of the next tile where left are there: call(6), call(4), call(2) or call(1). Builds that look for errors do with two
 * of them. */
#if defined(CHECKED_BUILD)
#define MIX_CASES(left, done, call)                                                                                         \
    if ((left) >= MIX_ROWS) {                                                                                               \
        call(MIX_ROWS);                                                                                                     \
        done = MIX_ROWS;                                                                                                    \
    } else {                                                                                                                \
        call(1);                                                                                                            \
        done = 1;                                                                                                           \
    }
#else
#define MIX_CASES(left, done, call)                                                                                         \
    if (MIX_ROWS == 6 && (left) >= 6) {                                                                                     \
        call(MIX_ROWS);                                                                                                     \
        done = 6;                                                                                                           \
    } else if (MIX_ROWS == 6 && (left) >= 4) {                                                                              \
        call((MIX_ROWS < 4 ? MIX_ROWS : 4));                                                                                \
        done = 4;                                                                                                           \
    } else if ((left) >= 2) {                                                                                               \
        call(2);                                                                                                            \
        done = 2;                                                                                                           \
    } else {                                                                                                                \
        call(1);                                                                                                            \
        done = 1;                                                                                                           \
    }
#endif

/* A column of 16 at the end of rows that are not padded. */
TR_INLINE void mix_end(const tr_gemm_nn *op, int r, int c)
{
    const int n = op->width - c;
    float *y = op->y + (size_t)r * op->y_stride + c;
    vec sum = op->add ? vec_load_n(y, n) : vec_set1(0);
    for (int p = 0; p < op->n; p++)
        sum = vec_fma(vec_set1(op->a[(size_t)r * op->a_stride + (size_t)p]),
                      vec_load_n(op->b + (size_t)p * op->b_stride + c, n), sum);
    vec_store_n(y, sum, n);
}

static void mix(const tr_gemm_nn *op)
{
    const int whole = op->width & ~15;
    for (int r = 0, done; r < op->rows; r += done) {
        float *y = op->y + (size_t)r * op->y_stride;
        const float *a = op->a + (size_t)r * op->a_stride;
        const int left = op->rows - r;
        for (int i = 0; !op->add && i < left && i < MIX_ROWS; i++)
            for (int c = 0; c < whole; c += 16)
                vec_store(y + (size_t)i * op->y_stride + c, vec_set1(0));
#define MIX_CALL(rows) mix_rows(y, op->y_stride, a, op->a_stride, rows, op->b, op->b_stride, 0, op->n, whole)
        MIX_CASES(left, done, MIX_CALL)
#undef MIX_CALL
    }
    for (int r = 0; whole < op->width && r < op->rows; r++)
        mix_end(op, r, whole);
}
