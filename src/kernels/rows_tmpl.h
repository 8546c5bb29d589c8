/* Functions of single rows: quantisation, the epilogue of products, LayerNorm, RMSNorm, embedding, recurrent decoder states
 * (SSRU, average attention), softmax. */

/* ---------------------------------------------------------------------------------------------------------- quantisation */

/* Lane by lane: max|x| of a row, and 0, or NaN if a number is NaN or infinite. */
typedef struct row_range {
    vec max_abs, nonfinite;
} row_range;

TR_INLINE row_range range_begin(void)
{
    return (row_range){vec_set1(0), vec_set1(0)};
}

TR_INLINE row_range range_add(row_range range, vec x)
{
    return (row_range){vec_max(vec_abs(x), range.max_abs), vec_fma(x, vec_set1(0), range.nonfinite)};
}

/* Adds a row [width] to a range. */
TR_INLINE row_range range_of(row_range range, const float *x, int width)
{
    for (int i = 0; i < width; i += 16)
        range = range_add(range, vec_load_n(x + i, width - i));
    return range;
}

TR_INLINE void put_row(const float *x, int width, float factor, char *out)
{
    const vec magic = vec_set1(12582912.0f); /* see vec_exp */
    for (int i = 0; i < width; i += 16) {
        const vec scaled = vec_mul(vec_load_n(x + i, width - i), vec_set1(factor));
        const vec cut = vec_max(vec_min(scaled, vec_set1(127)), vec_set1(-127));
        dot_put(out, i, vec_sub(vec_add(cut, magic), magic));
    }
}

TR_INLINE void quantise_row(const float *x, int width, row_range range, const tr_quantised *q, int row)
{
    const float max_abs = vec_reduce_max(range.max_abs);
    q->scale[row] = max_abs / 127 + vec_sum(range.nonfinite);
    put_row(x, width, max_abs > 0x1p-100f ? 127 / max_abs : 0, (char *)q->rows + (size_t)row * q->stride);
}

static void quantise_by(const tr_quantise *op)
{
    const float scale = 1 / op->act_scale;
    for (int r = 0; r < op->rows; r++) {
        const float *x = op->x + (size_t)r * op->x_stride;
        put_row(x, op->width, op->act_scale, (char *)op->q->rows + (size_t)r * op->q->stride);
        op->q->scale[r] = scale + vec_sum(range_of(range_begin(), x, op->width).nonfinite);
    }
}

static void quantise(const tr_quantise *op)
{
    if (op->act_scale != 0) {
        quantise_by(op);
        return;
    }
    row_range all = range_begin();
    for (int r = 0; r < op->rows && op->shared_scale; r++)
        all = range_of(all, op->x + (size_t)r * op->x_stride, op->width);
    for (int r = 0; r < op->rows; r++) {
        const float *x = op->x + (size_t)r * op->x_stride;
        quantise_row(x, op->width, op->shared_scale ? all : range_of(range_begin(), x, op->width), op->q, r);
    }
}

/* -------------------------------------------------------------------------------------------------- epilogue of products */

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

/* The epilogue after sum and bias: activation, gate, residual, and store or argmax. */
TR_INLINE void write_output(const tr_matmul *op, int row, int first, int n, vec y)
{
    if (op->activation != TR_ACTIVATION_NONE)
        y = vec_activate(y, op->activation);
    if (op->gate)
        y = vec_mul(y, vec_load_n(op->gate + (size_t)row * op->y_stride + first, n));
    if (op->residual)
        y = vec_add(y, vec_load_n(op->residual + (size_t)row * op->residual_stride + first, n));
    if (op->best)
        take_best(&op->best[row], y, first, n);
    else
        vec_store_n(op->y + (size_t)row * op->y_stride + first, y, n);
}

/* Number of rows of x that fit the second-level cache, where they stay for all panels of weights. */
static int rows_in_cache(int inputs)
{
    const int rows = (512 << 10) / (int)sizeof(float) / inputs;
    return rows < 2 * TILE_ROWS ? 2 * TILE_ROWS : rows;
}

/* ---------------------------------------------------------------------------------------------------------------- layers */

static void layernorm(const tr_layernorm *op)
{
    const float scale = 1.0f / (float)op->width;
    for (int r = 0; r < op->rows; r++) {
        const float *x = op->x + (size_t)r * op->x_stride;
        float *y = op->y + (size_t)r * op->y_stride;
        vec sum = vec_set1(0);
        for (int i = 0; op->beta && i < op->width; i += 16)
            sum = vec_add(sum, vec_load_n(x + i, op->width - i));
        const vec mean = vec_set1(vec_sum(sum) * scale);
        sum = vec_set1(0);
        for (int i = 0; i < op->width; i += 16) {
            const vec d = vec_tail(vec_sub(vec_load_n(x + i, op->width - i), mean), op->width - i, 0);
            sum = vec_fma(d, d, sum);
        }
        const vec inverse = vec_set1(1.0f / sqrtf(vec_sum(sum) * scale + op->epsilon));
        row_range range = range_begin();
        for (int i = 0; i < op->width; i += 16) {
            const int n = op->width - i;
            const vec d = vec_mul(vec_sub(vec_load_n(x + i, n), mean), inverse);
            const vec normal =
                vec_fma(d, vec_load_n(op->gamma + i, n), op->beta ? vec_load_n(op->beta + i, n) : vec_set1(0));
            vec_store_n(y + i, normal, n);
            if (op->q)
                range = range_add(range, vec_tail(normal, n, 0));
        }
        if (op->q)
            quantise_row(y, op->width, range, op->q, r);
    }
}

/* The n <= 16 weights of output o from input i on, as f32; 0 from n on. */
TR_INLINE vec row_weights(const tr_matrix *m, int o, int i, int n)
{
    if (m->type != TR_TYPE_I8)
        return vec_load_weight_n(m->type, m->data, (size_t)o * (size_t)m->inputs + (size_t)i, n);
    const char *line = (const char *)m->data + (size_t)(o / TR_PANEL) * tr_panel_bytes(m->inputs) + 4 * (o % TR_PANEL);
    int8_t w[16] = {0};
    for (int k = 0; k < 16 && k < n; k += 4)
        memcpy(w + k, line + (size_t)(i + k) / 4 * TR_LINE, 4); /* padded with zeros */
    return vec_mul(vec_load_weight(TR_TYPE_I8, w, 0), vec_set1(m->scale[o]));
}

static void embed_row(float *out, const tr_matrix *table, int index, float scale, const float *add)
{
    const vec factor = vec_set1(scale);
    for (int i = 0; i < table->inputs; i += 16) {
        const int n = table->inputs - i;
        const vec row = row_weights(table, index, i, n);
        vec_store_n(out + i, vec_fma(row, factor, add ? vec_load_n(add + i, n) : vec_set1(0)), n);
    }
}

static void ssru_step(const tr_ssru_step *op)
{
    for (int i = 0; i < op->width; i += 16) {
        const int n = op->width - i;
        const vec forget = vec_load_n(op->forget + i, n);
        const vec fresh = vec_mul(vec_sub(vec_set1(1), forget), vec_load_n(op->x + i, n));
        const vec state = vec_fma(forget, vec_load_n(op->state + i, n), fresh);
        vec_store_n(op->state + i, state, n);
        vec_store_n(op->out + i, vec_max(vec_set1(0), state), n);
    }
}

static void aan_step(float *mean, const float *x, int count, int width)
{
    const vec factor = vec_set1((float)count), divisor = vec_set1((float)(count + 1));
    for (int i = 0; i < width; i += 16) {
        const int n = width - i;
        vec_store_n(mean + i, vec_div(vec_fma(vec_load_n(mean + i, n), factor, vec_load_n(x + i, n)), divisor), n);
    }
}

static void add(float *y, const float *a, const float *b, int width)
{
    for (int i = 0; i < width; i += 16) {
        const int n = width - i;
        vec_store_n(y + i, vec_add(vec_load_n(a + i, n), vec_load_n(b + i, n)), n);
    }
}

/* e^(x - top) for x <= top, but at least e^-87. NaN stays. */
TR_INLINE vec exp_below(vec x, vec top)
{
    return vec_exp_near(vec_max(vec_set1(-87.0f), vec_sub(x, top)));
}

static tr_exp_sum exp_sum(const float *x, int n)
{
    const int whole = n & ~15, rest = n - whole;
    vec max = vec_set1(-INFINITY);
    for (int i = 0; i < whole; i += 16)
        max = vec_max(vec_load(x + i), max);
    if (rest)
        max = vec_max(vec_tail(vec_load_n(x + whole, rest), rest, -INFINITY), max);
    tr_exp_sum found = {vec_reduce_max(max), 0};
    vec sum = vec_set1(0);
    const vec top = vec_set1(found.max > -INFINITY ? found.max : 0);
    for (int i = 0; i < whole; i += 16)
        sum = vec_add(sum, exp_below(vec_load(x + i), top));
    if (rest)
        sum = vec_add(sum, vec_tail(exp_below(vec_load_n(x + whole, rest), top), rest, 0));
    found.sum = vec_sum(sum);
    if (found.max == -INFINITY && found.sum == found.sum)
        found.sum = 0;
    return found;
}

/* Inserts a number that is greater than the last, or while count < capacity. */
TR_INLINE void top_insert(tr_top *top, float value, int32_t id)
{
    int at = top->count < top->capacity ? top->count++ : top->capacity - 1;
    for (; at && top->values[at - 1] < value; at--) {
        top->values[at] = top->values[at - 1];
        top->ids[at] = top->ids[at - 1];
    }
    top->values[at] = value;
    top->ids[at] = id;
}

static void top(tr_top *t, const float *x, int n, int32_t first)
{
    float min = t->count == t->capacity ? t->values[t->capacity - 1] : -INFINITY;
    for (int i = 0; i < n; i += 16) {
        const vec v = vec_tail(vec_load_n(x + i, n - i), n - i, -INFINITY);
        if (!vec_any_above(v, vec_set1(min)))
            continue;
        float values[16];
        vec_store(values, v);
        for (int j = 0; j < 16; j++) {
            t->nan |= values[j] != values[j];
            if (!(values[j] > min))
                continue;
            top_insert(t, values[j], first + i + j);
            min = t->count == t->capacity ? t->values[t->capacity - 1] : -INFINITY;
        }
    }
}

static void elu_plus_1(float *y, const float *x, int n)
{
    const vec zero = vec_set1(0);
    for (int i = 0; i < n; i += 16) {
        const vec v = vec_load_n(x + i, n - i), above = vec_max(zero, v); /* NaN stays */
        const vec below = vec_exp(vec_min(zero, v));
        vec_store_n(y + i, vec_add(above, below), n - i);
    }
}

static void softmax(float *y, const float *x, int n)
{
    const tr_exp_sum all = exp_sum(x, n);
    const vec top = vec_set1(all.max > -INFINITY ? all.max : 0), factor = vec_set1(all.sum == 0 ? 0 : 1 / all.sum);
    for (int i = 0; i < n; i += 16)
        vec_store_n(y + i, vec_mul(vec_exp_distance(vec_sub(vec_load_n(x + i, n - i), top)), factor), n - i);
}
