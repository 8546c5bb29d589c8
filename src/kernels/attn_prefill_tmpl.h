/* -------------------------------------------------------------------------------------------------------------- products */

/* Products y = a b of row-major matrices a [rows, n] and b [n, width]: softmax weights by values, and the products of linear
 * attention. A tile is up to NN_ROWS rows of a by NN_COLUMNS vectors of b's columns; its sums and a row of b stay in
 * registers. */

#if defined(TR_PART_AVX512)
enum { NN_ROWS = 6, NN_COLUMNS = 4 };
#else
enum { NN_ROWS = 2, NN_COLUMNS = 2 };
#endif

/* acc[r][c] += a[r, p] b[p, first + 16 c ..] over begin <= p < end, in that order. */
TR_INLINE void nn_tile(vec acc[NN_ROWS][NN_COLUMNS], const float *a, size_t a_stride, const int rows, const float *b,
                       size_t first, size_t b_stride, int begin, int end, const int columns)
{
    for (int p = begin; p < end; p++) {
        vec from[NN_COLUMNS];
        UNROLL(4, c, 0, columns)
            from[c] = vec_load(b + first + (size_t)p * b_stride + 16 * (size_t)c);
        UNROLL(8, r, 0, rows) {
            const vec weight = vec_set1(a[(size_t)r * a_stride + (size_t)p]);
            UNROLL(4, c, 0, columns)
                acc[r][c] = vec_fma(weight, from[c], acc[r][c]);
        }
    }
}

/* y[r, first .. first + 16 columns) += sum over begin <= p < end of a[r, p] b[p, the same columns]. */
TR_INLINE void nn_columns(float *y, size_t y_stride, const float *a, size_t a_stride, const int rows, const float *b,
                          size_t first, size_t b_stride, int begin, int end, const int columns)
{
    vec acc[NN_ROWS][NN_COLUMNS];
    UNROLL(8, r, 0, rows)
        UNROLL(4, c, 0, columns)
            acc[r][c] = vec_load(y + (size_t)r * y_stride + first + 16 * (size_t)c);
    nn_tile(acc, a, a_stride, rows, b, first, b_stride, begin, end, columns);
    UNROLL(8, r, 0, rows)
        UNROLL(4, c, 0, columns)
            vec_store(y + (size_t)r * y_stride + first + 16 * (size_t)c, acc[r][c]);
}

/* The same for columns 0 .. width, where width is a multiple of 16. */
TR_INLINE void nn_rows(float *y, size_t y_stride, const float *a, size_t a_stride, const int rows, const float *b,
                       size_t b_stride, int begin, int end, int width)
{
    int c = 0;
    for (; c + 16 * NN_COLUMNS <= width; c += 16 * NN_COLUMNS)
        nn_columns(y, y_stride, a, a_stride, rows, b, (size_t)c, b_stride, begin, end, NN_COLUMNS);
    for (; c < width; c += 16)
        nn_columns(y, y_stride, a, a_stride, rows, b, (size_t)c, b_stride, begin, end, 1);
}

/* Computes the next tile when `left` rows remain: call(6), call(4), call(2) or call(1), and sets done to its rows. Builds
 * with sanitizers have two of these cases. */
#if defined(CHECKED_BUILD)
#define NN_CASES(left, done, call)                                                                                          \
    if ((left) >= NN_ROWS) {                                                                                                \
        call(NN_ROWS);                                                                                                      \
        done = NN_ROWS;                                                                                                     \
    } else {                                                                                                                \
        call(1);                                                                                                            \
        done = 1;                                                                                                           \
    }
#else
#define NN_CASES(left, done, call)                                                                                          \
    if (NN_ROWS == 6 && (left) >= 6) {                                                                                      \
        call(NN_ROWS);                                                                                                      \
        done = 6;                                                                                                           \
    } else if (NN_ROWS == 6 && (left) >= 4) {                                                                               \
        call((NN_ROWS < 4 ? NN_ROWS : 4));                                                                                  \
        done = 4;                                                                                                           \
    } else if ((left) >= 2) {                                                                                               \
        call(2);                                                                                                            \
        done = 2;                                                                                                           \
    } else {                                                                                                                \
        call(1);                                                                                                            \
        done = 1;                                                                                                           \
    }
#endif

/* Row r of y from column c on: the last columns, fewer than 16, which memory need not be padded for. */
TR_INLINE void nn_last_columns(const tr_gemm_nn *op, int r, int c)
{
    const int n = op->width - c;
    float *y = op->y + (size_t)r * op->y_stride + c;
    vec sum = op->add ? vec_load_n(y, n) : vec_set1(0);
    for (int p = 0; p < op->n; p++)
        sum = vec_fma(vec_set1(op->a[(size_t)r * op->a_stride + (size_t)p]),
                      vec_load_n(op->b + (size_t)p * op->b_stride + c, n), sum);
    vec_store_n(y, sum, n);
}

static void gemm_nn(const tr_gemm_nn *op)
{
    const int whole = op->width & ~15;
    for (int r = 0, done; r < op->rows; r += done) {
        float *y = op->y + (size_t)r * op->y_stride;
        const float *a = op->a + (size_t)r * op->a_stride;
        const int left = op->rows - r;
        for (int i = 0; !op->add && i < left && i < NN_ROWS; i++)
            for (int c = 0; c < whole; c += 16)
                vec_store(y + (size_t)i * op->y_stride + c, vec_set1(0));
#define NN_CALL(rows) nn_rows(y, op->y_stride, a, op->a_stride, rows, op->b, op->b_stride, 0, op->n, whole)
        NN_CASES(left, done, NN_CALL)
#undef NN_CALL
    }
    for (int r = 0; whole < op->width && r < op->rows; r++)
        nn_last_columns(op, r, whole);
}

/* ------------------------------------------------------------------------------------------------------------- attention */

/* Attention of many queries of one head. A group of up to GROUP_ROWS queries goes over the blocks of keys together, in tiles
 * of a few queries: scores, softmax and values of a tile and a block stay in registers and in the first-level cache, and
 * each block is read from memory once a group. */

enum { GROUP_ROWS = 24, GROUP_FLOATS = 1 << 14 };

typedef struct prefill_group {
    int first, count;                       /* queries first .. first + count - 1 of the call */
    int begin[GROUP_ROWS], end[GROUP_ROWS]; /* keys that each query may attend to: begin <= key < end */
    float max[GROUP_ROWS];                  /* greatest score so far */
    int q_width, sum_width;                 /* pad16 of head_size and value_size */
    float *q, *sum;                         /* [count, q_width]: scale q; [count, sum_width]: sum of e^(s - max) v so far */
    float *total;                           /* [count, 16]: sums of e^(s - max), lane by lane */
    float *s;                               /* [count, 32]: scores of a block, then e^(s - max) */
} prefill_group;

/* Masks to add to 32 scores: mask_after + 32 - n is 0 below n and -inf from n on; mask_before + 32 - n is the reverse. */
#define FOUR(x)       x, x, x, x
#define THIRTY_TWO(x) FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x)
static const float mask_after[64] = {THIRTY_TWO(0), THIRTY_TWO(-INFINITY)},
                   mask_before[64] = {THIRTY_TWO(-INFINITY), THIRTY_TWO(0)};
#undef FOUR
#undef THIRTY_TWO

static inline int prefill_clamp(int64_t value, int min, int max)
{
    return value < min ? min : value > max ? max : (int)value;
}

static void prefill_begin(const tr_attn_prefill *op, prefill_group *g)
{
    const vec scale = vec_set1(op->scale);
    for (int r = 0; r < g->count; r++) {
        const int64_t at = (int64_t)op->position + g->first + r;
        g->end[r] = prefill_clamp(at + op->on + 1, 0, op->limits ? op->limits[g->first + r] : op->keys);
        g->begin[r] = prefill_clamp(at - op->back, 0, g->end[r]);
        g->max[r] = -INFINITY;
        vec_store(g->total + 16 * r, vec_set1(0));
        const float *q = op->q + (size_t)(g->first + r) * op->q_stride;
        for (int d = 0; d < op->head_size; d += 16)
            vec_store(g->q + r * g->q_width + d, vec_mul(vec_load_n(q + d, op->head_size - d), scale));
        for (int d = 0; d < op->value_size; d += 16)
            vec_store(g->sum + r * g->sum_width + d, vec_set1(0));
    }
}

/* x + bias, but -inf wherever bias is -inf, even if x is NaN. */
TR_INLINE vec prefill_mask(vec x, vec bias)
{
    return vec_add(vec_zero_below(x, bias, vec_set1(-3.4028235e38f)), bias);
}

/* The keys of a block that some of a tile's queries may attend to: from <= key < to, of 32. whole: each query to all 32. */
typedef struct prefill_keys {
    int from, to;
    bool whole;
} prefill_keys;

static inline prefill_keys prefill_keys_seen(const prefill_group *g, int i, int rows, int p)
{
    prefill_keys seen = {TR_BLOCK, 0, true};
    for (int r = i; r < i + rows; r++) {
        const int from = prefill_clamp((int64_t)g->begin[r] - p, 0, TR_BLOCK),
                  to = prefill_clamp((int64_t)g->end[r] - p, 0, TR_BLOCK);
        seen.whole = seen.whole && from == 0 && to == TR_BLOCK;
        if (from < to) {
            seen.from = from < seen.from ? from : seen.from;
            seen.to = to > seen.to ? to : seen.to;
        }
    }
    return seen;
}

/* Writes s[r, 0 .. 16 halves), the scores of the group's queries i .. i + rows - 1 with a block: -inf where they do not
 * attend. hidden: [32], 0 or -inf, or NULL. */
TR_INLINE void prefill_scores(const tr_attn_prefill *op, const prefill_group *g, int i, const int rows, int block,
                              prefill_keys seen, const float *hidden, const int halves)
{
    const int p = block * TR_BLOCK;
    const float *keys = op->blocks[block] + op->key_offset;
    vec acc[NN_ROWS][NN_COLUMNS];
    UNROLL(8, r, 0, rows)
        UNROLL(4, h, 0, halves)
            acc[r][h] = vec_set1(0);
    nn_tile(acc, g->q + i * g->q_width, (size_t)g->q_width, rows, keys, 0, TR_BLOCK, 0, op->head_size, halves);
    UNROLL(8, r, 0, rows)
        UNROLL(4, h, 0, halves)
            vec_store(g->s + (i + r) * TR_BLOCK + 16 * h, acc[r][h]);
    if (seen.whole && !hidden && !op->bias)
        return;
    for (int r = i; r < i + rows; r++) {
        const int from = prefill_clamp((int64_t)g->begin[r] - p, 0, TR_BLOCK),
                  to = prefill_clamp((int64_t)g->end[r] - p, 0, TR_BLOCK);
        for (int h = 0; h < halves; h++) {
            vec s = vec_load(g->s + r * TR_BLOCK + 16 * h);
            if (op->bias)
                s = prefill_mask(s,
                                 vec_load_n(op->bias + (g->first + r) * op->bias_step + p + 16 * h, op->keys - p - 16 * h));
            if (hidden)
                s = prefill_mask(s, vec_load(hidden + 16 * h));
            if (from > 0)
                s = prefill_mask(s, vec_load(mask_before + 32 - from + 16 * h));
            if (to < TR_BLOCK)
                s = prefill_mask(s, vec_load(mask_after + 32 - to + 16 * h));
            vec_store(g->s + r * TR_BLOCK + 16 * h, s);
        }
    }
}

/* Raises query r's maximum to block_max, if that is greater, and rescales its sums. */
static __attribute__((noinline)) void prefill_raise_max(prefill_group *g, int r, int value_size, float block_max)
{
    const float next = block_max > g->max[r] ? block_max : g->max[r];
    const vec rescale = vec_exp_distance(vec_set1(g->max[r] - next));
    if (next == g->max[r])
        return;
    vec_store(g->total + 16 * r, vec_mul(vec_load(g->total + 16 * r), rescale));
    for (int d = 0; d < value_size; d += 16)
        vec_store(g->sum + r * g->sum_width + d, vec_mul(vec_load(g->sum + r * g->sum_width + d), rescale));
    g->max[r] = next;
}

/* Turns query r's scores into e^(s - max) and adds them to its total. */
TR_INLINE void prefill_softmax(prefill_group *g, int r, int value_size, const int halves)
{
    vec s[2], max;
    UNROLL(4, h, 0, halves)
        s[h] = vec_load(g->s + r * TR_BLOCK + 16 * h);
    max = halves == 2 ? vec_max(s[0], s[1]) : s[0];
    if (vec_any_above(max, vec_set1(g->max[r])))
        prefill_raise_max(g, r, value_size, vec_reduce_max(max));
    const vec top = vec_set1(g->max[r] > -INFINITY ? g->max[r] : 0);
    vec sum = vec_load(g->total + 16 * r);
    UNROLL(4, h, 0, halves) {
        const vec weight = vec_exp_distance(vec_sub(s[h], top));
        vec_store(g->s + r * TR_BLOCK + 16 * h, weight);
        sum = vec_add(sum, weight);
    }
    vec_store(g->total + 16 * r, sum);
}

/* Scores and softmax of the first 16 halves positions of a block. */
TR_INLINE void prefill_halves(const tr_attn_prefill *op, prefill_group *g, int i, const int rows, int block,
                              prefill_keys seen, const float *hidden, const int halves)
{
    prefill_scores(op, g, i, rows, block, seen, hidden, halves);
    UNROLL(8, r, i, i + rows)
        prefill_softmax(g, r, op->value_size, halves);
}

/* Adds the values of a block that has infinity or NaN in it, only those that query r attends to: a weight of 0 times such a
 * value would be NaN. */
static void prefill_values_one_by_one(const tr_attn_prefill *op, const prefill_group *g, int r, int block,
                                      const float *hidden)
{
    const int p = block * TR_BLOCK;
    const float *values = op->blocks[block] + op->value_offset;
    for (int j = prefill_clamp((int64_t)g->begin[r] - p, 0, TR_BLOCK);
         j < prefill_clamp((int64_t)g->end[r] - p, 0, TR_BLOCK); j++) {
        if ((hidden && hidden[j] != 0) || (op->bias && op->bias[(g->first + r) * op->bias_step + p + j] == -INFINITY))
            continue;
        nn_rows(g->sum + r * g->sum_width, (size_t)g->sum_width, g->s + r * TR_BLOCK, TR_BLOCK, 1, values,
                (size_t)tr_pad16(op->value_size), j, j + 1, tr_pad16(op->value_size));
    }
}

TR_INLINE void prefill_block(const tr_attn_prefill *op, prefill_group *g, int i, const int rows, int block,
                             const float *hidden)
{
    const prefill_keys seen = prefill_keys_seen(g, i, rows, block * TR_BLOCK);
    if (seen.from >= seen.to)
        return;
    if (seen.to > 16)
        prefill_halves(op, g, i, rows, block, seen, hidden, 2);
    else
        prefill_halves(op, g, i, rows, block, seen, hidden, 1);
    if (op->nonfinite && op->nonfinite[block])
        for (int r = i; r < i + rows; r++)
            prefill_values_one_by_one(op, g, r, block, hidden);
    else
        nn_rows(g->sum + i * g->sum_width, (size_t)g->sum_width, g->s + i * TR_BLOCK, TR_BLOCK, rows,
                op->blocks[block] + op->value_offset, (size_t)tr_pad16(op->value_size), seen.from, seen.to,
                tr_pad16(op->value_size));
}

TR_INLINE void prefill_weights(const tr_attn_prefill *op, prefill_group *g, int i, const int rows, int block,
                               const float *hidden)
{
    const int p = block * TR_BLOCK;
    const prefill_keys seen = prefill_keys_seen(g, i, rows, p);
    if (seen.from >= seen.to)
        return;
    prefill_scores(op, g, i, rows, block, seen, hidden, 2);
    for (int r = i; r < i + rows; r++) {
        const vec top = vec_set1(g->max[r] > -INFINITY ? g->max[r] : 0), factor = vec_load(g->total + 16 * r);
        for (int h = 0; h < 2; h++)
            vec_store_n(op->weights + (size_t)(g->first + r) * op->weights_stride + p + 16 * h,
                        vec_mul(vec_exp_distance(vec_sub(vec_load(g->s + r * TR_BLOCK + 16 * h), top)), factor),
                        op->keys - p - 16 * h);
    }
}

/* A group attends to a block, or, with want_weights, writes its softmax weights there. positions: bit j for key j of the
 * block. */
TR_INLINE void prefill_visit(const tr_attn_prefill *op, prefill_group *g, int block, uint32_t positions, bool want_weights)
{
    float bits[TR_BLOCK];
    const float *hidden = NULL;
    if (positions != UINT32_MAX) {
        for (int j = 0; j < TR_BLOCK; j++)
            bits[j] = positions >> j & 1 ? 0 : -INFINITY;
        hidden = bits;
    }
    for (int i = 0, done; i < g->count; i += done) {
        if (want_weights) {
            prefill_weights(op, g, i, 1, block, hidden);
            done = 1;
            continue;
        }
#define PREFILL_CALL(rows) prefill_block(op, g, i, rows, block, hidden)
        NN_CASES(g->count - i, done, PREFILL_CALL)
#undef PREFILL_CALL
    }
}

static void prefill_pass(const tr_attn_prefill *op, prefill_group *g, bool want_weights)
{
    int begin = op->keys, end = 0;
    for (int r = 0; r < g->count; r++) {
        begin = g->begin[r] < begin ? g->begin[r] : begin;
        end = g->end[r] > end ? g->end[r] : end;
    }
    if (op->parts) {
        for (int i = 0; i < op->part_count; i++)
            if (op->parts[i].block >= begin / TR_BLOCK && op->parts[i].block * TR_BLOCK < end)
                prefill_visit(op, g, op->parts[i].block, op->parts[i].positions, want_weights);
    } else {
        for (int b = begin / TR_BLOCK; b * TR_BLOCK < end; b++)
            prefill_visit(op, g, b, UINT32_MAX, want_weights);
    }
}

/* Divides by the totals and writes out. A query that attended to nothing has a result of zero. */
static void prefill_end(const tr_attn_prefill *op, const prefill_group *g)
{
    for (int r = 0; r < g->count; r++) {
        const float total = vec_sum(vec_load(g->total + 16 * r));
        const vec factor = vec_set1(total == 0 ? 0 : 1 / total);
        float *out = op->out + (size_t)(g->first + r) * op->out_stride;
        for (int d = 0; d < op->value_size; d += 16)
            vec_store_n(out + d, vec_mul(vec_load(g->sum + r * g->sum_width + d), factor), op->value_size - d);
        vec_store(g->total + 16 * r, factor);
    }
}

static void attn_prefill(const tr_attn_prefill *op)
{
    _Alignas(64) float memory[GROUP_FLOATS], total[GROUP_ROWS * 16], s[GROUP_ROWS * TR_BLOCK];
    prefill_group g = {.q_width = tr_pad16(op->head_size), .sum_width = tr_pad16(op->value_size), .total = total, .s = s};
    const int fit = GROUP_FLOATS / (g.q_width + g.sum_width), rows = fit < GROUP_ROWS ? fit : GROUP_ROWS;
    g.q = memory;
    g.sum = memory + rows * g.q_width;
    for (g.first = 0; g.first < op->queries; g.first += g.count) {
        g.count = op->queries - g.first < rows ? op->queries - g.first : rows;
        prefill_begin(op, &g);
        prefill_pass(op, &g, false);
        prefill_end(op, &g);
        if (op->weights)
            prefill_pass(op, &g, true);
    }
}

/* Leaves positions from n on as they are: no query attends to them. Returns true if some value is not finite. */
static bool attn_pack(const tr_attn_pack *op)
{
    const int width = tr_pad16(op->value_size);
    vec finite = vec_set1(0); /* 0 while all values are finite, NaN after one that is not */
    for (int r = 0; r < op->n; r++) {
        for (int d = 0; d < op->head_size; d += 16) {
            const int n = op->head_size - d < 16 ? op->head_size - d : 16;
            float row[16], *transposed = op->packed_keys + d * TR_BLOCK + r;
            vec_store(row, vec_load_weight_n(op->from, op->keys, (size_t)r * op->key_stride + (size_t)d, n));
            for (int i = 0; i < n; i++)
                transposed[i * TR_BLOCK] = row[i];
        }
        for (int d = 0; d < width; d += 16) {
            const vec value =
                vec_load_weight_n(op->from, op->values, (size_t)r * op->value_stride + (size_t)d, op->value_size - d);
            finite = vec_fma(value, vec_set1(0), finite);
            vec_store(op->packed_values + r * width + d, value);
        }
    }
    return vec_any_above(finite, vec_set1(0));
}
