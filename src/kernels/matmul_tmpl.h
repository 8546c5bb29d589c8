/* Matrix product by rows of weights: each output is a dot product along the inputs, 16 lanes at a time, so that weights are read
 * as they lie in the file, and one row or many give the same bits.
 *
 * A tile is up to TILE_ROWS rows of x by 4 outputs: its accumulators fill the registers. The 16 outputs of a panel are
 * four tiles; their sums are folded together, and the epilogue (bias, activation, residual, argmax) sees 16 outputs side by side. */

/* Fetches lines ahead of the weights in use: once read they go to the first-level cache at once; what several tiles will use
 * waits in the second. */
TR_INLINE void prefetch_lines(const char *address, const int lines, const int rows)
{
    UNROLL(4) for (int i = 0; i < lines; i++)
        if (rows <= 2)
            __builtin_prefetch(address + 64 * i, 0, 3);
        else
            __builtin_prefetch(address + 64 * i, 0, 2);
}

/* offset: of the four outputs' weights in w, in elements. ahead: what to prefetch meanwhile, lines cache lines every 16
 * inputs. out[r]: the four outputs' partial sums (vec_fold4) of row r. */
TR_INLINE void tile(const float *x, size_t x_stride, const void *w, const size_t offset[4], tr_type type, int inputs,
                    const int rows, vec *out, size_t out_stride, const char *ahead, const int lines)
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
            UNROLL(4) for (int j = 0; j < 4; j++)
                weights[j] = part_load_weight(type, w, offset[j] + (size_t)i);
            if (h == 0) {
                prefetch_lines(ahead, lines, rows);
                ahead += 64 * lines;
            }
            UNROLL(8) for (int r = 0; r < rows; r++) {
                const part a = part_load(x + (size_t)r * x_stride + i);
                UNROLL(4) for (int j = 0; j < 4; j++)
                    acc[r][j] = part_mla(a, weights[j], acc[r][j]);
            }
        }
        if (i < inputs) {
            part weights[4];
            UNROLL(4) for (int j = 0; j < 4; j++)
                weights[j] = part_load_weight_n(type, w, offset[j] + (size_t)i, inputs - i);
            UNROLL(8) for (int r = 0; r < rows; r++) {
                const part a = part_load_n(x + (size_t)r * x_stride + i, inputs - i);
                UNROLL(4) for (int j = 0; j < 4; j++)
                    acc[r][j] = part_mla(a, weights[j], acc[r][j]);
            }
        }
        UNROLL(8) for (int r = 0; r < rows; r++)
            UNROLL(4) for (int j = 0; j < 4; j++)
                sums[r][j].p[h] = acc[r][j];
    }
    UNROLL(8) for (int r = 0; r < rows; r++)
        out[(size_t)r * out_stride] = vec_fold4(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
}

/* Where a panel of weights lies, and what is next. */
typedef struct panel {
    const void *w;
    tr_type type;
    size_t stride; /* elements from one output's weights to the next's */
    int inputs, outputs; /* outputs <= 16 */
    const char *ahead;   /* bytes to prefetch meanwhile, in small pieces: a tile after the other moves it on */
} panel;

/* The 16 outputs of a panel for rows of x; lines: see tile. */
TR_INLINE void panel_tiles(panel *p, const float *x, size_t x_stride, tr_type type, const int lines, const int rows,
                           vec sums[TILE_ROWS][4])
{
    for (int j = 0; j < 4; j++) {
        size_t offset[4]; /* behind the last output: its weights again, for results that nobody reads */
        for (int k = 0; k < 4; k++)
            offset[k] = (size_t)(4 * j + k < p->outputs ? 4 * j + k : p->outputs - 1) * p->stride;
        tile(x, x_stride, p->w, offset, type, p->inputs, rows, &sums[0][j], 4, p->ahead, lines);
        p->ahead += (size_t)(p->inputs / 16) * 64 * (size_t)lines;
    }
}

#define PANEL_CASE(r) \
    case r: panel_tiles(p, x, x_stride, type, lines, r, sums); break;

TR_INLINE void panel_rows(panel *p, const float *x, size_t x_stride, tr_type type, const int lines, int rows,
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

/* lines: 16 inputs of four outputs are four cache lines of f32, two of halves; where many tiles use a panel, each fetches
 * only a part of the next one. */
#define PANEL_FUNCTION(name, type, lines) \
    static __attribute__((noinline)) void name(panel *p, const float *x, size_t x_stride, int rows, vec sums[TILE_ROWS][4]) \
    { \
        panel_rows(p, x, x_stride, type, lines, rows, sums); \
    }

PANEL_FUNCTION(panel_f32, TR_TYPE_F32, 4)
PANEL_FUNCTION(panel_f32_again, TR_TYPE_F32, 1)
PANEL_FUNCTION(panel_f16, TR_TYPE_F16, 2)
PANEL_FUNCTION(panel_bf16, TR_TYPE_BF16, 2)
PANEL_FUNCTION(panel_i8, TR_TYPE_I8, 1)

static void panel_of_type(panel *p, const float *x, size_t x_stride, int rows, vec sums[TILE_ROWS][4])
{
    switch (p->type) {
    case TR_TYPE_F16: panel_f16(p, x, x_stride, rows, sums); break;
    case TR_TYPE_BF16: panel_bf16(p, x, x_stride, rows, sums); break;
    case TR_TYPE_I8: panel_i8(p, x, x_stride, rows, sums); break;
    default: panel_f32(p, x, x_stride, rows, sums);
    }
}

/* Half-precision weights [n, inputs] as f32 [n, pad16(inputs)], the padding zero. */
static void widen(tr_type type, const void *w, size_t stride, int inputs, int n, float *out)
{
    for (int o = 0; o < n; o++, out += tr_pad16(inputs)) {
        const size_t row = (size_t)o * stride;
        int i = 0;
        for (; i + 16 <= inputs; i += 16) {
            prefetch_lines((const char *)w + 2 * (row + (size_t)i + TR_PANEL * stride), 1, TILE_ROWS);
            vec_store(out + i, vec_load_weight(type, w, row + (size_t)i));
        }
        if (i < inputs)
            vec_store(out + i, vec_load_weight_n(type, w, row + (size_t)i, inputs - i));
    }
}

TR_INLINE void take_value(tr_best *best, float value, int id)
{
    best->nan |= value != value;
    if (value > best->value) {
        best->value = value;
        best->id = id;
    }
}

static void take_best(tr_best *best, vec y, int first, int n)
{
    if (!vec_any_above(vec_tail(y, n, -INFINITY), vec_set1(best->value)))
        return;
    float values[16];
    vec_store(values, y);
    for (int i = 0; i < n; i++)
        take_value(best, values[i], first + i);
}

/* What follows the sum and its bias. */
TR_INLINE void output(const tr_matmul *op, int row, int first, int n, vec y)
{
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

/* Rows [start, start + rows) of x with one panel, tile by tile; tiles are of nearly equal height. */
static void panel_product(const tr_matmul *op, panel *p, int start, int rows, int first)
{
    const int tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    for (int t = 0; t < tiles; t++) {
        const int top = start + rows * t / tiles, height = start + rows * (t + 1) / tiles - top;
        const float *x = op->x + (size_t)top * op->x_stride;
        vec sums[TILE_ROWS][4];
        if (p->type == TR_TYPE_F32 && tiles >= 4)
            panel_f32_again(p, x, op->x_stride, height, sums);
        else
            panel_of_type(p, x, op->x_stride, height, sums);
        for (int r = 0; r < height; r++) {
            vec y = vec_fold16(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
            if (op->bias)
                y = vec_add(y, vec_load_n(op->bias + first, p->outputs));
            output(op, top + r, first, p->outputs, y);
        }
    }
}

static void float_matmul(const tr_matmul *op, int first, int last, float *scratch)
{
    const tr_matrix *m = op->weight;
    const size_t row_bytes = (size_t)m->inputs * tr_type_size(m->type);
    const int block = rows_in_cache(m->inputs);
    for (int start = 0; start < op->rows; start += block) {
        const int rows = op->rows - start < block ? op->rows - start : block;
        for (int o = first; o < last; o += TR_PANEL) {
            const char *w = (const char *)m->data + (size_t)o * row_bytes;
            panel p = {w, m->type, (size_t)m->inputs, m->inputs, last - o < TR_PANEL ? last - o : TR_PANEL, NULL};
            /* one tile has read a quarter of the panel when the next begins; many share the next panel among them */
            p.ahead = w + (rows <= 2 ? 4 : TR_PANEL) * row_bytes;
            if (m->type != TR_TYPE_F32 && rows > TILE_ROWS) { /* widening pays once the panel serves several tiles */
                widen(m->type, w, p.stride, m->inputs, p.outputs, scratch);
                p.type = TR_TYPE_F32;
                p.w = p.ahead = (const char *)scratch;
                p.stride = (size_t)tr_pad16(m->inputs);
            }
            panel_product(op, &p, start, rows, o);
        }
    }
}
