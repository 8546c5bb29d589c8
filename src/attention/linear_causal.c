/* Causal linear attention over the keys in order. A query's result is what the chunks before its own have summed up, and the
 * scores inside its chunk in full: products of matrices, where a step for each key would be products of vectors. */
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

/* results += scores values. Where values are not all finite each row by itself: what comes later must not touch it. */
static void add_chunk(const tr_linear_kind *l, const tr_chunk *chunk, const float *scores, int first, int count,
                      float *results)
{
    const tr_call *call = l->call;
    const bool together = is_finite(chunk->values, (size_t)chunk->count * (size_t)l->width);
    for (int i = 0; i < count; i += together ? count : 1)
        call->kernels->mix(&(tr_mix){.rows = together ? count : 1,
                                     .n = together ? chunk->count : tr_chunk_seen(call, chunk, first + i),
                                     .width = l->width,
                                     .a = scores + (size_t)i * TR_CHUNK,
                                     .a_stride = TR_CHUNK,
                                     .b = chunk->values,
                                     .b_stride = (size_t)l->width,
                                     .add = true,
                                     .y = results + (size_t)i * (size_t)l->width,
                                     .y_stride = (size_t)l->width});
}

/* Queries [first, last), whose last key is in the chunk; state: what is before it. */
static void attend(const tr_linear_kind *l, int thread, int64_t pair, const tr_chunk *chunk, const float *state, int first,
                   int last)
{
    const tr_call *call = l->call;
    float *results = tr_rooms_at(&l->results, thread);
    for (int n; first < last; first += n) {
        n = last - first < TR_CHUNK ? last - first : TR_CHUNK;
        const float *queries = tr_chunk_queries(l, thread, pair, first, n);
        call->kernels->mix(&(tr_mix){.rows = n,
                                     .n = call->key_size,
                                     .width = l->width,
                                     .a = queries,
                                     .a_stride = (size_t)call->key_size,
                                     .b = state,
                                     .b_stride = (size_t)l->width,
                                     .y = results,
                                     .y_stride = (size_t)l->width});
        if (chunk->count)
            add_chunk(l, chunk, tr_chunk_scores(l, thread, chunk, queries, first, n), first, n, results);
        tr_linear_write(l, results, pair, first, n);
    }
}

void tr_linear_causal(const void *work, int thread, int64_t pair)
{
    const tr_linear_kind *l = work;
    const tr_call *call = l->call;
    float *state = tr_rooms_at(&l->states, thread);
    memset(state, 0, l->state * sizeof *state);
    int query = 0;
    for (int key = 0; key < call->keys && query < call->queries; key += TR_CHUNK) {
        const tr_chunk chunk = tr_chunk_read(l, thread, pair, key);
        const int64_t behind = key + TR_CHUNK - call->mask.position; /* the first query that sees the next chunk */
        int end = behind < 0 ? 0 : behind < call->queries ? (int)behind : call->queries;
        if (call->keys - key <= TR_CHUNK)
            end = call->queries;
        if (query < end)
            attend(l, thread, pair, &chunk, state, query, end);
        query = query < end ? end : query;
        tr_chunk_add(l, thread, &chunk, state);
    }
}
