#include "attention/linear.h"

#include <string.h>

#include "attention/mask.h"

/* y[count, d_k] = f of rows of q or k. */
static void read_features(const tr_call *call, const tr_rows *rows, const void *from, int count, float *y)
{
    const int size = call->d_k;
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

/* Copies the values of a run of keys to values [n, width], padded with zeros. */
static void read_values(const tr_linear_kind *l, int64_t pair, tr_key_span run, float *values)
{
    const tr_call *call = l->call;
    const size_t width = (size_t)l->width, size = (size_t)call->d_v;
    const int n = run.end - run.begin;
    tr_widen(call->kernels, &call->v, tr_row(call, &call->v, pair, run.begin), n, call->d_v, values, width);
    for (int i = 0; i < n; i++)
        memset(values + (size_t)i * width + size, 0, (width - size) * sizeof *values);
}

tr_key_chunk tr_key_chunk_read(const tr_linear_kind *l, int thread, int64_t pair, int first)
{
    const tr_call *call = l->call;
    float *values = tr_thread_buffer(&l->values, thread);
    tr_key_chunk chunk = {0, tr_thread_buffer(&l->at, thread), tr_thread_buffer(&l->keys, thread), values, (size_t)l->width};
    const int last = call->keys - first < TR_KEY_CHUNK ? call->keys : first + TR_KEY_CHUNK;
    const bool in_place = call->v.element == TR_ELEMENT_F32 && l->width == call->d_v && !call->mask.allowed;
    for (tr_key_span run = {first, first}; tr_mask_run(call, pair, last, &run); run.begin = run.end) {
        const int n = run.end - run.begin;
        read_features(call, &call->k, tr_row(call, &call->k, pair, run.begin), n,
                      chunk.keys + (size_t)chunk.count * (size_t)call->d_k);
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
    float *queries = tr_thread_buffer(&l->queries, thread);
    read_features(l->call, &l->call->q, tr_row(l->call, &l->call->q, pair, first), count, queries);
    return queries;
}

/* weights [d_k] += the sum of n keys. */
static void add_weights(const tr_call *call, const float *keys, int n, float *weights)
{
    float ones[TR_BLOCK];
    for (int i = 0; i < n; i++)
        ones[i] = 1;
    call->kernels->gemm_nn(&(tr_gemm_nn){.rows = 1,
                                         .n = n,
                                         .width = call->d_k,
                                         .a = ones,
                                         .a_stride = TR_BLOCK,
                                         .b = keys,
                                         .b_stride = (size_t)call->d_k,
                                         .add = true,
                                         .y = weights,
                                         .y_stride = (size_t)call->d_k});
}

void tr_key_chunk_add(const tr_linear_kind *l, int thread, const tr_key_chunk *chunk, float *state)
{
    const tr_call *call = l->call;
    float *keys_transposed = tr_thread_buffer(&l->keys_transposed, thread);
    for (int first = 0; first < chunk->count; first += TR_BLOCK) {
        const int n = chunk->count - first < TR_BLOCK ? chunk->count - first : TR_BLOCK;
        const float *keys = chunk->keys + (size_t)first * (size_t)call->d_k;
        call->kernels->attn_pack(&(tr_attn_pack){.n = n,
                                                 .head_size = call->d_k,
                                                 .from = TR_TYPE_F32,
                                                 .keys = keys,
                                                 .key_stride = (size_t)call->d_k,
                                                 .packed_keys = keys_transposed});
        call->kernels->gemm_nn(&(tr_gemm_nn){.rows = call->d_k,
                                             .n = n,
                                             .width = l->width,
                                             .a = keys_transposed,
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
    const tr_matrix weights = {.type = TR_TYPE_F32, .outputs = 1, .inputs = call->d_k, .data = state + l->weights};
    call->kernels->gemm_nn(&(tr_gemm_nn){.rows = count,
                                         .n = call->d_k,
                                         .width = l->width,
                                         .a = queries,
                                         .a_stride = (size_t)call->d_k,
                                         .b = state,
                                         .b_stride = (size_t)l->width,
                                         .y = tr_thread_buffer(&l->results, thread),
                                         .y_stride = (size_t)l->width});
    call->kernels->matmul(&(tr_matmul){.weight = &weights,
                                       .rows = count,
                                       .x = queries,
                                       .x_stride = (size_t)call->d_k,
                                       .activation = TR_ACTIVATION_NONE,
                                       .y = tr_thread_buffer(&l->totals, thread),
                                       .y_stride = 1},
                          0, 1, tr_thread_buffer(&l->scratch, thread));
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
    float *scores = tr_thread_buffer(&l->scores, thread);
    const tr_matrix keys = {.type = TR_TYPE_F32, .outputs = chunk->count, .inputs = call->d_k, .data = chunk->keys};
    call->kernels->matmul(&(tr_matmul){.weight = &keys,
                                       .rows = count,
                                       .x = queries,
                                       .x_stride = (size_t)call->d_k,
                                       .activation = TR_ACTIVATION_NONE,
                                       .y = scores,
                                       .y_stride = TR_KEY_CHUNK},
                          0, chunk->count, tr_thread_buffer(&l->scratch, thread));
    for (int i = 0; i < count; i++)
        for (int j = tr_key_chunk_seen(call, chunk, first + i); j < chunk->count; j++)
            scores[i * TR_KEY_CHUNK + j] = 0;
    return scores;
}

/* The first key that is not masked, or TR_ATTN_ALL if all are. */
static int first_key(const tr_call *call, int64_t pair)
{
    tr_key_span run = {0, 0};
    return tr_mask_run(call, pair, call->keys, &run) ? run.begin : TR_ATTN_ALL;
}

void tr_linear_write(const tr_linear_kind *l, int thread, int64_t pair, int first, int count)
{
    const tr_call *call = l->call;
    const float *results = tr_thread_buffer(&l->results, thread), *totals = tr_thread_buffer(&l->totals, thread);
    const int key = first_key(call, pair);
    for (int i = 0; i < count; i++) {
        const float *from = results + (size_t)i * (size_t)l->width;
        const float factor = totals[i] == 0 ? 0 : 1 / totals[i];
        float *out = tr_row_out(call, pair, first + i);
        if (key == TR_ATTN_ALL || (call->mask.causal && key > call->mask.position + first + i)) {
            memset(out, 0, (size_t)call->d_v * sizeof *out);
            continue;
        }
        for (int d = 0; d < call->d_v; d++)
            out[d] = from[d] * factor;
    }
}
