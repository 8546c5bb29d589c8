/* Screening of int8 output projections with 4-bit copies (tr_screen), for one or two rows: makes the copies; bounds all
 * logits from them, which reads half the bytes of the weights; then computes exactly the panels that can hold the argmax,
 * or, where the weights are also stored row-major, single outputs. */

/* ------------------------------------------------------------------------------------------------------- making copies */

/* The loops over a panel's outputs are written for the compiler to vectorise; the bits are the same at each level. */

/* One number for each output of a panel. */
typedef struct each_output {
    float of[TR_PANEL];
} each_output;

/* Input k < 4 of the 16 outputs of a line. */
TR_INLINE each_output line_numbers(const uint32_t line[TR_PANEL], int k)
{
    each_output q;
    for (int o = 0; o < TR_PANEL; o++)
        q.of[o] = (float)((int32_t)(line[o] << (24 - 8 * k)) >> 24);
    return q;
}

enum { UPPER_LEVELS = TR_SCREEN_LEVELS / 2 }; /* positive levels; the negative ones mirror them */

/* The level nearest to each number, in units of a step, and its index. Counts the boundaries below the magnitude. */
typedef struct coarse_numbers {
    each_output level, index; /* index: 0 .. 15 */
} coarse_numbers;

TR_INLINE coarse_numbers coarse_of(const each_output *q, const each_output *inverse)
{
    const int8_t *level = tr_screen_levels + UPPER_LEVELS;
    coarse_numbers c;
    for (int o = 0; o < TR_PANEL; o++) {
        const float exact = q->of[o] * inverse->of[o], size = fabsf(exact);
        float height = (float)level[0], above = 0;
        UNROLL(8, i, 1, UPPER_LEVELS) {
            const bool higher = size > 0.5f * (float)(level[i - 1] + level[i]);
            height += higher ? (float)(level[i] - level[i - 1]) : 0;
            above += higher ? 1 : 0;
        }
        c.level.of[o] = exact < 0 ? -height : height;
        c.index.of[o] = exact < 0 ? UPPER_LEVELS - 1 - above : UPPER_LEVELS + above;
    }
    return c;
}

TR_INLINE each_output inverse_of(const each_output *step)
{
    each_output inverse;
    for (int o = 0; o < TR_PANEL; o++)
        inverse.of[o] = step->of[o] > 0 ? 1 / step->of[o] : 0;
    return inverse;
}

TR_INLINE void read_line(const int8_t *lines, int group, uint32_t line[TR_PANEL])
{
    memcpy(line, lines + (size_t)group * TR_LINE, TR_LINE);
}

/* Of each output of a panel: the norm of its weights, and max|w|. */
typedef struct panel_sizes {
    double norm[TR_PANEL];
    each_output max_abs;
} panel_sizes;

enum { SHORT = 64 }; /* groups whose squares are summed in f32: relative error below 2^-16 */

TR_INLINE void panel_measure(const int8_t *lines, int groups, panel_sizes *sizes)
{
    double squares[TR_PANEL] = {0};
    *sizes = (panel_sizes){.max_abs = {{0}}};
    for (int first = 0; first < groups; first += SHORT) {
        each_output sum = {{0}};
        for (int g = first; g < groups && g < first + SHORT; g++) {
            uint32_t line[TR_PANEL];
            read_line(lines, g, line);
            for (int k = 0; k < 4; k++) {
                const each_output q = line_numbers(line, k);
                for (int o = 0; o < TR_PANEL; o++) {
                    sum.of[o] += q.of[o] * q.of[o];
                    sizes->max_abs.of[o] = fabsf(q.of[o]) > sizes->max_abs.of[o] ? fabsf(q.of[o]) : sizes->max_abs.of[o];
                }
            }
        }
        for (int o = 0; o < TR_PANEL; o++)
            squares[o] += (double)sum.of[o];
    }
    for (int o = 0; o < TR_PANEL; o++)
        sizes->norm[o] = sqrt(squares[o]);
}

/* Steps that nearly minimise the error: for normally distributed weights 10.75 levels are one standard deviation; outliers
 * make the step larger. The two factors were fitted to random rows of several distributions with 256 to 1,024 inputs. The
 * number of inputs is taken as 4 groups, since panels do not say it exactly. */
TR_INLINE each_output coarse_steps(const panel_sizes *sizes, int groups)
{
    each_output step;
    for (int o = 0; o < TR_PANEL; o++) {
        const float deviation = (float)(sizes->norm[o] / sqrt(4.0 * groups));
        step.of[o] = (0.29f * deviation + 0.225f * sizes->max_abs.of[o]) / 10.75f;
    }
    return step;
}

/* Stores scale times step in BF16, and changes step to what that rounds to. */
TR_INLINE void store_steps(each_output *step, const float *scale, int n, uint16_t stored[TR_PANEL])
{
    for (int o = 0; o < n; o++) {
        stored[o] = tr_bf16_from_f32(step->of[o] * scale[o]);
        step->of[o] = scale[o] > 0 ? tr_bf16_to_f32(stored[o]) / scale[o] : 0;
    }
}

/* Four inputs of each output as indices of levels, one byte each; adds their squared errors. */
TR_INLINE void coarse_line(const uint32_t line[TR_PANEL], const each_output *step, const each_output *inverse,
                           uint32_t coarse[TR_PANEL], each_output *error)
{
    memset(coarse, 0, TR_LINE);
    for (int k = 0; k < 4; k++) {
        const each_output q = line_numbers(line, k);
        const coarse_numbers c = coarse_of(&q, inverse);
        for (int o = 0; o < TR_PANEL; o++) {
            const float e = q.of[o] - step->of[o] * c.level.of[o];
            error->of[o] += e * e;
            coarse[o] |= (uint32_t)(int32_t)c.index.of[o] << 8 * k;
        }
    }
}

/* Writes the lines of nibbles; error[o]: the sum of squared errors of an output. */
TR_INLINE void put_coarse(const int8_t *lines, int groups, const each_output *step, char *out, double error[TR_PANEL])
{
    const each_output inverse = inverse_of(step);
    memset(error, 0, TR_PANEL * sizeof *error);
    for (int first = 0; first < groups; first += SHORT) {
        each_output errors = {{0}};
        for (int g = first; g < groups && g < first + SHORT; g += 2) {
            uint32_t line[TR_PANEL], low[TR_PANEL], high[TR_PANEL];
            read_line(lines, g, line);
            coarse_line(line, step, &inverse, low, &errors);
            if (g + 1 < groups)
                read_line(lines, g + 1, line);
            else
                memset(line, 0, sizeof line);
            coarse_line(line, step, &inverse, high, &errors);
            for (int o = 0; o < TR_PANEL; o++)
                low[o] |= high[o] << 4;
            memcpy(out + (size_t)(g / 2) * TR_LINE, low, TR_LINE);
        }
        for (int o = 0; o < TR_PANEL; o++)
            error[o] += (double)errors.of[o];
    }
}

static void screen_pack(const tr_matrix *m, int first, void *lines)
{
    const int groups = (m->inputs + 3) / 4, n = m->outputs - first < TR_PANEL ? m->outputs - first : TR_PANEL;
    const int8_t *w = (const int8_t *)m->data + (size_t)(first / TR_PANEL) * tr_panel_bytes(m->inputs);
    char *factors = (char *)lines + (size_t)(tr_screen_lines(m->inputs) - 1) * TR_LINE;
    uint16_t scale[TR_PANEL] = {0}, radius[TR_PANEL] = {0};
    double error[TR_PANEL];
    panel_sizes sizes;
    panel_measure(w, groups, &sizes);
    each_output step = coarse_steps(&sizes, groups);
    store_steps(&step, m->scale + first, n, scale);
    put_coarse(w, groups, &step, lines, error);
    for (int o = 0; o < n; o++) {
        /* The bound on rounding: of products and bounds a few units of 2^-24 of the sums; with marian_u8_compat a few units
         * of 127 |colsum| <= 127 sqrt(inputs) norm, in units of x's scale; since |x| in the bounds is at least
         * sqrt(inputs) / 2 of these units, that is at most 2^-14 norm |x|. */
        const double missing = sqrt(error[o]) * 1.0001, reach = missing + 0x1p-13 * (sizes.norm[o] + missing);
        radius[o] =
            (uint16_t)((tr_float_bits((float)(reach * (double)m->scale[first + o] * 1.0001)) + 0xffff) >> 16); /* up */
    }
    memcpy(factors, scale, sizeof scale);
    memcpy(factors + sizeof scale, radius, sizeof radius);
}

/* -------------------------------------------------------------------------------------------------------------- bounds */

/* Rows in the form that products with nibbles read. A level may define its own nibble_values in TR_NIBBLES. */
#ifdef DOT_OFFSET_LEVELS
enum { DOT_NIBBLE_INPUTS = 4096 };
#else
enum { DOT_NIBBLE_INPUTS = TR_I8_INPUTS };
#endif

typedef struct nibble_rows {
    const char *x;
    size_t stride;
    dot_levels levels;
#ifdef DOT_OFFSET_LEVELS
    _Alignas(64) int8_t own[2][DOT_NIBBLE_INPUTS + 64];
    int32_t offset[2]; /* TR_SCREEN_MAX times the sum of a row's inputs: too much in each sum */
#endif
} nibble_rows;

TR_INLINE void nibble_begin(nibble_rows *rows, const tr_screened *op)
{
    rows->levels = dot_levels_load();
    rows->x = op->q->rows;
    rows->stride = op->q->stride;
#ifdef DOT_OFFSET_LEVELS
    const int padded = tr_pad16(op->screen->exact->inputs);
    for (int r = 0; r < op->rows; r++) {
        int32_t sum = 0;
        for (int i = 0; i < padded; i += 16)
            dot_signed(rows->x + (size_t)r * rows->stride, i, rows->own[r] + i);
        for (int i = 0; i < padded; i++)
            sum += rows->own[r][i];
        memset(rows->own[r] + padded, 0, 64);
        rows->offset[r] = TR_SCREEN_MAX * sum;
    }
    rows->x = (const char *)rows->own[0];
    rows->stride = sizeof rows->own[0];
#endif
}

#ifdef TR_NIBBLES
#include TR_NIBBLES
#else
/* out[r] = products of the row with the 16 outputs of a panel. */
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
#ifdef DOT_OFFSET_LEVELS
                    acc[r][half][h] = dot_offset_add(acc[r][half][h], input, weight);
#else
                    acc[r][half][h] = dot_add(acc[r][half][h], input, weight);
#endif
                }
            }
    }
    UNROLL(2, r, 0, rows) {
        UNROLL(8, h, 0, DOT_PARTS)
            acc[r][0][h] = dot_sum_add(acc[r][0][h], acc[r][1][h]);
#ifdef DOT_OFFSET_LEVELS
        out[r] = dot_offset_value(acc[r][0], x->offset[r]);
#else
        out[r] = dot_value(acc[r][0], NULL);
#endif
    }
}
#endif

/* Raises a row's greatest lower bound to the exact maximum of the panel where it was found, which is far higher. */
static float nibble_lower_bound(const tr_screened *op, int row, lower_bound greatest, int end)
{
    const tr_matrix *m = op->screen->exact;
    const tr_quantised q = {(char *)op->q->rows + (size_t)row * op->q->stride, op->q->stride, op->q->scale + row};
    tr_best best = {greatest.value, -1, false};
    if (greatest.first >= 0)
        i8_line(&(tr_matmul){.weight = m, .bias = op->bias, .rows = 1, .q = &q, .best = &best}, greatest.first, end,
                i8_panel(m, greatest.first));
    return best.value;
}

/* Writes upper_bounds for the share and the greatest lower bound of each row. */
TR_INLINE void nibble_bounds(const tr_screened *op, int begin, int end, const int rows, const float norm[2])
{
    const tr_screen *s = op->screen;
    const size_t panel_bytes = (size_t)tr_screen_lines(s->exact->inputs) * TR_LINE;
    const int groups = (s->exact->inputs + 7) / 8;
    lower_bound greatest[2] = {{-INFINITY, -1}, {-INFINITY, -1}};
    nibble_rows x;
    nibble_begin(&x, op);
    for (int o = begin; o < end; o += TR_PANEL) {
        const int n = end - o < TR_PANEL ? end - o : TR_PANEL;
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
        op->lower_bound[r] = nibble_lower_bound(op, r, greatest[r], end);
}

/* An upper bound of the norm of a quantised row, |q| scale, computed from x with some margin for rounding. */
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

static void i8_screen_bounds(const tr_screened *op, int begin, int end)
{
    const int inputs = op->screen->exact->inputs;
    float norm[2] = {0, 0};
    for (int r = 0; r < op->rows; r++) /* screen_pack's bound on rounding assumes at least this */
        norm[r] = fmaxf(quantised_norm(op, inputs, r), 0.502f * sqrtf((float)inputs) * op->q->scale[r]);
    if (inputs > DOT_NIBBLE_INPUTS)
        for (int r = 0; r < op->rows; r++)
            op->lower_bound[r] = -INFINITY;
    else if (op->rows == 1)
        nibble_bounds(op, begin, end, 1, norm);
    else
        nibble_bounds(op, begin, end, 2, norm);
}

/* ---------------------------------------------------------------------------------------------------- single outputs */

#ifdef DOT_SUMS_IN_ORDER
enum { GATHERED = 64 }; /* outputs collected before they are computed, so that their memory reads overlap */

/* Computes the logits of outputs id[count] exactly, 16 at a time, and updates the row's best. */
static void gathered_values(const tr_screened *op, int row, const int32_t *id, int count)
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

/* The argmax of a row. The lower bound rises as outputs are computed. */
static void gathered_best(const tr_screened *op, int row, int begin, int end)
{
    const tr_screen *s = op->screen;
    const size_t inputs = (size_t)s->exact->inputs;
    const float *upper = op->upper_bounds + (size_t)row * op->upper_bounds_stride;
    float bound = op->lower_bound[row];
    vec below = just_below(bound);
    int32_t id[GATHERED + TR_PANEL];
    int count = 0;
    for (int o = begin; (o = next_candidate(op, row, o, end, below)) < end; o += TR_PANEL) {
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
        if (count >= GATHERED) {
            gathered_values(op, row, id, count);
            count = 0;
            bound = fmaxf(bound, op->best[row].value);
            below = just_below(bound);
        }
    }
    gathered_values(op, row, id, count);
}
#endif

static void i8_screened_best(const tr_screened *op, int begin, int end)
{
    const tr_matrix *m = op->screen->exact;
    const tr_matmul exact = {.weight = m, .bias = op->bias, .rows = op->rows, .q = op->q, .best = op->best};
    if (m->inputs > DOT_NIBBLE_INPUTS) {
        i8_lines(&exact, begin, end);
        return;
    }
#ifdef DOT_SUMS_IN_ORDER
    if (op->screen->rows && m->inputs % 64 == 0) {
        for (int r = 0; r < op->rows; r++)
            gathered_best(op, r, begin, end);
        return;
    }
#endif
    vec below[2] = {vec_set1(0), vec_set1(0)};
    for (int r = 0; r < op->rows; r++)
        below[r] = just_below(op->lower_bound[r]);
    /* Each panel is computed after the next one was found, so that that one can be prefetched meanwhile. */
    int next[2] = {begin - 1, op->rows > 1 ? begin - 1 : end}; /* each row's next candidate */
    for (int o = begin, wanted = -1; wanted >= 0 || o < end; o += TR_PANEL) {
        for (int r = 0; r < op->rows; r++)
            next[r] = next[r] < o ? next_candidate(op, r, o, end, below[r]) : next[r];
        o = next[0] < next[1] ? next[0] : next[1];
        if (wanted >= 0)
            i8_line(&exact, wanted, end, i8_panel(m, o));
        wanted = o < end ? o : -1;
    }
}

/* ----------------------------------------------------------------------------------------------------------- all types */

static void screen_bounds(const tr_screened *op, int begin, int end, float *scratch)
{
    if (op->screen->exact->type == TR_TYPE_I8)
        i8_screen_bounds(op, begin, end);
    else
        float_screen_bounds(op, begin, end, scratch);
}

static void screened_best(const tr_screened *op, int begin, int end, float *scratch)
{
    if (op->screen->exact->type == TR_TYPE_I8)
        i8_screened_best(op, begin, end);
    else
        float_screened_best(op, begin, end, scratch);
}
