/* Attention of single queries over blocks of 32 keys and values with a running maximum: scores are stored for one block
 * only. Up to DECODE_QUERIES queries (pairs of a head and a query) go over a block together, in three passes: scores,
 * softmax, values. The passes of one query depend on each other, those of different queries do not and overlap in the CPU.
 * Each pass prefetches what the next one reads. */

enum { DECODE_QUERIES = 8, DECODE_MAX_HEAD = 1024 /* tr_network_create admits no larger heads */ };

/* Prefetches 64 numbers of the type. */
TR_INLINE void fetch_64(const char *from, const tr_type type)
{
    const int lines = type == TR_TYPE_F16 ? 2 : 4;
    UNROLL(4, i, 0, lines)
        __builtin_prefetch(from + 64 * i, 0, 3);
}

/* The products q·k[p] of positions 4 g .. 4 g + 3, folded to four lanes each (vec_fold4). Positions from n on repeat the
 * last one. Prefetches as many numbers from ahead. */
TR_INLINE vec four_scores(const float *q, const void *keys, const void *ahead, const tr_type type, int padded, int g, int n)
{
    vec acc[4];
    size_t k[4]; /* of each position's key, in elements */
    UNROLL(4, j, 0, 4) {
        acc[j] = vec_set1(0);
        k[j] = (size_t)(4 * g + j < n ? 4 * g + j : n - 1) * (size_t)padded;
    }
    for (int d = 0; d < padded; d += 16) {
        const vec a = vec_load(q + d);
        fetch_64((const char *)ahead + 4 * ((size_t)g * (size_t)padded + (size_t)d) * tr_type_size(type), type);
        UNROLL(4, j, 0, 4)
            acc[j] = vec_fma(a, vec_load_weight(type, keys, k[j] + (size_t)d), acc[j]);
    }
    return vec_fold4(acc[0], acc[1], acc[2], acc[3]);
}

/* s[32]: the scores scale q·k[p] + bias[p] of n <= 32 positions, and -inf from n on. bias may be NULL. q [padded] and keys
 * [n, padded] are padded with zeros. The sums have the order of the matrix product. */
TR_INLINE void block_scores(const float *q, float scale, const void *keys, const void *ahead, const float *bias,
                            const tr_type type, int padded, int n, float *s)
{
    for (int h = 0; h < 2; h++) {
        vec quads[4], sums = vec_set1(-INFINITY);
        if (16 * h < n) {
            for (int g = 0; g < 4; g++)
                quads[g] = 16 * h + 4 * g < n ? four_scores(q, keys, ahead, type, padded, 4 * h + g, n) : vec_set1(0);
            sums = vec_mul(vec_fold16(quads[0], quads[1], quads[2], quads[3]), vec_set1(scale));
            if (bias)
                sums = vec_add(sums, vec_load_n(bias + 16 * h, n - 16 * h));
            sums = vec_tail(sums, n - 16 * h, -INFINITY);
        }
        vec_store(s + 16 * h, sums);
    }
}

/* out[0 .. 16 columns) = out rescale + sum over p < n of weight[p] values[first + p stride + ...]. Prefetches as many
 * numbers from ahead. */
TR_INLINE void add_values(float *out, float rescale, const float *weight, const void *values, const void *ahead,
                          const tr_type type, size_t first, size_t stride, int n, const int columns)
{
    vec acc[4];
    UNROLL(4, c, 0, columns)
        acc[c] = vec_mul(vec_load(out + 16 * c), vec_set1(rescale));
    for (int p = 0; p < n; p++) {
        const vec w = vec_set1(weight[p]);
        const size_t at = first + (size_t)p * stride;
        if (columns == 4)
            fetch_64((const char *)ahead + at * tr_type_size(type), type);
        UNROLL(4, c, 0, columns)
            acc[c] = vec_fma(w, vec_load_weight(type, values, at + 16 * (size_t)c), acc[c]);
    }
    UNROLL(4, c, 0, columns)
        vec_store(out + 16 * c, acc[c]);
}

/* The state of one query of one head between blocks. */
typedef struct decode_query {
    float *q, *sum;   /* [pad16(head_size)]: the query; the sum of e^(s - max) v so far */
    float max, total; /* of the scores so far: their maximum, the sum of e^(s - max) */
    int head, query;
    int left;          /* positions from the current block on */
    float rescale;     /* e^(old max - new max): factor of sum and total in the current block */
    float s[TR_BLOCK]; /* scores of the current block, then e^(s - max) */
} decode_query;

TR_INLINE void decode_begin(const tr_attn_decode *op, int number, decode_query *row)
{
    row->max = -INFINITY;
    row->total = 0;
    row->head = number / op->queries;
    row->query = number % op->queries;
    row->left = op->length + row->query * op->causal;
    const float *q = op->q + (size_t)row->query * op->q_stride + (size_t)(row->head * op->head_size);
    for (int d = 0; d < tr_pad16(op->head_size); d += 16) {
        vec_store(row->sum + d, vec_set1(0));
        vec_store(row->q + d, vec_load_n(q + d, op->head_size - d));
    }
}

static inline int decode_block_keys(const decode_query *row)
{
    return row->left < TR_BLOCK ? row->left : TR_BLOCK;
}

static inline const float *decode_bias(const tr_attn_decode *op, const decode_query *row, int position)
{
    return op->bias ? op->bias + row->head * op->bias_head + row->query * op->bias_step + position : NULL;
}

/* Turns the block's scores into e^(s - max) and adds them to total. */
TR_INLINE void decode_softmax(decode_query *row)
{
    const bool one = row->left <= 16;
    vec s[2] = {vec_load(row->s), vec_load(row->s + 16)};
    const float here = vec_reduce_max(one ? s[0] : vec_max(s[0], s[1]));
    const float next = here > row->max ? here : row->max;
    const vec top = vec_set1(next);
    s[0] = vec_exp(vec_sub(s[0], top));
    vec_store(row->s, s[0]);
    vec sum = s[0];
    if (!one) {
        s[1] = vec_exp(vec_sub(s[1], top));
        vec_store(row->s + 16, s[1]);
        sum = vec_add(s[0], s[1]);
    }
    row->rescale = 1;
    if (next != row->max) {
        float factor[16];
        vec_store(factor, vec_exp(vec_set1(row->max - next)));
        row->rescale = factor[0];
    }
    row->max = next;
    row->total = row->total * row->rescale + vec_sum(sum);
}

TR_INLINE void decode_values(decode_query *row, const float *values, const float *ahead, const tr_type type, int padded)
{
    int d = 0;
    for (; d + 64 <= padded; d += 64)
        add_values(row->sum + d, row->rescale, row->s, values, ahead, type, (size_t)d, (size_t)padded,
                   decode_block_keys(row), 4);
    for (; d < padded; d += 16)
        add_values(row->sum + d, row->rescale, row->s, values, ahead, type, (size_t)d, (size_t)padded,
                   decode_block_keys(row), 1);
}

TR_INLINE void decode_end(const tr_attn_decode *op, const decode_query *row)
{
    const vec divisor = vec_set1(1 / row->total);
    float *out = op->out + (size_t)row->query * op->out_stride + (size_t)(row->head * op->head_size);
    for (int d = 0; d < op->head_size; d += 16)
        vec_store_n(out + d, vec_mul(vec_load(row->sum + d), divisor), op->head_size - d);
}

/* Writes the softmax weights of a query, once max and total are known, from the scores computed again. */
TR_INLINE void decode_weights(const tr_attn_decode *op, const tr_type type, decode_query *row)
{
    const int length = op->length + row->query * op->causal;
    float *out = op->weights + (size_t)row->query * op->weights_stride +
                 (op->only_head < 0 ? (size_t)row->head * op->weights_head : 0);
    const vec top = vec_set1(row->max), factor = vec_set1(1 / row->total);
    for (int p = 0; p < length; p += TR_BLOCK) {
        const int n = length - p < TR_BLOCK ? length - p : TR_BLOCK;
        const float *keys = op->blocks[p / TR_BLOCK] + op->key_offset + (size_t)row->head * op->head_offset;
        block_scores(row->q, op->scale, keys, keys, decode_bias(op, row, p), type, tr_pad16(op->head_size), n, row->s);
        for (int h = 0; h < 2 && n > 16 * h; h++)
            vec_store_n(out + p + 16 * h, vec_mul(vec_exp(vec_sub(vec_load(row->s + 16 * h), top)), factor), n - 16 * h);
    }
}

/* All queries attend to the block that begins with position p. ahead: keys of the first query's head in the next block. The
 * first query of each head prefetches for the others. */
TR_INLINE void decode_block(const tr_attn_decode *op, const tr_type type, decode_query *queries, int count, int p,
                            const float *ahead)
{
    const int padded = tr_pad16(op->head_size);
    const float *block = op->blocks[p / TR_BLOCK];
    for (int i = 0; i < count; i++) {
        decode_query *row = &queries[i];
        const size_t head = (size_t)row->head * op->head_offset;
        const float *keys = block + op->key_offset + head, *values = block + op->value_offset + head;
        if (row->left > 0)
            block_scores(row->q, op->scale, keys, i && row->head == row[-1].head ? keys : values, decode_bias(op, row, p),
                         type, padded, decode_block_keys(row), row->s);
    }
    for (int i = 0; i < count; i++)
        if (queries[i].left > 0)
            decode_softmax(&queries[i]);
    for (int i = 0; i < count; i++) {
        decode_query *row = &queries[i];
        const size_t head = (size_t)row->head * op->head_offset;
        const float *values = block + op->value_offset + head;
        if (row->left > 0)
            decode_values(row, values,
                          i && row->head == row[-1].head ? values
                                                         : ahead + (size_t)(row->head - queries->head) * op->head_offset,
                          type, padded);
        row->left -= TR_BLOCK;
    }
}

TR_INLINE void decode_of_type(const tr_attn_decode *op, const tr_type type)
{
    _Alignas(64) float memory[2 * DECODE_QUERIES * DECODE_MAX_HEAD];
    decode_query queries[DECODE_QUERIES];
    const int all = op->heads * op->queries, padded = tr_pad16(op->head_size);
    for (int i = 0; i < DECODE_QUERIES; i++) {
        queries[i].q = memory + 2 * i * padded;
        queries[i].sum = queries[i].q + padded;
    }
    for (int first = 0; first < all; first += DECODE_QUERIES) {
        const int count = all - first < DECODE_QUERIES ? all - first : DECODE_QUERIES;
        int longest = 0;
        for (int i = 0; i < count; i++) {
            decode_begin(op, first + i, &queries[i]);
            longest = queries[i].left > longest ? queries[i].left : longest;
        }
        /* prefetched during the last block: the first block of the next queries, or what the caller names */
        const float *next = op->prefetch;
        if (first + count < all)
            next = op->blocks[0] + op->key_offset + (size_t)((first + count) / op->queries) * op->head_offset;
        for (int p = 0; p < longest; p += TR_BLOCK) {
            const float *ahead = p + TR_BLOCK < longest ? op->blocks[p / TR_BLOCK + 1] + op->key_offset +
                                                              (size_t)queries->head * op->head_offset
                                                        : next;
            decode_block(op, type, queries, count, p, ahead ? ahead : op->blocks[0] + op->key_offset);
        }
        for (int i = 0; i < count; i++) {
            decode_end(op, &queries[i]);
            if (op->weights && (op->only_head < 0 || op->only_head == queries[i].head))
                decode_weights(op, type, &queries[i]);
        }
    }
}

static void attn_decode(const tr_attn_decode *op)
{
    if (op->type == TR_TYPE_F16)
        decode_of_type(op, TR_TYPE_F16);
    else
        decode_of_type(op, TR_TYPE_F32);
}

/* Clips to the largest finite F16, so that finite numbers stay finite; NaN stays NaN. */
TR_INLINE vec clamp_to_type(vec a, tr_type type)
{
    const vec limit = vec_set1(65504), lowest = vec_set1(-65504);
    return type == TR_TYPE_F16 ? vec_max(lowest, vec_min(limit, a)) : a;
}

static void kv_store(const tr_kv_store *op)
{
    const size_t at = (size_t)op->position * (size_t)tr_pad16(op->head_size);
    for (int d = 0; d < op->head_size; d += 16) { /* vec_load_n fills the padding with zeros */
        const vec key = vec_load_n(op->key + d, op->head_size - d), value = vec_load_n(op->value + d, op->head_size - d);
        vec_store_as(op->type, op->keys, at + (size_t)d, clamp_to_type(key, op->type));
        vec_store_as(op->type, op->values, at + (size_t)d, clamp_to_type(value, op->type));
    }
}
