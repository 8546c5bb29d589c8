/* What works on single rows: LayerNorm and embedding. */

static void layernorm(const tr_layernorm *op)
{
    const float scale = 1.0f / (float)op->width;
    for (int r = 0; r < op->rows; r++) {
        const float *x = op->x + (size_t)r * op->x_stride;
        float *y = op->y + (size_t)r * op->y_stride;
        vec sum = vec_set1(0);
        for (int i = 0; i < op->width; i += 16)
            sum = vec_add(sum, vec_load_n(x + i, op->width - i));
        const vec mean = vec_set1(vec_sum(sum) * scale);
        sum = vec_set1(0);
        for (int i = 0; i < op->width; i += 16) {
            const vec d = vec_tail(vec_sub(vec_load_n(x + i, op->width - i), mean), op->width - i, 0);
            sum = vec_fma(d, d, sum);
        }
        const vec inverse = vec_set1(1.0f / sqrtf(vec_sum(sum) * scale + op->epsilon));
        for (int i = 0; i < op->width; i += 16) {
            const int n = op->width - i;
            const vec d = vec_mul(vec_sub(vec_load_n(x + i, n), mean), inverse);
            vec_store_n(y + i, vec_fma(d, vec_load_n(op->gamma + i, n), vec_load_n(op->beta + i, n)), n);
        }
    }
}

static void embed(float *out, const tr_matrix *table, int index, float scale, const float *add)
{
    const size_t first = (size_t)index * (size_t)table->inputs;
    const vec factor = vec_set1(scale);
    for (int i = 0; i < table->inputs; i += 16) {
        const int n = table->inputs - i;
        const vec row = vec_load_weight_n(table->type, table->data, first + (size_t)i, n);
        vec_store_n(out + i, vec_fma(row, factor, add ? vec_load_n(add + i, n) : vec_set1(0)), n);
    }
}
