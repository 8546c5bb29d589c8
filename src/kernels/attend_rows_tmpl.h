/* Attention of many queries of one head. A group of queries goes over the blocks together, tile by tile: scores, softmax and
 * values of a tile's rows and a block stay in registers and in the first cache, and each block is read once for all of a
 * group. */

enum { GROUP_ROWS = 24, GROUP_FLOATS = 1 << 14 };

typedef struct rows_group {
    int first, count;                       /* of the queries */
    int begin[GROUP_ROWS], end[GROUP_ROWS]; /* of the keys that a row may attend to */
    float greatest[GROUP_ROWS];
    int q_width, sum_width;
    float *q, *sum; /* [count, q_width], times the scale, and [count, sum_width] */
    float *total;   /* [count, 16] */
    float *s;       /* [count, 32] */
} rows_group;

/* 0 up to n, -inf behind it: at + n. And -inf up to n. */
#define FOUR(x)       x, x, x, x
#define THIRTY_TWO(x) FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x)
static const float rows_shown[64] = {THIRTY_TWO(0), THIRTY_TWO(-INFINITY)},
                   rows_hidden[64] = {THIRTY_TWO(-INFINITY), THIRTY_TWO(0)};
#undef FOUR
#undef THIRTY_TWO

static inline int rows_within(int64_t value, int least, int most)
{
    return value < least ? least : value > most ? most : (int)value;
}

static void rows_begin(const tr_attn_prefill *op, rows_group *g)
{
    const vec scale = vec_set1(op->scale);
    for (int r = 0; r < g->count; r++) {
        const int64_t at = (int64_t)op->position + g->first + r;
        g->end[r] = rows_within(at + op->on + 1, 0, op->limits ? op->limits[g->first + r] : op->keys);
        g->begin[r] = rows_within(at - op->back, 0, g->end[r]);
        g->greatest[r] = -INFINITY;
        vec_store(g->total + 16 * r, vec_set1(0));
        const float *q = op->q + (size_t)(g->first + r) * op->q_stride;
        for (int d = 0; d < op->head_size; d += 16)
            vec_store(g->q + r * g->q_width + d, vec_mul(vec_load_n(q + d, op->head_size - d), scale));
        for (int d = 0; d < op->value_size; d += 16)
            vec_store(g->sum + r * g->sum_width + d, vec_set1(0));
    }
}

/* What to add to the scores of a block, hidden being -inf: x where nothing is. */
TR_INLINE vec rows_hide(vec x, vec bias)
{
    return vec_add(vec_zero_below(x, bias, vec_set1(-3.4028235e38f)), bias); /* NaN that nobody may see becomes -inf, too */
}

/* Which of a block a row sees: [from, to) of 32, and whether these are all. */
typedef struct rows_seen {
    int from, to;
    bool whole;
} rows_seen;

static inline rows_seen rows_see(const rows_group *g, int i, int rows, int p)
{
    rows_seen seen = {TR_BLOCK, 0, true};
    for (int r = i; r < i + rows; r++) {
        const int from = rows_within((int64_t)g->begin[r] - p, 0, TR_BLOCK),
                  to = rows_within((int64_t)g->end[r] - p, 0, TR_BLOCK);
        seen.whole = seen.whole && from == 0 && to == TR_BLOCK;
        if (from < to) {
            seen.from = from < seen.from ? from : seen.from;
            seen.to = to > seen.to ? to : seen.to;
        }
    }
    return seen;
}

/* s[r, 0..16 halves) of rows from i on: their scores in a block, -inf where they do not attend. hidden: [32] 0 or -inf, or
 * NULL. */
TR_INLINE void rows_scores(const tr_attn_prefill *op, const rows_group *g, int i, const int rows, int block, rows_seen seen,
                           const float *hidden, const int halves)
{
    const int p = block * TR_BLOCK;
    const float *keys = op->blocks[block] + op->key_offset;
    vec acc[MIX_ROWS][MIX_COLUMNS];
    UNROLL(8, r, 0, rows)
        UNROLL(4, h, 0, halves)
            acc[r][h] = vec_set1(0);
    mix_tile(acc, g->q + i * g->q_width, (size_t)g->q_width, rows, keys, 0, TR_BLOCK, 0, op->head_size, halves);
    UNROLL(8, r, 0, rows)
        UNROLL(4, h, 0, halves)
            vec_store(g->s + (i + r) * TR_BLOCK + 16 * h, acc[r][h]);
    if (seen.whole && !hidden && !op->bias)
        return;
    for (int r = i; r < i + rows; r++) {
        const int from = rows_within((int64_t)g->begin[r] - p, 0, TR_BLOCK),
                  to = rows_within((int64_t)g->end[r] - p, 0, TR_BLOCK);
        for (int h = 0; h < halves; h++) {
            vec s = vec_load(g->s + r * TR_BLOCK + 16 * h);
            if (op->bias)
                s = rows_hide(s, vec_load_n(op->bias + (g->first + r) * op->bias_step + p + 16 * h, op->keys - p - 16 * h));
            if (hidden)
                s = rows_hide(s, vec_load(hidden + 16 * h));
            if (from > 0)
                s = rows_hide(s, vec_load(rows_hidden + 32 - from + 16 * h));
            if (to < TR_BLOCK)
                s = rows_hide(s, vec_load(rows_shown + 32 - to + 16 * h));
            vec_store(g->s + r * TR_BLOCK + 16 * h, s);
        }
    }
}

/* A greater score than any before makes all of them smaller. */
static __attribute__((noinline)) void rows_rise(rows_group *g, int r, int value_size, float here)
{
    const float next = here > g->greatest[r] ? here : g->greatest[r];
    const vec shrink = vec_exp_distance(vec_set1(g->greatest[r] - next));
    if (next == g->greatest[r])
        return;
    vec_store(g->total + 16 * r, vec_mul(vec_load(g->total + 16 * r), shrink));
    for (int d = 0; d < value_size; d += 16)
        vec_store(g->sum + r * g->sum_width + d, vec_mul(vec_load(g->sum + r * g->sum_width + d), shrink));
    g->greatest[r] = next;
}

/* Scores to weights, not yet divided by their total. */
TR_INLINE void rows_softmax(rows_group *g, int r, int value_size, const int halves)
{
    vec s[2], most;
    UNROLL(4, h, 0, halves)
        s[h] = vec_load(g->s + r * TR_BLOCK + 16 * h);
    most = halves == 2 ? vec_max(s[0], s[1]) : s[0];
    if (vec_any_above(most, vec_set1(g->greatest[r])))
        rows_rise(g, r, value_size, vec_greatest(most));
    const vec top = vec_set1(g->greatest[r] > -INFINITY ? g->greatest[r] : 0);
    vec sum = vec_load(g->total + 16 * r);
    UNROLL(4, h, 0, halves) {
        const vec weight = vec_exp_distance(vec_sub(s[h], top));
        vec_store(g->s + r * TR_BLOCK + 16 * h, weight);
        sum = vec_add(sum, weight);
    }
    vec_store(g->total + 16 * r, sum);
}

/* The first 16 halves positions of a block. */
TR_INLINE void rows_halves(const tr_attn_prefill *op, rows_group *g, int i, const int rows, int block, rows_seen seen,
                           const float *hidden, const int halves)
{
    rows_scores(op, g, i, rows, block, seen, hidden, halves);
    UNROLL(8, r, i, i + rows)
        rows_softmax(g, r, op->value_size, halves);
}

/* Positions of a block one by one, those that the row sees: what it does not see may be infinite or NaN, which zero times is
 * NaN. */
static void rows_wild(const tr_attn_prefill *op, const rows_group *g, int r, int block, const float *hidden)
{
    const int p = block * TR_BLOCK;
    const float *values = op->blocks[block] + op->value_offset;
    for (int j = rows_within((int64_t)g->begin[r] - p, 0, TR_BLOCK); j < rows_within((int64_t)g->end[r] - p, 0, TR_BLOCK);
         j++) {
        if ((hidden && hidden[j] != 0) || (op->bias && op->bias[(g->first + r) * op->bias_step + p + j] == -INFINITY))
            continue;
        mix_rows(g->sum + r * g->sum_width, (size_t)g->sum_width, g->s + r * TR_BLOCK, TR_BLOCK, 1, values,
                 (size_t)tr_pad16(op->value_size), j, j + 1, tr_pad16(op->value_size));
    }
}

TR_INLINE void rows_block(const tr_attn_prefill *op, rows_group *g, int i, const int rows, int block, const float *hidden)
{
    const rows_seen seen = rows_see(g, i, rows, block * TR_BLOCK);
    if (seen.from >= seen.to)
        return;
    if (seen.to > 16)
        rows_halves(op, g, i, rows, block, seen, hidden, 2);
    else
        rows_halves(op, g, i, rows, block, seen, hidden, 1);
    if (op->wild && op->wild[block])
        for (int r = i; r < i + rows; r++)
            rows_wild(op, g, r, block, hidden);
    else
        mix_rows(g->sum + i * g->sum_width, (size_t)g->sum_width, g->s + i * TR_BLOCK, TR_BLOCK, rows,
                 op->blocks[block] + op->value_offset, (size_t)tr_pad16(op->value_size), seen.from, seen.to,
                 tr_pad16(op->value_size));
}

TR_INLINE void rows_weights(const tr_attn_prefill *op, rows_group *g, int i, const int rows, int block, const float *hidden)
{
    const int p = block * TR_BLOCK;
    const rows_seen seen = rows_see(g, i, rows, p);
    if (seen.from >= seen.to)
        return;
    rows_scores(op, g, i, rows, block, seen, hidden, 2);
    for (int r = i; r < i + rows; r++) {
        const vec top = vec_set1(g->greatest[r] > -INFINITY ? g->greatest[r] : 0), factor = vec_load(g->total + 16 * r);
        for (int h = 0; h < 2; h++)
            vec_store_n(op->weights + (size_t)(g->first + r) * op->weights_stride + p + 16 * h,
                        vec_mul(vec_exp_distance(vec_sub(vec_load(g->s + r * TR_BLOCK + 16 * h), top)), factor),
                        op->keys - p - 16 * h);
    }
}

/* A group meets a block, or says what its weights there were. */
TR_INLINE void rows_meet(const tr_attn_prefill *op, rows_group *g, int block, uint32_t positions, bool telling)
{
    float bits[TR_BLOCK];
    const float *hidden = NULL;
    if (positions != UINT32_MAX) {
        for (int j = 0; j < TR_BLOCK; j++)
            bits[j] = positions >> j & 1 ? 0 : -INFINITY;
        hidden = bits;
    }
    for (int i = 0, done; i < g->count; i += done) {
        if (telling) {
            rows_weights(op, g, i, 1, block, hidden);
            done = 1;
            continue;
        }
#define ROWS_CALL(rows) rows_block(op, g, i, rows, block, hidden)
        MIX_CASES(g->count - i, done, ROWS_CALL)
#undef ROWS_CALL
    }
}

static void rows_pass(const tr_attn_prefill *op, rows_group *g, bool telling)
{
    int begin = op->keys, end = 0;
    for (int r = 0; r < g->count; r++) {
        begin = g->begin[r] < begin ? g->begin[r] : begin;
        end = g->end[r] > end ? g->end[r] : end;
    }
    if (op->parts) {
        for (int i = 0; i < op->part_count; i++)
            if (op->parts[i].block >= begin / TR_BLOCK && op->parts[i].block * TR_BLOCK < end)
                rows_meet(op, g, op->parts[i].block, op->parts[i].positions, telling);
    } else {
        for (int b = begin / TR_BLOCK; b * TR_BLOCK < end; b++)
            rows_meet(op, g, b, UINT32_MAX, telling);
    }
}

/* A row that has seen nothing is zero. */
static void rows_end(const tr_attn_prefill *op, const rows_group *g)
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

static void attend_rows(const tr_attn_prefill *op)
{
    _Alignas(64) float memory[GROUP_FLOATS], total[GROUP_ROWS * 16], s[GROUP_ROWS * TR_BLOCK];
    rows_group g = {.q_width = tr_pad16(op->head_size), .sum_width = tr_pad16(op->value_size), .total = total, .s = s};
    const int room = GROUP_FLOATS / (g.q_width + g.sum_width), most = room < GROUP_ROWS ? room : GROUP_ROWS;
    g.q = memory;
    g.sum = memory + most * g.q_width;
    for (g.first = 0; g.first < op->queries; g.first += g.count) {
        g.count = op->queries - g.first < most ? op->queries - g.first : most;
        rows_begin(op, &g);
        rows_pass(op, &g, false);
        rows_end(op, &g);
        if (op->weights)
            rows_pass(op, &g, true);
    }
}

/* What is behind n stays as it is: nobody attends to it. True: some value is not finite. */
static bool attend_pack(const tr_attn_pack *op)
{
    const int width = tr_pad16(op->value_size);
    vec finite = vec_set1(0); /* stays so */
    for (int r = 0; r < op->n; r++) {
        for (int d = 0; d < op->head_size; d += 16) {
            const int n = op->head_size - d < 16 ? op->head_size - d : 16;
            float row[16], *across = op->packed_keys + d * TR_BLOCK + r;
            vec_store(row, vec_load_weight_n(op->from, op->keys, (size_t)r * op->key_stride + (size_t)d, n));
            for (int i = 0; i < n; i++)
                across[i * TR_BLOCK] = row[i];
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
