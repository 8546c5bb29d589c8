/* The argmax of an int8 output projection for one or two rows by screening with 4 bits (see tr_screen): half the bytes are read
 * of all panels, and the exact product is made of those panels alone that can hold the greatest. */

/* Sums of rows with one panel of nibbles (k8n16). */
TR_INLINE void nibble_sums(const dot_tile *t, const int rows, dot_panel out[2])
{
    dot_sum acc[2][2][DOT_PARTS];
    UNROLL(2) for (int r = 0; r < rows; r++)
        UNROLL(2) for (int half = 0; half < 2; half++)
            UNROLL(8) for (int h = 0; h < DOT_PARTS; h++)
                acc[r][half][h] = dot_zero();
    for (int g = 0; g < t->groups; g++) {
        __builtin_prefetch(t->ahead + (size_t)g * TR_LINE, 0, 3);
        UNROLL(2) for (int half = 0; half < 2; half++)
            UNROLL(8) for (int h = 0; h < DOT_PARTS; h++) {
                const dot_weight weight = dot_nibbles_load(t->w + (size_t)g * TR_LINE, h, half);
                UNROLL(2) for (int r = 0; r < rows; r++)
                    acc[r][half][h] = dot_add(acc[r][half][h], dot_input_load(t->x + (size_t)r * t->x_stride, 2 * g + half),
                                              weight);
            }
    }
    UNROLL(2) for (int r = 0; r < rows; r++)
        UNROLL(8) for (int h = 0; h < DOT_PARTS; h++)
            out[r].part[h] = dot_sum_add(acc[r][0][h], acc[r][1][h]);
}

/* Per panel and row, the greatest upper bound of its outputs, at upper; least: the greatest lower bound of all. */
TR_INLINE void nibble_bounds(const tr_screened *op, int first, int last, const int rows, const float norm[2], float least[2])
{
    const tr_screen *s = op->screen;
    const size_t panel_bytes = (size_t)tr_screen_lines(s->exact->inputs) * TR_LINE;
    dot_tile t = {op->q->rows, op->q->stride, NULL, panel_bytes, (s->exact->inputs + 7) / 8, NULL};
    vec greatest[2] = {vec_set1(-INFINITY), vec_set1(-INFINITY)};
    for (int o = first; o < last; o += TR_PANEL) {
        const int n = last - o < TR_PANEL ? last - o : TR_PANEL;
        dot_panel sums[2];
        int32_t colsum[TR_PANEL];
        t.w = (const char *)s->coarse + (size_t)(o / TR_PANEL) * t.panel_bytes;
        t.ahead = t.w + DOT_AHEAD;
        nibble_sums(&t, rows, sums);
        const char *factors = t.w + (size_t)t.groups * TR_LINE;
        const vec scale = vec_load((const float *)factors), radius = vec_load((const float *)(factors + TR_LINE));
        const vec bias = vec_load_n(op->bias + o, n);
        memcpy(colsum, factors + 2 * TR_LINE, sizeof colsum);
        UNROLL(2) for (int r = 0; r < rows; r++) {
            const vec middle = vec_fma(dot_value(sums[r].part, colsum), vec_mul(scale, vec_set1(op->q->scale[r])), bias);
            const vec reach = vec_fma(radius, vec_set1(norm[r]), vec_set1(op->slack));
            greatest[r] = vec_max(vec_tail(vec_sub(middle, reach), n, -INFINITY), greatest[r]);
            vec_store(op->upper + (size_t)r * op->upper_stride + o, vec_tail(vec_add(middle, reach), n, -INFINITY));
        }
    }
    for (int r = 0; r < rows; r++)
        least[r] = vec_greatest(greatest[r]);
}

static void i8_screened_best(const tr_screened *op, int first, int last)
{
    const tr_matrix *m = op->screen->exact;
    float norm[2] = {0, 0}, least[2];
    for (int r = 0; r < op->rows; r++) {
        /* |q| scale <= |x| + what rounding to whole numbers adds at most, sqrt(inputs) / 2 of them */
        vec sum = vec_set1(0);
        for (int i = 0; i < m->inputs; i += 16) {
            const vec x = vec_load_n(op->x + (size_t)r * op->x_stride + i, m->inputs - i);
            sum = vec_fma(x, x, sum);
        }
        norm[r] = 1.0001f * (sqrtf(vec_sum(sum)) + 0.501f * sqrtf((float)m->inputs) * op->q->scale[r]);
    }
    if (op->rows == 1)
        nibble_bounds(op, first, last, 1, norm, least);
    else
        nibble_bounds(op, first, last, 2, norm, least);
    const tr_matmul exact = {.weight = m, .bias = op->bias, .rows = op->rows, .q = op->q, .best = op->best};
    for (int o = first; o < last; o += TR_PANEL) {
        bool wanted = false;
        for (int r = 0; r < op->rows; r++) {
            const float below = nextafterf(least[r], -INFINITY);
            wanted |= vec_any_above(vec_load(op->upper + (size_t)r * op->upper_stride + o), vec_set1(below)); /* or NaN */
        }
        if (wanted)
            i8_lines(&exact, o, last - o < TR_PANEL ? last : o + TR_PANEL);
    }
}
