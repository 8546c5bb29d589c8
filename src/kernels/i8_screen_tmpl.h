/* The argmax of an int8 output projection for one or two rows by screening with 4 bits (see tr_screen): half the bytes are
 * read of all panels, and the exact product is made of those panels alone that can hold the greatest, or of just the outputs
 * that can be it, where the weights also lie row by row. */

/* Rows as products with nibbles read them. A level may bring its own nibble_values, in TR_NIBBLES. */
#ifdef DOT_RAISES
enum { DOT_NIBBLE_INPUTS = 4096 };
#else
enum { DOT_NIBBLE_INPUTS = TR_I8_INPUTS };
#endif

typedef struct nibble_rows {
    const char *x;
    size_t stride;
    dot_levels levels;
#ifdef DOT_RAISES
    _Alignas(64) int8_t own[2][DOT_NIBBLE_INPUTS + 64];
    int32_t most[2]; /* what raised levels make the sums too large by */
#endif
} nibble_rows;

TR_INLINE void nibble_begin(nibble_rows *rows, const tr_screened *op)
{
    rows->levels = dot_levels_load();
    rows->x = op->q->rows;
    rows->stride = op->q->stride;
#ifdef DOT_RAISES
    const int padded = tr_pad16(op->screen->exact->inputs);
    for (int r = 0; r < op->rows; r++) {
        int32_t sum = 0;
        for (int i = 0; i < padded; i += 16)
            dot_signed(rows->x + (size_t)r * rows->stride, i, rows->own[r] + i);
        for (int i = 0; i < padded; i++)
            sum += rows->own[r][i];
        memset(rows->own[r] + padded, 0, 64);
        rows->most[r] = TR_SCREEN_MOST * sum;
    }
    rows->x = (const char *)rows->own[0];
    rows->stride = sizeof rows->own[0];
#endif
}

#ifdef TR_NIBBLES
#include TR_NIBBLES
#else
/* Products of count rows with one panel, as f32. */
TR_INLINE void nibble_values(const nibble_rows *x, const char *w, int groups, const int rows, vec out[2])
{
    dot_sum acc[2][2][DOT_PARTS];
    UNROLL(2, r, 0, rows)
        UNROLL(2, half, 0, 2)
            UNROLL(8, h, 0, DOT_PARTS)
                acc[r][half][h] = dot_zero();
    for (int g = 0; g < groups; g++) {
        __builtin_prefetch(w + (size_t)g * TR_LINE + DOT_AHEAD, 0, 3);
        UNROLL(2, half, 0, 2)
            UNROLL(8, h, 0, DOT_PARTS) {
                const dot_weight weight = dot_nibbles_load(x->levels, w + (size_t)g * TR_LINE, h, half);
                UNROLL(2, r, 0, rows) {
                    const dot_input input = dot_input_load(x->x + (size_t)r * x->stride, 2 * g + half);
#ifdef DOT_RAISES
                    acc[r][half][h] = dot_raised_add(acc[r][half][h], input, weight);
#else
                    acc[r][half][h] = dot_add(acc[r][half][h], input, weight);
#endif
                }
            }
    }
    UNROLL(2, r, 0, rows) {
        UNROLL(8, h, 0, DOT_PARTS)
            acc[r][0][h] = dot_sum_add(acc[r][0][h], acc[r][1][h]);
#ifdef DOT_RAISES
        out[r] = dot_raised_value(acc[r][0], x->most[r]);
#else
        out[r] = dot_value(acc[r][0], NULL);
#endif
    }
}
#endif

/* The greatest lower bound of a row: the exact value of the panel that looks best, far above what the bounds alone prove. */
static float nibble_least(const tr_screened *op, int row, lower_bound greatest, int last)
{
    const tr_matrix *m = op->screen->exact;
    const tr_quantised q = {(char *)op->q->rows + (size_t)row * op->q->stride, op->q->stride, op->q->scale + row};
    tr_best best = {greatest.value, -1, false};
    if (greatest.first >= 0)
        i8_line(&(tr_matmul){.weight = m, .bias = op->bias, .rows = 1, .q = &q, .best = &best}, greatest.first, last,
                i8_panel(m, greatest.first));
    return best.value;
}

/* upper[o] for all outputs of the share, and the greatest lower bound of each row. */
TR_INLINE void nibble_bounds(const tr_screened *op, int first, int last, const int rows, const float norm[2])
{
    const tr_screen *s = op->screen;
    const size_t panel_bytes = (size_t)tr_screen_lines(s->exact->inputs) * TR_LINE;
    const int groups = (s->exact->inputs + 7) / 8;
    lower_bound greatest[2] = {{-INFINITY, -1}, {-INFINITY, -1}};
    nibble_rows x;
    nibble_begin(&x, op);
    for (int o = first; o < last; o += TR_PANEL) {
        const int n = last - o < TR_PANEL ? last - o : TR_PANEL;
        const char *w = (const char *)s->coarse + (size_t)(o / TR_PANEL) * panel_bytes,
                   *factors = w + (size_t)groups * TR_LINE;
        vec values[2];
        nibble_values(&x, w, groups, rows, values);
        const vec scale = vec_load_weight(TR_TYPE_BF16, factors, 0),
                  radius = vec_load_weight(TR_TYPE_BF16, factors, TR_PANEL);
        UNROLL(2, r, 0, rows) {
            const vec both = vec_mul(scale, vec_set1(op->q->scale[r]));
            put_bounds(op, r, o, n, values[r], both, radius, norm[r], &greatest[r]);
        }
    }
    for (int r = 0; r < rows; r++)
        op->lower_bound[r] = nibble_least(op, r, greatest[r], last);
}

/* At least |q| scale of a row: what rounding x to whole numbers can come to, with a little added in front of it. */
TR_INLINE float quantised_norm(const tr_screened *op, int inputs, int row)
{
    const vec inverse = vec_set1(1.00001f / op->q->scale[row]), magic = vec_set1(12582912.0f); /* see vec_exp */
    vec sum = vec_set1(0);
    for (int i = 0; i < inputs; i += 16) {
        const vec x = vec_abs(vec_load_n(op->x + (size_t)row * op->x_stride + i, inputs - i));
        const vec q = vec_sub(vec_add(vec_min(vec_mul(x, inverse), vec_set1(127)), magic), magic);
        sum = vec_fma(q, q, sum);
    }
    return 1.0001f * sqrtf(vec_sum(sum)) * op->q->scale[row];
}

static void i8_screen_bounds(const tr_screened *op, int first, int last)
{
    const int inputs = op->screen->exact->inputs;
    float norm[2] = {0, 0};
    for (int r = 0; r < op->rows; r++) /* no less than the scale's part in it that radius counts on */
        norm[r] = fmaxf(quantised_norm(op, inputs, r), 0.502f * sqrtf((float)inputs) * op->q->scale[r]);
    if (inputs > DOT_NIBBLE_INPUTS)
        for (int r = 0; r < op->rows; r++)
            op->lower_bound[r] = -INFINITY;
    else if (op->rows == 1)
        nibble_bounds(op, first, last, 1, norm);
    else
        nibble_bounds(op, first, last, 2, norm);
}

/* ------------------------------------------------------------------------------------------------------- row by row */

#ifdef DOT_LIES_IN_ORDER
enum { LISTED = 64 }; /* outputs that are gathered before they are computed: what is fetched for one waits for no other */

/* The exact values of outputs id[0 .. count), 16 at a time. */
static void listed_values(const tr_screened *op, int row, const int32_t *id, int count)
{
    const tr_matrix *m = op->screen->exact;
    const char *x = (const char *)op->q->rows + (size_t)row * op->q->stride;
    for (int k = 0; k < count; k += TR_PANEL) {
        i8_factors f = {.colsum = {0}, .n = count - k < TR_PANEL ? count - k : TR_PANEL};
        int32_t sums[TR_PANEL] = {0};
        float scale[TR_PANEL] = {0}, bias[TR_PANEL] = {0}, values[TR_PANEL];
        for (int i = 0; i < f.n; i++) {
            const size_t o = (size_t)id[k + i];
            sums[i] = dot_row(x, (const char *)op->screen->rows + o * (size_t)m->inputs, m->inputs, &f.colsum[i]);
            scale[i] = m->scale[o];
            bias[i] = op->bias[o];
        }
        dot_sum parts[DOT_PARTS];
        memcpy(parts, sums, sizeof parts);
        f.scale = vec_load(scale);
        f.bias = vec_load(bias);
        i8_shift(&f, m);
        vec_store(values, i8_value(&f, op->q->scale[row], parts));
        for (int i = 0; i < f.n; i++)
            take_value(&op->best[row], values[i], id[k + i]);
    }
}

/* The best of a row; the bound rises as outputs are computed. */
static void listed_best(const tr_screened *op, int row, int first, int last)
{
    const tr_screen *s = op->screen;
    const size_t inputs = (size_t)s->exact->inputs;
    const float *upper = op->upper_bounds + (size_t)row * op->upper_bounds_stride;
    float least = op->lower_bound[row];
    vec below = just_below(least);
    int32_t id[LISTED + TR_PANEL];
    int count = 0;
    for (int o = first; (o = next_candidate(op, row, o, last, below)) < last; o += TR_PANEL) {
        const vec bounds = vec_load(upper + o);
        unsigned above = 0;
        EACH_PART(h)
            above |= (unsigned)part_above(bounds.p[h], below.p[h]) << (LANES * h);
        __builtin_prefetch(op->bias + o, 0, 2);
        __builtin_prefetch(s->exact->scale + o, 0, 2);
        for (; above; above &= above - 1) {
            id[count] = o + __builtin_ctz(above);
            const int8_t *w = s->rows + (size_t)id[count++] * inputs;
            for (size_t i = 0; i < inputs; i += 64)
                __builtin_prefetch(w + i, 0, 2);
        }
        if (count >= LISTED) {
            listed_values(op, row, id, count);
            count = 0;
            least = fmaxf(least, op->best[row].value);
            below = just_below(least);
        }
    }
    listed_values(op, row, id, count);
}
#endif

static void i8_screened_best(const tr_screened *op, int first, int last)
{
    const tr_matrix *m = op->screen->exact;
    const tr_matmul exact = {.weight = m, .bias = op->bias, .rows = op->rows, .q = op->q, .best = op->best};
    if (m->inputs > DOT_NIBBLE_INPUTS) {
        i8_lines(&exact, first, last);
        return;
    }
#ifdef DOT_LIES_IN_ORDER
    if (op->screen->rows && m->inputs % 64 == 0) {
        for (int r = 0; r < op->rows; r++)
            listed_best(op, r, first, last);
        return;
    }
#endif
    vec below[2] = {vec_set1(0), vec_set1(0)};
    for (int r = 0; r < op->rows; r++)
        below[r] = just_below(op->lower_bound[r]);
    /* one panel behind the search: while its products are made the next one is fetched */
    int next[2] = {first - 1, op->rows > 1 ? first - 1 : last}; /* of each row */
    for (int o = first, wanted = -1; wanted >= 0 || o < last; o += TR_PANEL) {
        for (int r = 0; r < op->rows; r++)
            next[r] = next[r] < o ? next_candidate(op, r, o, last, below[r]) : next[r];
        o = next[0] < next[1] ? next[0] : next[1];
        if (wanted >= 0)
            i8_line(&exact, wanted, last, i8_panel(m, o));
        wanted = o < last ? o : -1;
    }
}
