/* Matrix product with f32, f16 and bf16 weights. Each output is a dot product along the inputs in 16 lanes, so that weights
 * are read in the order of the file, and a row has the same bits alone or among others.
 *
 * A tile is up to TILE_ROWS rows of x by 4 outputs: its accumulators fill the registers. The 16 outputs of a panel are four
 * tiles; their sums are folded together, and the epilogue (bias, activation, gate, residual, argmax) has 16 outputs in a
 * vec. */

/* Prefetches cache lines of weights: into the first-level cache for one tile, into the second-level cache if several tiles
 * will use them. */
TR_INLINE void prefetch_lines(const char *address, const int lines, const int rows)
{
    UNROLL(4, i, 0, lines)
        if (rows <= 2)
            __builtin_prefetch(address + 64 * i, 0, 3);
        else
            __builtin_prefetch(address + 64 * i, 0, 2);
}

/* Operands of multiply-adds: f32, with weights of other types widened as they are read; or, if the CPU multiplies pairs of
 * BF16 and the matrix allows it (bf16_activations), BF16 on both sides, with x rounded before. n: inputs left, the others
 * read as 0. */
#if defined(TR_PART_PAIRS)
enum { PAIRS = true };

TR_INLINE part load_pairs(const void *p, size_t i, int n)
{
    const uint16_t *from = (const uint16_t *)p + i;
    return n >= 2 * LANES ? part_load_pairs(from) : part_load_pairs_n(from, n);
}
#else
enum { PAIRS = false };
#define load_pairs(p, i, n) part_set1(0)
#define part_mla_pairs      part_mla
#endif

TR_INLINE bool in_pairs(const tr_matrix *m)
{
    return PAIRS && m->type == TR_TYPE_BF16 && m->bf16_activations;
}

TR_INLINE part load_weights(tr_type type, bool pairs, const void *w, size_t i, int n)
{
    if (pairs)
        return load_pairs(w, i, n);
    return n >= LANES ? part_load_weight(type, w, i) : part_load_weight_n(type, w, i, n);
}

TR_INLINE part load_inputs(bool pairs, const char *x, int i, int n)
{
    if (pairs)
        return load_pairs(x, (size_t)i, n);
    return n >= LANES ? part_load((const float *)(const void *)x + i) : part_load_n((const float *)(const void *)x + i, n);
}

TR_INLINE part multiply_add(bool pairs, part a, part b, part c)
{
    return pairs ? part_mla_pairs(a, b, c) : part_mla(a, b, c);
}

/* Rows of x, as f32 or rounded to BF16. */
typedef struct operand {
    const char *x;
    size_t stride; /* bytes */
} operand;

/* Computes one tile. offset: of the four outputs' weights in w, in elements. Prefetches `lines` cache lines from ahead every
 * 16 inputs (32 with pairs). out[r]: the four outputs' partial sums of row r (vec_fold4). */
TR_INLINE void tile(operand x, const void *w, const size_t offset[4], tr_type type, const bool pairs, int inputs,
                    const int rows, vec *out, size_t out_stride, const char *ahead, const int lines)
{
    const int each = pairs ? 2 : 1, width = LANES * each;
    vec sums[TILE_ROWS][4];
    EACH_PART(h) {
        part acc[TILE_ROWS][4];
        UNROLL(8, r, 0, rows)
            UNROLL(4, j, 0, 4)
                acc[r][j] = part_set1(0);
        int i = h * width;
        for (; i + width <= inputs; i += 16 * each) {
            part weights[4];
            UNROLL(4, j, 0, 4)
                weights[j] = load_weights(type, pairs, w, offset[j] + (size_t)i, width);
            if (h == 0) {
                prefetch_lines(ahead, lines, rows);
                ahead += 64 * lines;
            }
            UNROLL(8, r, 0, rows) {
                const part a = load_inputs(pairs, x.x + (size_t)r * x.stride, i, width);
                UNROLL(4, j, 0, 4)
                    acc[r][j] = multiply_add(pairs, a, weights[j], acc[r][j]);
            }
        }
        if (i < inputs) {
            part weights[4];
            UNROLL(4, j, 0, 4)
                weights[j] = load_weights(type, pairs, w, offset[j] + (size_t)i, inputs - i);
            UNROLL(8, r, 0, rows) {
                const part a = load_inputs(pairs, x.x + (size_t)r * x.stride, i, inputs - i);
                UNROLL(4, j, 0, 4)
                    acc[r][j] = multiply_add(pairs, a, weights[j], acc[r][j]);
            }
        }
        UNROLL(8, r, 0, rows)
            UNROLL(4, j, 0, 4)
                sums[r][j].p[h] = acc[r][j];
    }
    UNROLL(8, r, 0, rows)
        out[(size_t)r * out_stride] = vec_fold4(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
}

/* A panel of weights. */
typedef struct panel {
    const void *w;
    tr_type type;
    bool pairs;
    size_t stride;       /* elements from one output's weights to the next's */
    int inputs, outputs; /* outputs <= 16 */
    const char *ahead;   /* address to prefetch next: each tile prefetches some lines and advances it */
} panel;

/* Computes the 16 outputs of a panel for rows of x. lines: see tile. */
TR_INLINE void panel_tiles(panel *p, operand x, tr_type type, const bool pairs, const int lines, const int rows,
                           vec sums[TILE_ROWS][4])
{
    for (int j = 0; j < 4; j++) {
        size_t offset[4]; /* outputs that do not exist repeat the last one; their results are ignored */
        for (int k = 0; k < 4; k++)
            offset[k] = (size_t)(4 * j + k < p->outputs ? 4 * j + k : p->outputs - 1) * p->stride;
        tile(x, p->w, offset, type, pairs, p->inputs, rows, &sums[0][j], 4, p->ahead, lines);
        p->ahead += (size_t)(p->inputs / (pairs ? 32 : 16)) * 64 * (size_t)lines;
    }
}

#define PANEL_CASE(r)                                                                                                       \
    case r: panel_tiles(p, x, type, pairs, lines, r, sums); break;

TR_INLINE void panel_rows(panel *p, operand x, tr_type type, const bool pairs, const int lines, int rows,
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

/* lines: 16 inputs of four outputs are four cache lines of f32, two of f16 or bf16. If many tiles use a panel, each
 * prefetches only a part of the next one. */
#define PANEL_FUNCTION(name, type, pairs, lines)                                                                            \
    static __attribute__((noinline)) void name(panel *p, operand x, int rows, vec sums[TILE_ROWS][4])                       \
    {                                                                                                                       \
        panel_rows(p, x, type, pairs, lines, rows, sums);                                                                   \
    }

PANEL_FUNCTION(panel_f32, TR_TYPE_F32, false, 4)
PANEL_FUNCTION(panel_f32_again, TR_TYPE_F32, false, 1)
PANEL_FUNCTION(panel_f16, TR_TYPE_F16, false, 2)
PANEL_FUNCTION(panel_bf16, TR_TYPE_BF16, false, 2)
#if defined(TR_PART_PAIRS)
PANEL_FUNCTION(panel_pairs, TR_TYPE_BF16, true, 4)
PANEL_FUNCTION(panel_pairs_again, TR_TYPE_BF16, true, 1)
#endif
PANEL_FUNCTION(panel_i8, TR_TYPE_I8, false, 1)

/* again: several tiles use this panel */
static void panel_of_type(panel *p, operand x, int rows, bool again, vec sums[TILE_ROWS][4])
{
#if defined(TR_PART_PAIRS)
    if (p->pairs) {
        if (again)
            panel_pairs_again(p, x, rows, sums);
        else
            panel_pairs(p, x, rows, sums);
        return;
    }
#endif
    switch (p->type) {
    case TR_TYPE_F16: panel_f16(p, x, rows, sums); break;
    case TR_TYPE_BF16: panel_bf16(p, x, rows, sums); break;
    case TR_TYPE_I8: panel_i8(p, x, rows, sums); break;
    default:
        if (again)
            panel_f32_again(p, x, rows, sums);
        else
            panel_f32(p, x, rows, sums);
    }
}

/* Rows of x for a product with m: unchanged, or rounded to BF16 into scratch, 2 pad16(inputs) bytes a row. */
static operand operand_of(const tr_matrix *m, const float *x, size_t x_stride, int rows, float *scratch)
{
#if defined(TR_PART_PAIRS)
    if (in_pairs(m)) {
        const size_t stride = (size_t)tr_pad16(m->inputs);
        uint16_t *rounded = (uint16_t *)scratch;
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < m->inputs; i += 16)
                part_store_rounded(rounded + (size_t)r * stride + i,
                                   vec_load_n(x + (size_t)r * x_stride + i, m->inputs - i).p[0]);
        return (operand){(const char *)rounded, 2 * stride};
    }
#endif
    (void)m, (void)rows, (void)scratch;
    return (operand){(const char *)x, x_stride * sizeof *x};
}

/* Widens f16 or bf16 weights [n, inputs] to f32 [n, pad16(inputs)], padded with zeros. */
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

/* Rows start .. start + rows - 1 by one panel, tile by tile; tiles have nearly equal heights. x: of row start. */
static void panel_product(const tr_matmul *op, panel *p, operand x, int start, int rows, int first)
{
    const int tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    for (int t = 0; t < tiles; t++) {
        const int top = rows * t / tiles, height = rows * (t + 1) / tiles - top;
        vec sums[TILE_ROWS][4];
        panel_of_type(p, (operand){x.x + (size_t)top * x.stride, x.stride}, height, tiles >= 4, sums);
        for (int r = 0; r < height; r++) {
            vec y = vec_fold16(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
            if (op->bias)
                y = vec_add(y, vec_load_n(op->bias + first, p->outputs));
            write_output(op, start + top + r, first, p->outputs, y);
        }
    }
}

static void float_matmul(const tr_matmul *op, int begin, int end, float *scratch)
{
    const tr_matrix *m = op->weight;
    const size_t row_bytes = (size_t)m->inputs * tr_type_size(m->type);
    const int block = in_pairs(m) ? 2 * TR_PANEL : rows_in_cache(m->inputs); /* pairs: as many as fit scratch */
    for (int start = 0; start < op->rows; start += block) {
        const int rows = op->rows - start < block ? op->rows - start : block;
        const operand x = operand_of(m, op->x + (size_t)start * op->x_stride, op->x_stride, rows, scratch);
        for (int o = begin; o < end; o += TR_PANEL) {
            const char *w = (const char *)m->data + (size_t)o * row_bytes;
            panel p = {w, m->type, in_pairs(m), (size_t)m->inputs, m->inputs, end - o < TR_PANEL ? end - o : TR_PANEL, NULL};
            /* Few rows: 4 outputs ahead, since a tile reads a quarter of the panel; many: the next panel. */
            p.ahead = w + (rows <= 2 ? 4 : TR_PANEL) * row_bytes;
            if (m->type != TR_TYPE_F32 && !p.pairs && rows > WIDEN_TILES * TILE_ROWS) {
                widen(m->type, w, p.stride, m->inputs, p.outputs, scratch);
                p.type = TR_TYPE_F32;
                p.w = p.ahead = (const char *)scratch;
                p.stride = (size_t)tr_pad16(m->inputs);
            }
            panel_product(op, &p, x, start, rows, o);
        }
    }
}
