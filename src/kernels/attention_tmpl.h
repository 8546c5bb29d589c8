/* Attention over blocks of 32 positions with running maxima: scores are never stored beyond one block. */

/* As many bytes as 64 numbers take, of what is read next. */
TR_INLINE void fetch_64(const char *from, const tr_type type)
{
    const int lines = type == TR_TYPE_F16 ? 2 : 4;
    UNROLL(4) for (int i = 0; i < lines; i++)
        __builtin_prefetch(from + 64 * i, 0, 3);
}

/* Scores of n <= 32 positions, scale q·k[p], in the order of the matrix product; q and keys [n, padded] padded with zeros. The lanes
 * behind n hold anything finite. As many keys are fetched from ahead. */
TR_INLINE void block_scores(const float *q, float scale, const void *keys, const void *ahead, const tr_type type, int padded,
                            int n, vec s[2])
{
    const size_t width = (size_t)padded * tr_type_size(type);
    vec quads[8];
    for (int g = 0; g < 8; g++) {
        vec acc[4];
        UNROLL(4) for (int j = 0; j < 4; j++)
            acc[j] = vec_set1(0);
        if (4 * g >= n) {
            quads[g] = acc[0];
            continue;
        } else {
            size_t k[4]; /* behind the last position: it again */
            UNROLL(4) for (int j = 0; j < 4; j++)
                k[j] = (size_t)(4 * g + j < n ? 4 * g + j : n - 1) * (size_t)padded;
            for (int d = 0; d < padded; d += 16) {
                const vec a = vec_load(q + d);
                fetch_64((const char *)ahead + 4 * (size_t)g * width + 4 * (size_t)d * tr_type_size(type), type);
                UNROLL(4) for (int j = 0; j < 4; j++)
                    acc[j] = vec_fma(a, vec_load_weight(type, keys, k[j] + (size_t)d), acc[j]);
            }
        }
        quads[g] = vec_fold4(acc[0], acc[1], acc[2], acc[3]);
    }
    const vec factor = vec_set1(scale);
    s[0] = vec_mul(vec_fold16(quads[0], quads[1], quads[2], quads[3]), factor);
    s[1] = vec_mul(vec_fold16(quads[4], quads[5], quads[6], quads[7]), factor);
}

/* out[0..width) = out * shrink + sum over p < n of weight[p] values[p], width columns of 16 at a time; the same values from ahead
 * on are fetched */
TR_INLINE void add_values(float *out, float shrink, const float *weight, const void *values, const void *ahead, const tr_type type,
                          size_t first, size_t stride, int n, const int columns)
{
    vec acc[4];
    UNROLL(4) for (int c = 0; c < columns; c++)
        acc[c] = vec_mul(vec_load(out + 16 * c), vec_set1(shrink));
    for (int p = 0; p < n; p++) {
        const vec w = vec_set1(weight[p]);
        if (columns == 4)
            fetch_64((const char *)ahead + (first + (size_t)p * stride) * tr_type_size(type), type);
        UNROLL(4) for (int c = 0; c < columns; c++)
            acc[c] = vec_fma(w, vec_load_weight(type, values, first + (size_t)p * stride + 16 * (size_t)c), acc[c]);
    }
    UNROLL(4) for (int c = 0; c < columns; c++)
        vec_store(out + 16 * c, acc[c]);
}

/* A query on its way over the blocks; q and sum are [pad16(head_size)]. */
typedef struct running {
    float *q, *sum;
    float greatest, total;
} running;

TR_INLINE void attend_begin(const tr_attend *op, const float *q, running *r)
{
    r->greatest = -INFINITY;
    r->total = 0;
    for (int d = 0; d < tr_pad16(op->head_size); d += 16) {
        vec_store(r->sum + d, vec_set1(0));
        vec_store(r->q + d, vec_load_n(q + d, op->head_size - d));
    }
}

/* What goes into the softmax: scores and bias of the block's n positions, -inf behind them. bias: of these, or NULL */
TR_INLINE void biased_scores(const tr_attend *op, const tr_type type, const float *block, const void *ahead, const float *bias,
                             int n, const float *q, vec s[2])
{
    block_scores(q, op->scale, block + op->key_offset, ahead, type, tr_pad16(op->head_size), n, s);
    if (bias) {
        s[0] = vec_add(s[0], vec_load_n(bias, n));
        s[1] = vec_add(s[1], vec_load_n(bias + 16, n - 16));
    }
    s[0] = vec_tail(s[0], n, -INFINITY);
    s[1] = vec_tail(s[1], n - 16, -INFINITY);
}

/* ahead: the keys of the block that comes next. */
TR_INLINE void attend_block(const tr_attend *op, const tr_type type, const float *block, const float *ahead, const float *bias, int n,
                            running *r)
{
    const int padded = tr_pad16(op->head_size);
    vec s[2];
    biased_scores(op, type, block, ahead, bias, n, r->q, s);
    const float here = vec_greatest(vec_max(s[0], s[1]));
    const float next = here > r->greatest ? here : r->greatest;
    const vec top = vec_set1(next);
    s[0] = vec_exp(vec_sub(s[0], top));
    s[1] = vec_exp(vec_sub(s[1], top));
    float weight[TR_BLOCK], shrink;
    vec_store(weight, s[0]);
    vec_store(weight + 16, s[1]);
    if (next == r->greatest) { /* also where the first block changes nothing */
        shrink = 1;
    } else {
        float lanes[16];
        vec_store(lanes, vec_exp(vec_set1(r->greatest - next)));
        shrink = lanes[0];
    }
    r->greatest = next;
    r->total = r->total * shrink + vec_sum(vec_add(s[0], s[1]));
    const float *values = block + op->value_offset, *next_values = ahead + (op->value_offset - op->key_offset);
    int d = 0;
    for (; d + 64 <= padded; d += 64)
        add_values(r->sum + d, shrink, weight, values, next_values, type, (size_t)d, (size_t)padded, n, 4);
    for (; d < padded; d += 16)
        add_values(r->sum + d, shrink, weight, values, next_values, type, (size_t)d, (size_t)padded, n, 1);
}

TR_INLINE void attend_end(const tr_attend *op, const running *r, float *out)
{
    const vec divisor = vec_set1(1 / r->total);
    for (int d = 0; d < op->head_size; d += 16)
        vec_store_n(out + d, vec_mul(vec_load(r->sum + d), divisor), op->head_size - d);
}

static inline int attend_length(const tr_attend *op, int query)
{
    return op->length + query * op->growth;
}

static inline const float *attend_bias(const tr_attend *op, int query, int position)
{
    return op->bias ? op->bias + query * op->bias_step + position : NULL;
}

/* The weights themselves, once greatest and total are known: the scores once more, which costs nothing where nobody asks. */
TR_INLINE void attend_weights(const tr_attend *op, const tr_type type, int query, const running *r)
{
    const int length = attend_length(op, query);
    float *out = op->weights + (size_t)query * op->weights_stride;
    const vec top = vec_set1(r->greatest), factor = vec_set1(1 / r->total);
    for (int p = 0; p < length; p += TR_BLOCK) {
        const int n = length - p < TR_BLOCK ? length - p : TR_BLOCK;
        vec s[2];
        const float *block = op->blocks[p / TR_BLOCK];
        biased_scores(op, type, block, block + op->key_offset, attend_bias(op, query, p), n, r->q, s);
        for (int h = 0; h < 2 && n > 16 * h; h++)
            vec_store_n(out + p + 16 * h, vec_mul(vec_exp(vec_sub(s[h], top)), factor), n - 16 * h);
    }
}

/* Queries go over the blocks side by side, a few at a time: a block is read from far away once for all of them. */
TR_INLINE void attend_type(const tr_attend *op, const tr_type type)
{
    enum { MOST = 1024, TOGETHER = 8 }; /* tr_network_create admits no larger heads */
    _Alignas(64) float memory[2 * TOGETHER * MOST];
    const int padded = tr_pad16(op->head_size);
    running r[TOGETHER];
    for (int i = 0; i < TOGETHER; i++) {
        r[i].q = memory + 2 * i * padded;
        r[i].sum = r[i].q + padded;
    }
    for (int first = 0; first < op->queries; first += TOGETHER) {
        const int count = op->queries - first < TOGETHER ? op->queries - first : TOGETHER;
        for (int i = 0; i < count; i++)
            attend_begin(op, op->q + (size_t)(first + i) * op->q_stride, &r[i]);
        const int farthest = attend_length(op, first + count - 1);
        for (int p = 0; p < farthest; p += TR_BLOCK) {
            const float *block = op->blocks[p / TR_BLOCK], *here = block + op->key_offset;
            const float *next = p + TR_BLOCK < farthest ? op->blocks[p / TR_BLOCK + 1] + op->key_offset
                                : op->ahead             ? op->ahead
                                                        : here;
            for (int i = 0; i < count; i++) { /* the first one fetches */
                const int left = attend_length(op, first + i) - p;
                if (left > 0)
                    attend_block(op, type, block, i ? here : next, attend_bias(op, first + i, p), left < TR_BLOCK ? left : TR_BLOCK,
                                 &r[i]);
            }
        }
        for (int i = 0; i < count; i++) {
            attend_end(op, &r[i], op->out + (size_t)(first + i) * op->out_stride);
            if (op->weights)
                attend_weights(op, type, first + i, &r[i]);
        }
    }
}

static void attend(const tr_attend *op)
{
    if (op->type == TR_TYPE_F16)
        attend_type(op, TR_TYPE_F16);
    else
        attend_type(op, TR_TYPE_F32);
}

/* Finite numbers stay finite as halves. */
TR_INLINE vec cache_range(vec a, tr_type type)
{
    const vec limit = vec_set1(65504), lowest = vec_set1(-65504);
    return type == TR_TYPE_F16 ? vec_max(lowest, vec_min(limit, a)) : a; /* NaN stays */
}

static void kv_put(const tr_kv_row *op)
{
    const size_t at = (size_t)op->position * (size_t)tr_pad16(op->head_size);
    for (int d = 0; d < op->head_size; d += 16) { /* the loads fill the padding with zeros */
        const vec key = vec_load_n(op->key + d, op->head_size - d), value = vec_load_n(op->value + d, op->head_size - d);
        vec_store_as(op->type, op->keys, at + (size_t)d, cache_range(key, op->type));
        vec_store_as(op->type, op->values, at + (size_t)d, cache_range(value, op->type));
    }
}
