/* The argmax of an output projection by screening (tr_screen), with f32, f16 and bf16 weights: a pass over int8 copies
 * bounds each logit from both sides; then only outputs whose upper bound reaches the greatest lower bound are computed
 * exactly. */

/* Rounds the first n of 16 weights to multiples of scale and stores them in coarse. Returns errors plus their squared
 * errors. */
TR_INLINE vec screen_weights(vec w, vec scale, vec inverse, int8_t *coarse, int n, vec errors)
{
    const vec magic = vec_set1(12582912.0f); /* see vec_exp */
    vec q = vec_sub(vec_add(vec_mul(w, inverse), magic), magic);
    q = vec_max(vec_min(q, vec_set1(127)),
                vec_set1(-127)); /* NaN becomes 127; its radius is NaN, so that it is always computed exactly */
    EACH_PART(h)
        part_store_i8_n(coarse + h * LANES, q.p[h], part_lanes(n, h));
    const vec e = vec_sub(w, vec_mul(q, scale));
    return vec_fma(e, e, errors);
}

/* Makes row o of the coarse copy: symmetric int8; radius from the measured norm of the error. */
static void screen_row(const tr_matrix *m, int8_t *copy, float *scales, float *radius, int o)
{
    const size_t first = (size_t)o * (size_t)m->inputs;
    const int whole = m->inputs & ~15, rest = m->inputs & 15;
    int8_t *coarse = copy + first;
    vec max_abs = vec_set1(0), norm = vec_set1(0), errors = vec_set1(0);
    for (int i = 0; i < whole; i += 16) {
        const vec w = vec_load_weight(m->type, m->data, first + (size_t)i);
        max_abs = vec_max(max_abs, vec_abs(w));
        norm = vec_fma(w, w, norm);
    }
    const vec tail = vec_load_weight_n(m->type, m->data, first + (size_t)whole, rest);
    max_abs = vec_max(max_abs, vec_abs(tail));
    norm = vec_fma(tail, tail, norm);
    scales[o] = vec_reduce_max(max_abs) / 127;
    const vec scale = vec_set1(scales[o]), inverse = vec_set1(scales[o] > 0 ? 1 / scales[o] : 0);
    for (int i = 0; i < whole; i += 16)
        errors =
            screen_weights(vec_load_weight(m->type, m->data, first + (size_t)i), scale, inverse, coarse + i, 16, errors);
    errors = screen_weights(tail, scale, inverse, coarse + whole, rest, errors);
    /* Rounding: a sum of n products in 16 lanes is off by at most (n/16 + 6) 2^-24 of the norms' product, twice that without
     * fused multiply-add, in the coarse sum and in the exact one; the bias and the bounds add a few 2^-24 more. Rounding x
     * to BF16 takes 2^-9 of its norm. */
    const float rounding = (in_pairs(m) ? 0x1p-9f : 0) + 0x1p-18f + (float)m->inputs * 0x1p-25f;
    radius[o] = 1.0001f * sqrtf(vec_sum(errors)) + rounding * sqrtf(vec_sum(norm));
}

static void screen_build(const tr_matrix *exact, int8_t *coarse, float *scale, float *radius, int begin, int end)
{
    for (int o = begin; o < end; o++)
        screen_row(exact, coarse, scale, radius, o);
}

/* The norm |x| of each row, with some margin for rounding. */
TR_INLINE void row_norms(const tr_screened *op, int inputs, float *norm)
{
    for (int r = 0; r < op->rows; r++) {
        vec sum = vec_set1(0);
        for (int i = 0; i < inputs; i += 16) {
            const vec x = vec_load_n(op->x + (size_t)r * op->x_stride + i, inputs - i);
            sum = vec_fma(x, x, sum);
        }
        norm[r] = 1.0001f * sqrtf(vec_sum(sum));
    }
}

/* The greatest lower bound so far, and the first of the 16 outputs that it is from; -1: none yet. */
typedef struct lower_bound {
    float value;
    int first;
} lower_bound;

/* Bounds of the n <= 16 outputs from o on: dot scale + bias +- (radius norm + slack). */
TR_INLINE void put_bounds(const tr_screened *op, int row, int o, int n, vec dot, vec scale, vec radius, float norm,
                          lower_bound *greatest)
{
    const vec middle = vec_fma(dot, scale, vec_load_n(op->bias + o, n));
    const vec reach = vec_fma(radius, vec_set1(norm), vec_set1(op->slack));
    vec_store(op->upper_bounds + (size_t)row * op->upper_bounds_stride + o, vec_tail(vec_add(middle, reach), n, -INFINITY));
    const vec lower = vec_tail(vec_sub(middle, reach), n, -INFINITY), before = vec_set1(greatest->value);
    if (!vec_any_above(lower, before))
        return;
    const float value = vec_reduce_max(vec_max(lower, before));
    if (value > greatest->value)
        *greatest = (lower_bound){value, o};
}

/* The next group of 16 outputs, from o on, in which an upper bound exceeds below or is NaN; end or more: there is none. */
TR_INLINE int next_candidate(const tr_screened *op, int row, int o, int end, vec below)
{
    enum { TOGETHER = 4 };
    const float *upper = op->upper_bounds + (size_t)row * op->upper_bounds_stride;
    for (bool found = false; o + TOGETHER * TR_PANEL <= end; o += TOGETHER * TR_PANEL) {
        UNROLL(4, i, 0, TOGETHER)
            found |= vec_any_above(vec_load(upper + o + i * TR_PANEL), below);
        if (found)
            break;
    }
    while (o < end && !vec_any_above(vec_load(upper + o), below))
        o += TR_PANEL;
    return o;
}

/* The greatest float below bound: a number exceeds it exactly if it is >= bound. */
TR_INLINE vec just_below(float bound)
{
    return vec_set1(nextafterf(bound, -INFINITY));
}

/* One logit of one row, the same bits as matmul. */
static float exact_logit(const tr_screened *op, operand x, int o)
{
    const tr_matrix *m = op->screen->exact;
    const char *w = (const char *)m->data + (size_t)o * (size_t)m->inputs * tr_type_size(m->type);
    panel p = {w, m->type, in_pairs(m), (size_t)m->inputs, m->inputs, 1, w};
    vec sums[TILE_ROWS][4];
    float lanes[16];
    panel_of_type(&p, x, 1, false, sums);
    vec_store(lanes, vec_fold16(sums[0][0], sums[0][1], sums[0][2], sums[0][3]));
    return lanes[0] + op->bias[o];
}

/* Computes those of the outputs o .. o + n - 1 whose upper bound reaches the lower bound, and updates best. */
static void exact_logits(const tr_screened *op, int row, operand x, int o, int n, float bound, tr_best *best)
{
    const float *upper = op->upper_bounds + (size_t)row * op->upper_bounds_stride;
    for (int i = o; i < o + n; i++)
        if (!(upper[i] < bound))
            take_value(best, exact_logit(op, x, i), i);
}

/* Writes upper_bounds for the share and the greatest lower bound of each row: the exact maximum of the 16 outputs it is
 * from. */
static void float_screen_bounds(const tr_screened *op, int begin, int end, float *scratch)
{
    float norm[TR_SCREEN_ROWS];
    row_norms(op, op->screen->exact->inputs, norm);
    const tr_matrix *m = op->screen->exact;
    lower_bound greatest[TR_SCREEN_ROWS];
    for (int r = 0; r < op->rows; r++)
        greatest[r] = (lower_bound){-INFINITY, -1};
    for (int o = begin; o < end; o += TR_PANEL) {
        const int n = end - o < TR_PANEL ? end - o : TR_PANEL;
        const char *w = (const char *)op->screen->coarse + (size_t)o * (size_t)m->inputs;
        panel p = {w, TR_TYPE_I8, false, (size_t)m->inputs, m->inputs, n, w + 4 * (size_t)m->inputs + 1024};
        vec sums[TILE_ROWS][4];
        panel_of_type(&p, (operand){(const char *)op->x, op->x_stride * sizeof *op->x}, op->rows, false, sums);
        const vec scale = vec_load_n(op->screen->scale + o, n), radius = vec_load_n(op->screen->radius + o, n);
        for (int r = 0; r < op->rows; r++)
            put_bounds(op, r, o, n, vec_fold16(sums[r][0], sums[r][1], sums[r][2], sums[r][3]), scale, radius, norm[r],
                       &greatest[r]);
    }
    const operand rows = operand_of(m, op->x, op->x_stride, op->rows, scratch);
    for (int r = 0; r < op->rows; r++) {
        const int o = greatest[r].first, n = end - o < 16 ? end - o : 16;
        tr_best best = {greatest[r].value, -1, false};
        if (o >= 0)
            exact_logits(op, r, (operand){rows.x + (size_t)r * rows.stride, rows.stride}, o, n, greatest[r].value, &best);
        op->lower_bound[r] = best.value;
    }
}

static void float_screened_best(const tr_screened *op, int begin, int end, float *scratch)
{
    const tr_matrix *m = op->screen->exact;
    const operand rows = operand_of(m, op->x, op->x_stride, op->rows, scratch);
    for (int r = 0; r < op->rows; r++) {
        const operand x = {rows.x + (size_t)r * rows.stride, rows.stride};
        const vec below = just_below(op->lower_bound[r]);
        for (int o = begin; (o = next_candidate(op, r, o, end, below)) < end; o += 16)
            exact_logits(op, r, x, o, end - o < 16 ? end - o : 16, op->lower_bound[r], &op->best[r]);
    }
}
