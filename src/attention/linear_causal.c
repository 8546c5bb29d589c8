/* Causal linear attention over the keys in order. A query's result has two parts: the state, which sums all chunks before
 * the query's own, and the scores with the keys of its own chunk. Both are products of matrices; a step for each key would
 * need slower products of vectors. */
#include "attention/linear.h"

#include <string.h>

static bool is_finite(const float *x, size_t n)
{
    const uint32_t exponent = 0x7f800000;
    uint32_t found = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        found |= (bits & exponent) == exponent;
    }
    return !found;
}

static bool are_finite(const tr_linear_kind *l, const tr_key_chunk *chunk)
{
    for (int i = 0; i < chunk->count; i++)
        if (!is_finite(chunk->values + (size_t)i * chunk->value_stride, (size_t)l->call->d_v))
            return false;
    return true;
}

/* Adds the products of scores and values to the results. If a value is NaN or infinite, each row is added by itself, without
 * the values of later keys, whose score of 0 times NaN would be NaN. */
static void add_values(const tr_linear_kind *l, int thread, const tr_key_chunk *chunk, const float *scores, int first,
                       int count)
{
    const bool together = are_finite(l, chunk);
    float *results = tr_thread_buffer(&l->results, thread);
    for (int i = 0; i < count; i += together ? count : 1)
        l->call->kernels->gemm_nn(&(tr_gemm_nn){.rows = together ? count : 1,
                                                .n = together ? chunk->count : tr_key_chunk_seen(l->call, chunk, first + i),
                                                .width = l->width,
                                                .a = scores + (size_t)i * TR_KEY_CHUNK,
                                                .a_stride = TR_KEY_CHUNK,
                                                .b = chunk->values,
                                                .b_stride = chunk->value_stride,
                                                .add = true,
                                                .y = results + (size_t)i * (size_t)l->width,
                                                .y_stride = (size_t)l->width});
}

/* Adds scores to the totals. */
static void add_scores(const tr_linear_kind *l, int thread, const tr_key_chunk *chunk, const float *scores, int count)
{
    float ones[TR_KEY_CHUNK], *totals = tr_thread_buffer(&l->totals, thread);
    for (int i = 0; i < TR_KEY_CHUNK; i++)
        ones[i] = 1;
    const tr_matrix one = {.type = TR_TYPE_F32, .outputs = 1, .inputs = chunk->count, .data = ones};
    l->call->kernels->matmul(&(tr_matmul){.weight = &one,
                                          .rows = count,
                                          .x = scores,
                                          .x_stride = TR_KEY_CHUNK,
                                          .activation = TR_ACTIVATION_NONE,
                                          .residual = totals,
                                          .residual_stride = 1,
                                          .y = totals,
                                          .y_stride = 1},
                             0, 1, tr_thread_buffer(&l->scratch, thread));
}

/* Computes the queries first .. last - 1, whose last key is in the chunk. state: of all chunks before it. */
static void attend_chunk(const tr_linear_kind *l, int thread, int64_t pair, const tr_key_chunk *chunk, const float *state,
                         int first, int last)
{
    for (int n; first < last; first += n) {
        n = last - first < TR_KEY_CHUNK ? last - first : TR_KEY_CHUNK;
        const float *queries = tr_key_chunk_queries(l, thread, pair, first, n);
        tr_linear_apply(l, thread, state, queries, n);
        if (chunk->count) {
            const float *scores = tr_key_chunk_scores(l, thread, chunk, queries, first, n);
            add_values(l, thread, chunk, scores, first, n);
            add_scores(l, thread, chunk, scores, n);
        }
        tr_linear_write(l, thread, pair, first, n);
    }
}

void tr_linear_causal(const void *work, int thread, int64_t pair)
{
    const tr_linear_kind *l = work;
    const tr_call *call = l->call;
    float *state = tr_thread_buffer(&l->states, thread);
    memset(state, 0, l->state * sizeof *state);
    int query = 0;
    for (int key = 0; key < call->keys && query < call->queries; key += TR_KEY_CHUNK) {
        const tr_key_chunk chunk = tr_key_chunk_read(l, thread, pair, key);
        const int64_t next = key + TR_KEY_CHUNK - call->mask.position; /* the first query that attends to the next chunk */
        int end = next < 0 ? 0 : next < call->queries ? (int)next : call->queries;
        if (call->keys - key <= TR_KEY_CHUNK)
            end = call->queries;
        if (query < end)
            attend_chunk(l, thread, pair, &chunk, state, query, end);
        query = query < end ? end : query;
        tr_key_chunk_add(l, thread, &chunk, state);
    }
}
