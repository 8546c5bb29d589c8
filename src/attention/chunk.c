#include "attention/linear.h"

#include <string.h>

#include "attention/mask.h"

/* Keys and values of a run, behind those that the chunk has. */
static void read_run(const tr_linear_kind *l, int64_t pair, tr_key_span run, tr_chunk *chunk)
{
    const tr_call *call = l->call;
    const size_t key_size = (size_t)call->key_size, width = (size_t)l->width;
    const int n = run.last - run.first;
    float *keys = chunk->keys + (size_t)chunk->count * key_size, *values = chunk->values + (size_t)chunk->count * width;
    tr_widen(call->kernels, &call->k, tr_row(call, &call->k, pair, run.first), n, call->key_size, keys, key_size);
    tr_widen(call->kernels, &call->v, tr_row(call, &call->v, pair, run.first), n, call->value_size, values, width);
    for (int i = 0; i < n; i++) {
        float *behind = values + (size_t)i * width + call->value_size;
        memset(behind, 0, (width - (size_t)call->value_size) * sizeof *behind);
        *behind = 1;
        chunk->at[chunk->count + i] = run.first + i;
    }
    chunk->count += n;
}

tr_chunk tr_chunk_read(const tr_linear_kind *l, int thread, int64_t pair, int first)
{
    const tr_call *call = l->call;
    tr_chunk chunk = {0, tr_rooms_at(&l->at, thread), tr_rooms_at(&l->keys, thread), tr_rooms_at(&l->values, thread)};
    const int last = call->keys - first < TR_CHUNK ? call->keys : first + TR_CHUNK;
    for (tr_key_span run = {first, first}; tr_mask_run(call, pair, last, &run); run.first = run.last)
        read_run(l, pair, run, &chunk);
    call->kernels->elu_plus_1(chunk.keys, chunk.keys, chunk.count * call->key_size);
    return chunk;
}

const float *tr_chunk_queries(const tr_linear_kind *l, int thread, int64_t pair, int first, int count)
{
    const tr_call *call = l->call;
    float *queries = tr_rooms_at(&l->queries, thread);
    tr_widen(call->kernels, &call->q, tr_row(call, &call->q, pair, first), count, call->key_size, queries,
             (size_t)call->key_size);
    call->kernels->elu_plus_1(queries, queries, count * call->key_size);
    return queries;
}

void tr_chunk_add(const tr_linear_kind *l, int thread, const tr_chunk *chunk, float *state)
{
    const tr_call *call = l->call;
    float *across = tr_rooms_at(&l->across, thread);
    for (int first = 0; first < chunk->count; first += TR_BLOCK) {
        const int n = chunk->count - first < TR_BLOCK ? chunk->count - first : TR_BLOCK;
        call->kernels->attend_pack(&(tr_attend_pack){.n = n,
                                                     .head_size = call->key_size,
                                                     .from = TR_TYPE_F32,
                                                     .keys = chunk->keys + (size_t)first * (size_t)call->key_size,
                                                     .key_stride = (size_t)call->key_size,
                                                     .packed_keys = across});
        call->kernels->mix(&(tr_mix){.rows = call->key_size,
                                     .n = n,
                                     .width = l->width,
                                     .a = across,
                                     .a_stride = TR_BLOCK,
                                     .b = chunk->values + (size_t)first * (size_t)l->width,
                                     .b_stride = (size_t)l->width,
                                     .add = true,
                                     .y = state,
                                     .y_stride = (size_t)l->width});
    }
}

int tr_chunk_seen(const tr_call *call, const tr_chunk *chunk, int query)
{
    int seen = chunk->count;
    while (call->mask.causal && seen && chunk->at[seen - 1] > call->mask.position + query)
        seen--;
    return seen;
}

const float *tr_chunk_scores(const tr_linear_kind *l, int thread, const tr_chunk *chunk, const float *queries, int first,
                             int count)
{
    const tr_call *call = l->call;
    float *scores = tr_rooms_at(&l->scores, thread);
    const tr_matrix keys = {.type = TR_TYPE_F32, .outputs = chunk->count, .inputs = call->key_size, .data = chunk->keys};
    call->kernels->matmul(&(tr_matmul){.weight = &keys,
                                       .rows = count,
                                       .x = queries,
                                       .x_stride = (size_t)call->key_size,
                                       .activation = TR_ACTIVATION_NONE,
                                       .y = scores,
                                       .y_stride = TR_CHUNK},
                          0, chunk->count, tr_rooms_at(&l->scratch, thread));
    for (int i = 0; i < count; i++)
        for (int j = tr_chunk_seen(call, chunk, first + i); j < chunk->count; j++)
            scores[i * TR_CHUNK + j] = 0;
    return scores;
}

void tr_linear_write(const tr_linear_kind *l, const float *results, int64_t pair, int first, int count)
{
    const tr_call *call = l->call;
    tr_key_span seen = {0, 0};
    if (!tr_mask_run(call, pair, call->keys, &seen))
        seen.first = TR_ATTEND_ALL;
    for (int i = 0; i < count; i++) {
        const float *from = results + (size_t)i * (size_t)l->width;
        const float total = from[call->value_size], factor = total == 0 ? 0 : 1 / total;
        const bool nothing =
            seen.first == TR_ATTEND_ALL || (call->mask.causal && seen.first > call->mask.position + first + i);
        float *out = tr_row_out(call, pair, first + i);
        for (int d = 0; d < call->value_size; d++)
            out[d] = nothing ? 0 : from[d] * factor;
    }
}
