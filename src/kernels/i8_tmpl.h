/* Matrix product with int8 weights. One line of a panel (4 inputs of 16 outputs) is multiplied with 4 inputs of a row,
 * repeated for each output, so the sums of outputs are side by side and need no folding at the end. They are exact, so their
 * order does not matter.
 *
 * A level's dot_*.h defines
 *   dot_sum        a register of sums; DOT_PARTS of them hold the 16 outputs of a panel
 *   dot_weight dot_weight_load(line, part), dot_input dot_input_load(row, group), dot_sum dot_add(sum, input, weight)
 *   vec dot_value(sums, colsum)     the 16 outputs in order as f32; levels that store inputs with an offset need colsum
 *   dot_put(row, i, q)              stores inputs i .. i + 15, integers from -127 to 127
 *   DOT_ROWS, DOT_PANELS            the tile whose sums fill the registers
 *   DOT_TURNS                       independent sums for one or two rows, to hide the latency of additions
 *   dot_levels dot_levels_load()    tr_screen_levels in registers
 *   dot_weight dot_nibbles_load(levels, line, part, half)     weights from the low (half 0) or high nibbles of bytes
 * and, if its products take unsigned by signed bytes (DOT_OFFSET_LEVELS), so that TR_SCREEN_MAX is added to the levels:
 *   dot_signed(row, i, out)         inputs i .. i + 15 of a row as signed bytes
 *   dot_offset_add(sum, input, weight), dot_offset_value(sums, offset)     as above; offset is subtracted from each sum
 * and, if a dot_sum holds the sums of its outputs in order (DOT_SUMS_IN_ORDER):
 *   int32_t dot_row(row, weights, inputs, colsum)     one output whose weights are contiguous; also sets its colsum.
 *                                                     inputs is a multiple of 64 */

typedef struct dot_panel {
    dot_sum part[DOT_PARTS];
} dot_panel;

/* -------------------------------------------------------------------------------------------------------------- tiles */

/* Arguments of a tile: rows of activations by panels of weights, over all inputs. */
typedef struct dot_tile {
    const char *x;
    size_t x_stride;
    const char *w;
    size_t panel_bytes;
    int groups;
    const char *ahead; /* lines to prefetch meanwhile */
} dot_tile;

TR_INLINE void dot_tile_sums(const dot_tile *t, const int rows, const int panels, const int fetched, dot_panel *out)
{
    dot_sum acc[DOT_ROWS][DOT_PANELS][DOT_PARTS];
    UNROLL(8, r, 0, rows)
        UNROLL(4, p, 0, panels)
            UNROLL(8, h, 0, DOT_PARTS)
                acc[r][p][h] = dot_zero();
    const char *ahead = t->ahead;
    for (int g = 0; g < t->groups; g++) {
        dot_input input[DOT_ROWS];
        UNROLL(4, i, 0, fetched)
            __builtin_prefetch(ahead + 64 * i, 0, 2);
        ahead += 64 * fetched;
        UNROLL(8, r, 0, rows)
            input[r] = dot_input_load(t->x + (size_t)r * t->x_stride, g);
        UNROLL(4, p, 0, panels)
            UNROLL(8, h, 0, DOT_PARTS) {
                const dot_weight weight = dot_weight_load(t->w + (size_t)p * t->panel_bytes + (size_t)g * TR_LINE, h);
                UNROLL(8, r, 0, rows)
                    acc[r][p][h] = dot_add(acc[r][p][h], input[r], weight);
            }
    }
    UNROLL(8, r, 0, rows)
        UNROLL(4, p, 0, panels)
            UNROLL(8, h, 0, DOT_PARTS)
                out[r * DOT_PANELS + p].part[h] = acc[r][p][h];
}

/* One panel and one or two rows: reading the weights takes most of the time. Each line is prefetched once, in order. */
TR_INLINE void dot_line_sums(const dot_tile *t, const int rows, dot_panel *out)
{
    dot_sum acc[2][DOT_TURNS][DOT_PARTS];
    UNROLL(2, r, 0, rows)
        UNROLL(4, k, 0, DOT_TURNS)
            UNROLL(8, h, 0, DOT_PARTS)
                acc[r][k][h] = dot_zero();
    int g = 0;
    for (; g + DOT_TURNS <= t->groups; g += DOT_TURNS)
        UNROLL(4, k, 0, DOT_TURNS) {
            __builtin_prefetch(t->ahead + (size_t)(g + k) * TR_LINE, 0, 3);
            UNROLL(8, h, 0, DOT_PARTS) {
                const dot_weight weight = dot_weight_load(t->w + (size_t)(g + k) * TR_LINE, h);
                UNROLL(2, r, 0, rows)
                    acc[r][k][h] = dot_add(acc[r][k][h], dot_input_load(t->x + (size_t)r * t->x_stride, g + k), weight);
            }
        }
    for (; g < t->groups; g++)
        UNROLL(8, h, 0, DOT_PARTS)
            UNROLL(2, r, 0, rows)
                acc[r][0][h] = dot_add(acc[r][0][h], dot_input_load(t->x + (size_t)r * t->x_stride, g),
                                       dot_weight_load(t->w + (size_t)g * TR_LINE, h));
    UNROLL(2, r, 0, rows)
        UNROLL(8, h, 0, DOT_PARTS) {
            dot_sum sum = acc[r][0][h];
            UNROLL(4, k, 1, DOT_TURNS)
                sum = dot_sum_add(sum, acc[r][k][h]);
            out[r * DOT_PANELS].part[h] = sum;
        }
}

#define DOT_CASES(r)                                                                                                        \
    case 2 * r: dot_tile_sums(t, r, 1, 1, out); break;                                                                      \
    case 2 * r + 1: dot_tile_sums(t, r, DOT_PANELS, fetched, out); break;

/* The sums of rows with one panel or, with whole, DOT_PANELS panels, at out[row * DOT_PANELS + panel]. */
TR_INLINE void dot_tile_cases(const dot_tile *t, int rows, bool whole, const int fetched, dot_panel *out)
{
    switch (2 * rows + whole) {
        DOT_CASES(1)
        DOT_CASES(2)
#if DOT_ROWS > 2
        DOT_CASES(3)
#endif
#if DOT_ROWS > 3
        DOT_CASES(4)
        DOT_CASES(5)
        DOT_CASES(6)
#endif
    }
}

static __attribute__((noinline)) void dot_tile_first(const dot_tile *t, int rows, bool whole, dot_panel *out)
{
    dot_tile_cases(t, rows, whole, DOT_PANELS, out);
}

/* Where many tiles use the same panels, each prefetches only a part of the next ones. */
static __attribute__((noinline)) void dot_tile_again(const dot_tile *t, int rows, bool whole, dot_panel *out)
{
    dot_tile_cases(t, rows, whole, 1, out);
}

/* ------------------------------------------------------------------------------------------------------------ product */

/* Factors that turn the sums of a panel into outputs. */
typedef struct i8_factors {
    vec scale, bias;
    vec shift; /* 127 colsum, of tr_matrix.marian_u8_compat */
    bool shifted;
    int32_t colsum[TR_PANEL];
    int first, n; /* outputs */
} i8_factors;

TR_INLINE void i8_shift(i8_factors *f, const tr_matrix *m)
{
    f->shifted = m->marian_u8_compat;
    if (f->shifted) {
        float shift[TR_PANEL] = {0};
        for (int i = 0; i < f->n; i++)
            shift[i] = 127.0f * (float)f->colsum[i];
        f->shift = vec_load(shift);
    }
}

TR_INLINE i8_factors i8_factors_of(const tr_matmul *op, int begin, int end)
{
    const tr_matrix *m = op->weight;
    i8_factors f = {.colsum = {0}, .first = begin, .n = end - begin < TR_PANEL ? end - begin : TR_PANEL};
    f.scale = vec_load_n(m->scale + begin, f.n);
    f.bias = op->bias ? vec_load_n(op->bias + begin, f.n) : vec_set1(0);
    memcpy(f.colsum, m->colsum + begin, (size_t)f.n * sizeof *f.colsum);
    i8_shift(&f, m);
    return f;
}

TR_INLINE vec i8_value(const i8_factors *f, float row_scale, const dot_sum sums[DOT_PARTS])
{
    const vec scale = vec_mul(vec_set1(row_scale), f->scale);
    const vec value = dot_value(sums, f->colsum);
    if (!f->shifted)
        return vec_fma(value, scale, f->bias);
    const vec bias = vec_sub(f->bias, vec_mul(scale, f->shift));
    return vec_add(vec_mul(vec_add(value, f->shift), scale), bias);
}

TR_INLINE void i8_output(const tr_matmul *op, const i8_factors *f, int row, const dot_sum sums[DOT_PARTS])
{
    write_output(op, row, f->first, f->n, i8_value(f, op->q->scale[row], sums));
}

static const char *i8_panel(const tr_matrix *m, int o)
{
    return (const char *)m->data + (size_t)(o / TR_PANEL) * tr_panel_bytes(m->inputs);
}

/* The panel that begins with output o, for one or two rows. Prefetches as many bytes from ahead. */
static void i8_line(const tr_matmul *op, int o, int end, const char *ahead)
{
    const tr_matrix *m = op->weight;
    const dot_tile t = {op->q->rows, op->q->stride, i8_panel(m, o), tr_panel_bytes(m->inputs), (m->inputs + 3) / 4, ahead};
    dot_panel sums[2 * DOT_PANELS];
    if (op->rows == 1)
        dot_line_sums(&t, 1, sums);
    else
        dot_line_sums(&t, 2, sums);
    const i8_factors factors = i8_factors_of(op, o, end);
    for (int r = 0; r < op->rows; r++)
        i8_output(op, &factors, r, sums[r * DOT_PANELS].part);
}

static void i8_lines(const tr_matmul *op, int begin, int end)
{
    for (int o = begin; o < end; o += TR_PANEL)
        i8_line(op, o, end, i8_panel(op->weight, o) + DOT_AHEAD);
}

/* Fast paths for the two common cases: scale and bias only, or with a residual. I8_ANY: all others, by i8_output. */
typedef enum i8_epilogue { I8_PLAIN, I8_RESIDUAL, I8_ANY } i8_epilogue;

static i8_epilogue i8_epilogue_of(const tr_matmul *op, const i8_factors *f)
{
    const bool more = f->n < TR_PANEL || f->shifted || op->activation != TR_ACTIVATION_NONE || op->gate || op->best;
    return more ? I8_ANY : op->residual ? I8_RESIDUAL : I8_PLAIN;
}

/* Writes rows top .. top + height - 1 of one panel, whose sums are DOT_PANELS apart. */
TR_INLINE void i8_column(const tr_matmul *op, const i8_factors *f, const i8_epilogue epilogue, int top, int height,
                         const dot_panel *sums)
{
    float *y = op->y + (size_t)top * op->y_stride + f->first;
    for (int r = 0; r < height; r++, y += op->y_stride) {
        if (epilogue == I8_ANY) {
            i8_output(op, f, top + r, sums[r * DOT_PANELS].part);
            continue;
        }
        const vec scale = vec_mul(vec_set1(op->q->scale[top + r]), f->scale);
        vec value = vec_fma(dot_value(sums[r * DOT_PANELS].part, f->colsum), scale, f->bias);
        if (epilogue == I8_RESIDUAL)
            value = vec_add(value, vec_load(op->residual + (size_t)(top + r) * op->residual_stride + f->first));
        vec_store(y, value);
    }
}

TR_INLINE void i8_columns(const tr_matmul *op, const i8_factors *f, int panels, const i8_epilogue epilogue, int top,
                          int height, const dot_panel *sums)
{
    for (int p = 0; p < panels; p++)
        i8_column(op, &f[p], epilogue, top, height, sums + p);
}

/* Rows start .. start + rows - 1 by the panels from output o on, tile by tile; tiles have nearly equal heights. */
static void i8_tiles(const tr_matmul *op, dot_tile *t, int start, int rows, int o, int end)
{
    const int tiles = (rows + DOT_ROWS - 1) / DOT_ROWS;
    const bool whole = end - o > TR_PANEL * (DOT_PANELS - 1);
    const int panels = whole ? DOT_PANELS : 1;
    i8_factors factors[DOT_PANELS];
    for (int p = 0; p < panels; p++)
        factors[p] = i8_factors_of(op, o + p * TR_PANEL, end);
    const i8_epilogue epilogue = i8_epilogue_of(op, &factors[panels - 1]); /* only the last panel may have fewer outputs */
    for (int k = 0; k < tiles; k++) {
        const int top = start + rows * k / tiles, height = start + rows * (k + 1) / tiles - top;
        dot_panel sums[DOT_ROWS * DOT_PANELS];
        t->x = (const char *)op->q->rows + (size_t)top * op->q->stride;
        if (tiles >= DOT_PANELS) {
            dot_tile_again(t, height, whole, sums);
            t->ahead += (size_t)t->groups * TR_LINE;
        } else {
            dot_tile_first(t, height, whole, sums);
            t->ahead += (size_t)(t->groups * panels) * TR_LINE;
        }
        switch (epilogue) {
        case I8_PLAIN: i8_columns(op, factors, panels, I8_PLAIN, top, height, sums); break;
        case I8_RESIDUAL: i8_columns(op, factors, panels, I8_RESIDUAL, top, height, sums); break;
        case I8_ANY: i8_columns(op, factors, panels, I8_ANY, top, height, sums); break;
        }
    }
}

static void i8_matmul(const tr_matmul *op, int begin, int end)
{
    const tr_matrix *m = op->weight;
    if (op->rows <= 2) {
        i8_lines(op, begin, end);
        return;
    }
    dot_tile t = {NULL, op->q->stride, NULL, tr_panel_bytes(m->inputs), (m->inputs + 3) / 4, NULL};
    const int block = rows_in_cache(m->inputs);
    for (int start = 0; start < op->rows; start += block) {
        const int rows = op->rows - start < block ? op->rows - start : block;
        for (int o = begin; o < end;) {
            const int panels = end - o > TR_PANEL * (DOT_PANELS - 1) ? DOT_PANELS : 1;
            t.w = (const char *)m->data + (size_t)(o / TR_PANEL) * t.panel_bytes;
            t.ahead = t.w + (size_t)panels * t.panel_bytes;
            i8_tiles(op, &t, start, rows, o, end);
            o += panels * TR_PANEL;
        }
    }
}

/* ----------------------------------------------------------------------------------------------------------- all types */

#ifdef TR_TILES
#include TR_TILES
#endif

static void matmul(const tr_matmul *op, int begin, int end, float *scratch)
{
    if (op->weight->type != TR_TYPE_I8) {
        float_matmul(op, begin, end, scratch);
        return;
    }
#ifdef TR_TILES
    if (dot_own_tiles(op, begin, end))
        return;
#endif
    i8_matmul(op, begin, end);
}
