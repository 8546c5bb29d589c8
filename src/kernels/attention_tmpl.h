/* Attention over blocks of 32 positions with running maxima: scores are never stored beyond one block. A few pairs of a head
 * and a query, lanes, go over a block together, in three turns (scores, softmax, values): a lane's own turns wait for each
 * other, those of several lanes do not. What the next turns read is fetched meanwhile. */

enum { ATTEND_LANES = 8, ATTEND_MOST = 1024 /* tr_network_create admits no larger heads */ };

/* As many bytes as 64 numbers take, of what is read later. */
TR_INLINE void fetch_64(const char *from, const tr_type type)
{
    const int lines = type == TR_TYPE_F16 ? 2 : 4;
    UNROLL(4, i, 0, lines)
        __builtin_prefetch(from + 64 * i, 0, 3);
}

/* The sums q·k[p] of positions [4 g, 4 g + 4) of n, folded to four lanes each; those behind n are anything finite. As many
 * numbers are fetched from ahead. */
TR_INLINE vec four_scores(const float *q, const void *keys, const void *ahead, const tr_type type, int padded, int g, int n)
{
    vec acc[4];
    size_t k[4]; /* behind the last position: it again */
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

/* What goes into the softmax, s[32]: of n <= 32 positions scale q·k[p], in the order of the matrix product, and the bias
 * (NULL: none); -inf behind them. q and keys [n, padded] are padded with zeros. */
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

/* out[0..width) = out * shrink + sum over p < n of weight[p] values[p], width columns of 16 at a time; as many values are
 * fetched from ahead */
TR_INLINE void add_values(float *out, float shrink, const float *weight, const void *values, const void *ahead,
                          const tr_type type, size_t first, size_t stride, int n, const int columns)
{
    vec acc[4];
    UNROLL(4, c, 0, columns)
        acc[c] = vec_mul(vec_load(out + 16 * c), vec_set1(shrink));
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

/* A query of a head on its way over the blocks; q and sum are [pad16(head_size)]. */
typedef struct attend_lane {
    float *q, *sum;
    float greatest, total;
    int head, query;
    int left;     /* positions from the block at hand on */
    float shrink; /* what the block at hand makes of the sum before it */
    float s[TR_BLOCK];
} attend_lane;

TR_INLINE void attend_begin(const tr_attn_decode *op, int number, attend_lane *l)
{
    l->greatest = -INFINITY;
    l->total = 0;
    l->head = number / op->queries;
    l->query = number % op->queries;
    l->left = op->length + l->query * op->causal;
    const float *q = op->q + (size_t)l->query * op->q_stride + (size_t)(l->head * op->head_size);
    for (int d = 0; d < tr_pad16(op->head_size); d += 16) {
        vec_store(l->sum + d, vec_set1(0));
        vec_store(l->q + d, vec_load_n(q + d, op->head_size - d));
    }
}

static inline int attend_here(const attend_lane *l)
{
    return l->left < TR_BLOCK ? l->left : TR_BLOCK;
}

static inline const float *attend_bias(const tr_attn_decode *op, const attend_lane *l, int position)
{
    return op->bias ? op->bias + l->head * op->bias_head + l->query * op->bias_step + position : NULL;
}

/* Scores to weights, not yet divided by their total. */
TR_INLINE void attend_softmax(attend_lane *l)
{
    const bool one = l->left <= 16;
    vec s[2] = {vec_load(l->s), vec_load(l->s + 16)};
    const float here = vec_greatest(one ? s[0] : vec_max(s[0], s[1]));
    const float next = here > l->greatest ? here : l->greatest;
    const vec top = vec_set1(next);
    s[0] = vec_exp(vec_sub(s[0], top));
    vec_store(l->s, s[0]);
    vec sum = s[0];
    if (!one) {
        s[1] = vec_exp(vec_sub(s[1], top));
        vec_store(l->s + 16, s[1]);
        sum = vec_add(s[0], s[1]);
    }
    l->shrink = 1;
    if (next != l->greatest) {
        float lanes[16];
        vec_store(lanes, vec_exp(vec_set1(l->greatest - next)));
        l->shrink = lanes[0];
    }
    l->greatest = next;
    l->total = l->total * l->shrink + vec_sum(sum);
}

TR_INLINE void attend_values(attend_lane *l, const float *values, const float *ahead, const tr_type type, int padded)
{
    int d = 0;
    for (; d + 64 <= padded; d += 64)
        add_values(l->sum + d, l->shrink, l->s, values, ahead, type, (size_t)d, (size_t)padded, attend_here(l), 4);
    for (; d < padded; d += 16)
        add_values(l->sum + d, l->shrink, l->s, values, ahead, type, (size_t)d, (size_t)padded, attend_here(l), 1);
}

TR_INLINE void attend_end(const tr_attn_decode *op, const attend_lane *l)
{
    const vec divisor = vec_set1(1 / l->total);
    float *out = op->out + (size_t)l->query * op->out_stride + (size_t)(l->head * op->head_size);
    for (int d = 0; d < op->head_size; d += 16)
        vec_store_n(out + d, vec_mul(vec_load(l->sum + d), divisor), op->head_size - d);
}

/* The weights themselves, once greatest and total are known: the scores once more, which costs nothing where nobody asks. */
TR_INLINE void attend_weights(const tr_attn_decode *op, const tr_type type, attend_lane *l)
{
    const int length = op->length + l->query * op->causal;
    float *out =
        op->weights + (size_t)l->query * op->weights_stride + (op->only_head < 0 ? (size_t)l->head * op->weights_head : 0);
    const vec top = vec_set1(l->greatest), factor = vec_set1(1 / l->total);
    for (int p = 0; p < length; p += TR_BLOCK) {
        const int n = length - p < TR_BLOCK ? length - p : TR_BLOCK;
        const float *keys = op->blocks[p / TR_BLOCK] + op->key_offset + (size_t)l->head * op->head_offset;
        block_scores(l->q, op->scale, keys, keys, attend_bias(op, l, p), type, tr_pad16(op->head_size), n, l->s);
        for (int h = 0; h < 2 && n > 16 * h; h++)
            vec_store_n(out + p + 16 * h, vec_mul(vec_exp(vec_sub(vec_load(l->s + 16 * h), top)), factor), n - 16 * h);
    }
}

/* The lanes meet the positions from p on, which are in a block. ahead: the keys of the first lane's head in the block that
 * comes next. A head's first lane fetches for those behind it. */
TR_INLINE void attend_block(const tr_attn_decode *op, const tr_type type, attend_lane *lanes, int count, int p,
                            const float *ahead)
{
    const int padded = tr_pad16(op->head_size);
    const float *block = op->blocks[p / TR_BLOCK];
    for (int i = 0; i < count; i++) {
        attend_lane *l = &lanes[i];
        const size_t head = (size_t)l->head * op->head_offset;
        const float *keys = block + op->key_offset + head, *values = block + op->value_offset + head;
        if (l->left > 0)
            block_scores(l->q, op->scale, keys, i && l->head == l[-1].head ? keys : values, attend_bias(op, l, p), type,
                         padded, attend_here(l), l->s);
    }
    for (int i = 0; i < count; i++)
        if (lanes[i].left > 0)
            attend_softmax(&lanes[i]);
    for (int i = 0; i < count; i++) {
        attend_lane *l = &lanes[i];
        const size_t head = (size_t)l->head * op->head_offset;
        const float *values = block + op->value_offset + head;
        if (l->left > 0)
            attend_values(l, values,
                          i && l->head == l[-1].head ? values : ahead + (size_t)(l->head - lanes->head) * op->head_offset,
                          type, padded);
        l->left -= TR_BLOCK;
    }
}

TR_INLINE void attend_type(const tr_attn_decode *op, const tr_type type)
{
    _Alignas(64) float memory[2 * ATTEND_LANES * ATTEND_MOST];
    attend_lane lanes[ATTEND_LANES];
    const int all = op->heads * op->queries, padded = tr_pad16(op->head_size);
    for (int i = 0; i < ATTEND_LANES; i++) {
        lanes[i].q = memory + 2 * i * padded;
        lanes[i].sum = lanes[i].q + padded;
    }
    for (int first = 0; first < all; first += ATTEND_LANES) {
        const int count = all - first < ATTEND_LANES ? all - first : ATTEND_LANES;
        int farthest = 0;
        for (int i = 0; i < count; i++) {
            attend_begin(op, first + i, &lanes[i]);
            farthest = lanes[i].left > farthest ? lanes[i].left : farthest;
        }
        /* behind the last block: that of the next lanes, or what the caller says */
        const float *next = op->prefetch;
        if (first + count < all)
            next = op->blocks[0] + op->key_offset + (size_t)((first + count) / op->queries) * op->head_offset;
        for (int p = 0; p < farthest; p += TR_BLOCK) {
            const float *ahead = p + TR_BLOCK < farthest
                                     ? op->blocks[p / TR_BLOCK + 1] + op->key_offset + (size_t)lanes->head * op->head_offset
                                     : next;
            attend_block(op, type, lanes, count, p, ahead ? ahead : op->blocks[0] + op->key_offset);
        }
        for (int i = 0; i < count; i++) {
            attend_end(op, &lanes[i]);
            if (op->weights && (op->only_head < 0 || op->only_head == lanes[i].head))
                attend_weights(op, type, &lanes[i]);
        }
    }
}

static void attend(const tr_attn_decode *op)
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

static void kv_put(const tr_kv_store *op)
{
    const size_t at = (size_t)op->position * (size_t)tr_pad16(op->head_size);
    for (int d = 0; d < op->head_size; d += 16) { /* the loads fill the padding with zeros */
        const vec key = vec_load_n(op->key + d, op->head_size - d), value = vec_load_n(op->value + d, op->head_size - d);
        vec_store_as(op->type, op->keys, at + (size_t)d, cache_range(key, op->type));
        vec_store_as(op->type, op->values, at + (size_t)d, cache_range(value, op->type));
    }
}
