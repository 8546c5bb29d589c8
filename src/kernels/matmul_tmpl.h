/* Matrix product by rows of weights: each output is a dot product along the inputs, 16 lanes at a time, so that weights are read
 * as they lie in the file, and one row or many give the same bits.
 *
 * A tile is up to TILE_ROWS rows of x by 4 outputs: its accumulators fill the registers. The 16 outputs of a panel are
 * four tiles; their sums are folded together, and the epilogue (bias, activation, residual, argmax) sees 16 outputs side by side. */

/* Weights that are used once go to the first-level cache; a panel that several tiles will use waits in the second. */
TR_INLINE void prefetch_weight(tr_type type, const void *w, size_t i, const int rows)
{
    const char *address = (const char *)w + i * (type == TR_TYPE_F32 ? 4 : 2);
    if (rows <= 2)
        __builtin_prefetch(address, 0, 3);
    else
        __builtin_prefetch(address, 0, 2);
}

/* offset: of the four outputs' weights in w, in elements; ahead: how far to prefetch. out[r]: the four outputs' partial sums
 * (vec_fold4) of row r. */
TR_INLINE void tile(const float *x, size_t x_stride, const void *w, const size_t offset[4], tr_type type, int inputs,
                    const int rows, vec *out, size_t out_stride, size_t ahead)
{
    vec sums[TILE_ROWS][4];
    EACH_PART {
        part acc[TILE_ROWS][4];
        UNROLL(8) for (int r = 0; r < rows; r++)
            UNROLL(4) for (int j = 0; j < 4; j++)
                acc[r][j] = part_set1(0);
        int i = h * LANES;
        for (; i + LANES <= inputs; i += 16) {
            part weights[4];
            UNROLL(4) for (int j = 0; j < 4; j++) {
                weights[j] = part_load_weight(type, w, offset[j] + (size_t)i);
                if (h == 0)
                    prefetch_weight(type, w, offset[j] + (size_t)i + ahead, rows);
            }
            UNROLL(8) for (int r = 0; r < rows; r++) {
                const part a = part_load(x + (size_t)r * x_stride + i);
                UNROLL(4) for (int j = 0; j < 4; j++)
                    acc[r][j] = part_fma(a, weights[j], acc[r][j]);
            }
        }
        if (i < inputs) {
            part weights[4];
            UNROLL(4) for (int j = 0; j < 4; j++)
                weights[j] = part_load_weight_n(type, w, offset[j] + (size_t)i, inputs - i);
            UNROLL(8) for (int r = 0; r < rows; r++) {
                const part a = part_load_n(x + (size_t)r * x_stride + i, inputs - i);
                UNROLL(4) for (int j = 0; j < 4; j++)
                    acc[r][j] = part_fma(a, weights[j], acc[r][j]);
            }
        }
        UNROLL(8) for (int r = 0; r < rows; r++)
            UNROLL(4) for (int j = 0; j < 4; j++)
                sums[r][j].p[h] = acc[r][j];
    }
    UNROLL(8) for (int r = 0; r < rows; r++)
        out[(size_t)r * out_stride] = vec_fold4(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
}

/* The 16 outputs of a panel (n of them real) for rows of x. */
TR_INLINE void panel_tiles(const float *x, size_t x_stride, const void *w, size_t stride, tr_type type, int inputs, int n,
                           const int rows, vec sums[TILE_ROWS][4])
{
    for (int j = 0; j < 4; j++) {
        size_t offset[4]; /* behind the last output: its weights again, for results that nobody reads */
        for (int k = 0; k < 4; k++)
            offset[k] = (size_t)(4 * j + k < n ? 4 * j + k : n - 1) * stride;
        tile(x, x_stride, w, offset, type, inputs, rows, &sums[0][j], 4, (rows <= 2 ? 4 : TR_PANEL) * stride);
    }
}

#define PANEL_CASE(r) \
    case r: panel_tiles(x, x_stride, w, stride, type, inputs, n, r, sums); break;

TR_INLINE void panel_rows(const float *x, size_t x_stride, const void *w, size_t stride, tr_type type, int inputs, int n, int rows,
                          vec sums[TILE_ROWS][4])
{
    switch (rows) {
        PANEL_CASE(1)
        PANEL_CASE(2)
        PANEL_CASE(3)
#if TILE_ROWS > 3
        PANEL_CASE(4)
        PANEL_CASE(5)
        PANEL_CASE(6)
#endif
    }
}

static __attribute__((noinline)) void panel_f32(const float *x, size_t x_stride, const void *w, size_t stride, int inputs, int n,
                                                int rows, vec sums[TILE_ROWS][4])
{
    panel_rows(x, x_stride, w, stride, TR_TYPE_F32, inputs, n, rows, sums);
}

static __attribute__((noinline)) void panel_f16(const float *x, size_t x_stride, const void *w, size_t stride, int inputs, int n,
                                                int rows, vec sums[TILE_ROWS][4])
{
    panel_rows(x, x_stride, w, stride, TR_TYPE_F16, inputs, n, rows, sums);
}

static __attribute__((noinline)) void panel_bf16(const float *x, size_t x_stride, const void *w, size_t stride, int inputs, int n,
                                                 int rows, vec sums[TILE_ROWS][4])
{
    panel_rows(x, x_stride, w, stride, TR_TYPE_BF16, inputs, n, rows, sums);
}

/* Half-precision weights [n, inputs] as f32 [n, pad16(inputs)], the padding zero. */
static void widen(tr_type type, const void *w, size_t stride, int inputs, int n, float *out)
{
    for (int o = 0; o < n; o++, out += tr_pad16(inputs)) {
        const size_t row = (size_t)o * stride;
        int i = 0;
        for (; i + 16 <= inputs; i += 16) {
            prefetch_weight(type, w, row + (size_t)i + TR_PANEL * stride, TILE_ROWS);
            EACH_PART part_store(out + i + h * LANES, type == TR_TYPE_F16 ? part_load_f16((const uint16_t *)w + row + i + h * LANES)
                                                                          : part_load_bf16((const uint16_t *)w + row + i + h * LANES));
        }
        if (i < inputs)
            EACH_PART part_store(out + i + h * LANES, part_load_weight_n(type, w, row + (size_t)i + (size_t)h * LANES,
                                                                         part_lanes(inputs - i, h)));
    }
}

static void take_best(tr_best *best, vec y, int first, int n)
{
    if (!vec_any_above(vec_tail(y, n, -INFINITY), vec_set1(best->value)))
        return;
    float values[16];
    vec_store(values, y);
    for (int i = 0; i < n; i++) {
        best->nan |= values[i] != values[i];
        if (values[i] > best->value) {
            best->value = values[i];
            best->id = first + i;
        }
    }
}

TR_INLINE void epilogue(const tr_matmul *op, int row, int first, int n, vec y)
{
    if (op->bias)
        y = vec_add(y, vec_load_n(op->bias + first, n));
    if (op->activation != TR_ACTIVATION_NONE)
        y = vec_activate(y, op->activation);
    if (op->residual)
        y = vec_add(y, vec_load_n(op->residual + (size_t)row * op->residual_stride + first, n));
    if (op->best)
        take_best(&op->best[row], y, first, n);
    else
        vec_store_n(op->y + (size_t)row * op->y_stride + first, y, n);
}

/* Rows of x that stay in the second-level cache while panels of weights pass by. */
static int rows_in_cache(int inputs)
{
    const int rows = (512 << 10) / (int)sizeof(float) / inputs;
    return rows < 2 * TILE_ROWS ? 2 * TILE_ROWS : rows;
}

static void matmul(const tr_matmul *op, int first, int last, float *scratch)
{
    const tr_matrix *m = op->weight;
    const size_t row_bytes = (size_t)m->inputs * tr_type_size(m->type);
    const int block = rows_in_cache(m->inputs);
    for (int start = 0; start < op->rows; start += block) {
        const int rows = op->rows - start < block ? op->rows - start : block;
        const int tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
        for (int o = first; o < last; o += TR_PANEL) {
            const int n = last - o < TR_PANEL ? last - o : TR_PANEL;
            const void *w = (const char *)m->data + (size_t)o * row_bytes;
            tr_type type = m->type;
            size_t stride = (size_t)m->inputs;
            if (type != TR_TYPE_F32 && tiles > 1) { /* widening pays once the panel serves several tiles */
                widen(type, w, stride, m->inputs, n, scratch);
                type = TR_TYPE_F32;
                w = scratch;
                stride = (size_t)tr_pad16(m->inputs);
            }
            for (int t = 0; t < tiles; t++) { /* tiles of nearly equal height */
                const int top = start + rows * t / tiles, height = start + rows * (t + 1) / tiles - top;
                const float *x = op->x + (size_t)top * op->x_stride;
                vec sums[TILE_ROWS][4];
                if (type == TR_TYPE_F32)
                    panel_f32(x, op->x_stride, w, stride, m->inputs, n, height, sums);
                else if (type == TR_TYPE_F16)
                    panel_f16(x, op->x_stride, w, stride, m->inputs, n, height, sums);
                else
                    panel_bf16(x, op->x_stride, w, stride, m->inputs, n, height, sums);
                for (int r = 0; r < height; r++)
                    epilogue(op, top + r, o, n, vec_fold16(sums[r][0], sums[r][1], sums[r][2], sums[r][3]));
            }
        }
    }
}
