#include "attention/linear.h"

#include <string.h>

#include "attention/mask.h"

/* y[count, key_size] = f of rows of q or k. */
static void read_features(const tr_call *call, const tr_rows *rows, const void *from, int count, float *y)
{
    const int size = call->key_size;
    if (rows->element != TR_ELEMENT_F32) {
        tr_widen(call->kernels, rows, from, count, size, y, (size_t)size);
        call->kernels->elu_plus_1(y, y, count * size);
        return;
    }
    const bool dense = rows->strides.row == (size_t)size;
    for (int i = 0; i < (dense ? 1 : count); i++)
        call->kernels->elu_plus_1(y + (size_t)i * (size_t)size, (const float *)from + (size_t)i * rows->strides.row,
                                  dense ? count * size : size);
}

/* Copies a run's values behind those that are there; what pads them is 0. */
static void read_values(const tr_linear_kind *l, int64_t pair, tr_key_span run, float *values)
{
    const tr_call *call = l->call;
    const size_t width = (size_t)l->width, size = (size_t)call->value_size;
    const int n = run.end - run.begin;
    tr_widen(call->kernels, &call->v, tr_row(call, &call->v, pair, run.begin), n, call->value_size, values, width);
    for (int i = 0; i < n; i++)
        memset(values + (size_t)i * width + size, 0, (width - size) * sizeof *values);
}

tr_key_chunk tr_key_chunk_read(const tr_linear_kind *l, int thread, int64_t pair, int first)
{
    const tr_call *call = l->call;
    float *values = tr_rooms_at(&l->values, thread);
    tr_key_chunk chunk = {0, tr_rooms_at(&l->at, thread), tr_rooms_at(&l->keys, thread), values, (size_t)l->width};
    const int last = call->keys - first < TR_KEY_CHUNK ? call->keys : first + TR_KEY_CHUNK;
    const bool in_place = call->v.element == TR_ELEMENT_F32 && l->width == call->value_size && !call->mask.allowed;
    for (tr_key_span run = {first, first}; tr_mask_run(call, pair, last, &run); run.begin = run.end) {
        const int n = run.end - run.begin;
        read_features(call, &call->k, tr_row(call, &call->k, pair, run.begin), n,
                      chunk.keys + (size_t)chunk.count * (size_t)call->key_size);
        if (in_place)
            chunk.values = tr_row(call, &call->v, pair, run.begin), chunk.value_stride = call->v.strides.row;
        else
            read_values(l, pair, run, values + (size_t)chunk.count * (size_t)l->width);
        for (int i = 0; i < n; i++)
            chunk.at[chunk.count++] = run.begin + i;
    }
    return chunk;
}

const float *tr_key_chunk_queries(const tr_linear_kind *l, int thread, int64_t pair, int first, int count)
{
    float *queries = tr_rooms_at(&l->queries, thread);
    read_features(l->call, &l->call->q, tr_row(l->call, &l->call->q, pair, first), count, queries);
    return queries;
}

/* weights += rows of keys. */
static void add_weights(const tr_call *call, const float *keys, int n, float *weights)
{
    float ones[TR_BLOCK];
    for (int i = 0; i < n; i++)
        ones[i] = 1;
    call->kernels->gemm_nn(&(tr_gemm_nn){.rows = 1,
                                         .n = n,
                                         .width = call->key_size,
                                         .a = ones,
                                         .a_stride = TR_BLOCK,
                                         .b = keys,
                                         .b_stride = (size_t)call->key_size,
                                         .add = true,
                                         .y = weights,
                                         .y_stride = (size_t)call->key_size});
}

void tr_key_chunk_add(const tr_linear_kind *l, int thread, const tr_key_chunk *chunk, float *state)
{
    const tr_call *call = l->call;
    float *across = tr_rooms_at(&l->across, thread);
    for (int first = 0; first < chunk->count; first += TR_BLOCK) {
        const int n = chunk->count - first < TR_BLOCK ? chunk->count - first : TR_BLOCK;
        const float *keys = chunk->keys + (size_t)first * (size_t)call->key_size;
        call->kernels->attn_pack(&(tr_attn_pack){.n = n,
                                                 .head_size = call->key_size,
                                                 .from = TR_TYPE_F32,
                                                 .keys = keys,
                                                 .key_stride = (size_t)call->key_size,
                                                 .packed_keys = across});
        call->kernels->gemm_nn(&(tr_gemm_nn){.rows = call->key_size,
                                             .n = n,
                                             .width = l->width,
                                             .a = across,
                                             .a_stride = TR_BLOCK,
                                             .b = chunk->values + (size_t)first * chunk->value_stride,
                                             .b_stride = chunk->value_stride,
                                             .add = true,
                                             .y = state,
                                             .y_stride = (size_t)l->width});
        add_weights(call, keys, n, state + l->weights);
    }
}

void tr_linear_apply(const tr_linear_kind *l, int thread, const float *state, const float *queries, int count)
{
    const tr_call *call = l->call;
    const tr_matrix weights = {.type = TR_TYPE_F32, .outputs = 1, .inputs = call->key_size, .data = state + l->weights};
    call->kernels->gemm_nn(&(tr_gemm_nn){.rows = count,
                                         .n = call->key_size,
                                         .width = l->width,
                                         .a = queries,
                                         .a_stride = (size_t)call->key_size,
                                         .b = state,
                                         .b_stride = (size_t)l->width,
                                         .y = tr_rooms_at(&l->results, thread),
                                         .y_stride = (size_t)l->width});
    call->kernels->matmul(&(tr_matmul){.weight = &weights,
                                       .rows = count,
                                       .x = queries,
                                       .x_stride = (size_t)call->key_size,
                                       .activation = TR_ACTIVATION_NONE,
                                       .y = tr_rooms_at(&l->totals, thread),
                                       .y_stride = 1},
                          0, 1, tr_rooms_at(&l->scratch, thread));
}

int tr_key_chunk_seen(const tr_call *call, const tr_key_chunk *chunk, int query)
{
    int seen = chunk->count;
    while (call->mask.causal && seen && chunk->at[seen - 1] > call->mask.position + query)
        seen--;
    return seen;
}

const float *tr_key_chunk_scores(const tr_linear_kind *l, int thread, const tr_key_chunk *chunk, const float *queries,
                                 int first, int count)
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
                                       .y_stride = TR_KEY_CHUNK},
                          0, chunk->count, tr_rooms_at(&l->scratch, thread));
    for (int i = 0; i < count; i++)
        for (int j = tr_key_chunk_seen(call, chunk, first + i); j < chunk->count; j++)
            scores[i * TR_KEY_CHUNK + j] = 0;
    return scores;
}

/* The first key that some query of a pair may attend to. */
static int first_key(const tr_call *call, int64_t pair)
{
    tr_key_span run = {0, 0};
    return tr_mask_run(call, pair, call->keys, &run) ? run.begin : TR_ATTN_ALL;
}

void tr_linear_write(const tr_linear_kind *l, int thread, int64_t pair, int first, int count)
{
    const tr_call *call = l->call;
    const float *results = tr_rooms_at(&l->results, thread), *totals = tr_rooms_at(&l->totals, thread);
    const int key = first_key(call, pair);
    for (int i = 0; i < count; i++) {
        const float *from = results + (size_t)i * (size_t)l->width;
        const float factor = totals[i] == 0 ? 0 : 1 / totals[i];
        float *out = tr_row_out(call, pair, first + i);
        if (key == TR_ATTN_ALL || (call->mask.causal && key > call->mask.position + first + i)) {
            memset(out, 0, (size_t)call->value_size * sizeof *out);
            continue;
        }
        for (int d = 0; d < call->value_size; d++)
            out[d] = from[d] * factor;
    }
}
