/* Products y = a b of row-major matrices a [rows, n] and b [n, width]: softmax weights by values, and the products of linear
 * attention. A tile is up to NN_ROWS rows of a by NN_COLUMNS vectors of b's columns; its sums and a row of b stay in
 * registers. */

#if defined(TR_PART_AVX512)
enum { NN_ROWS = 6, NN_COLUMNS = 4 };
#else
enum { NN_ROWS = 2, NN_COLUMNS = 2 };
#endif

/* acc[r][c] += a[r, p] b[p, first + 16 c ..] over begin <= p < end, in that order. */
TR_INLINE void nn_tile(vec acc[NN_ROWS][NN_COLUMNS], const float *a, size_t a_stride, const int rows, const float *b,
                       size_t first, size_t b_stride, int begin, int end, const int columns)
{
    for (int p = begin; p < end; p++) {
        vec from[NN_COLUMNS];
        UNROLL(4, c, 0, columns)
            from[c] = vec_load(b + first + (size_t)p * b_stride + 16 * (size_t)c);
        UNROLL(8, r, 0, rows) {
            const vec weight = vec_set1(a[(size_t)r * a_stride + (size_t)p]);
            UNROLL(4, c, 0, columns)
                acc[r][c] = vec_fma(weight, from[c], acc[r][c]);
        }
    }
}

/* y[r, first .. first + 16 columns) += sum over begin <= p < end of a[r, p] b[p, the same columns]. */
TR_INLINE void nn_columns(float *y, size_t y_stride, const float *a, size_t a_stride, const int rows, const float *b,
                          size_t first, size_t b_stride, int begin, int end, const int columns)
{
    vec acc[NN_ROWS][NN_COLUMNS];
    UNROLL(8, r, 0, rows)
        UNROLL(4, c, 0, columns)
            acc[r][c] = vec_load(y + (size_t)r * y_stride + first + 16 * (size_t)c);
    nn_tile(acc, a, a_stride, rows, b, first, b_stride, begin, end, columns);
    UNROLL(8, r, 0, rows)
        UNROLL(4, c, 0, columns)
            vec_store(y + (size_t)r * y_stride + first + 16 * (size_t)c, acc[r][c]);
}

/* The same for columns 0 .. width, where width is a multiple of 16. */
TR_INLINE void nn_rows(float *y, size_t y_stride, const float *a, size_t a_stride, const int rows, const float *b,
                       size_t b_stride, int begin, int end, int width)
{
    int c = 0;
    for (; c + 16 * NN_COLUMNS <= width; c += 16 * NN_COLUMNS)
        nn_columns(y, y_stride, a, a_stride, rows, b, (size_t)c, b_stride, begin, end, NN_COLUMNS);
    for (; c < width; c += 16)
        nn_columns(y, y_stride, a, a_stride, rows, b, (size_t)c, b_stride, begin, end, 1);
}

/* Computes the next tile when `left` rows remain: call(6), call(4), call(2) or call(1), and sets done to its rows. Builds
 * with sanitizers have two of these cases. */
#if defined(CHECKED_BUILD)
#define NN_CASES(left, done, call)                                                                                          \
    if ((left) >= NN_ROWS) {                                                                                                \
        call(NN_ROWS);                                                                                                      \
        done = NN_ROWS;                                                                                                     \
    } else {                                                                                                                \
        call(1);                                                                                                            \
        done = 1;                                                                                                           \
    }
#else
#define NN_CASES(left, done, call)                                                                                          \
    if (NN_ROWS == 6 && (left) >= 6) {                                                                                      \
        call(NN_ROWS);                                                                                                      \
        done = 6;                                                                                                           \
    } else if (NN_ROWS == 6 && (left) >= 4) {                                                                               \
        call((NN_ROWS < 4 ? NN_ROWS : 4));                                                                                  \
        done = 4;                                                                                                           \
    } else if ((left) >= 2) {                                                                                               \
        call(2);                                                                                                            \
        done = 2;                                                                                                           \
    } else {                                                                                                                \
        call(1);                                                                                                            \
        done = 1;                                                                                                           \
    }
#endif

/* Row r of y from column c on: the last columns, fewer than 16, which memory need not be padded for. */
TR_INLINE void nn_last_columns(const tr_gemm_nn *op, int r, int c)
{
    const int n = op->width - c;
    float *y = op->y + (size_t)r * op->y_stride + c;
    vec sum = op->add ? vec_load_n(y, n) : vec_set1(0);
    for (int p = 0; p < op->n; p++)
        sum = vec_fma(vec_set1(op->a[(size_t)r * op->a_stride + (size_t)p]),
                      vec_load_n(op->b + (size_t)p * op->b_stride + c, n), sum);
    vec_store_n(y, sum, n);
}

static void gemm_nn(const tr_gemm_nn *op)
{
    const int whole = op->width & ~15;
    for (int r = 0, done; r < op->rows; r += done) {
        float *y = op->y + (size_t)r * op->y_stride;
        const float *a = op->a + (size_t)r * op->a_stride;
        const int left = op->rows - r;
        for (int i = 0; !op->add && i < left && i < NN_ROWS; i++)
            for (int c = 0; c < whole; c += 16)
                vec_store(y + (size_t)i * op->y_stride + c, vec_set1(0));
#define NN_CALL(rows) nn_rows(y, op->y_stride, a, op->a_stride, rows, op->b, op->b_stride, 0, op->n, whole)
        NN_CASES(left, done, NN_CALL)
#undef NN_CALL
    }
    for (int r = 0; whole < op->width && r < op->rows; r++)
        nn_last_columns(op, r, whole);
}
