#include "attention/forward.h"

#include <string.h>

#include "attention/check.h"

/* -------------------------------------------------------------------------------------------------------------- kinds */

static int64_t keys_seen(const tr_call *call)
{
    const tr_attention_options *o = &call->options;
    int64_t seen = call->keys;
    switch (o->kind) {
    case TR_ATTENTION_EXACT: break;
    case TR_ATTENTION_LOCAL: seen = 2 * o->window + 1; break;
    case TR_ATTENTION_BLOCK_SPARSE: seen = (2 * o->local_blocks + 1 + o->random_blocks) * o->block + o->global_tokens; break;
    case TR_ATTENTION_LINEAR: seen = call->d_v; break;
    case TR_ATTENTION_LOW_RANK: seen = call->columns; break;
    }
    return seen < call->keys ? seen : call->keys;
}

double tr_call_work(const tr_call *call)
{
    const bool projects = call->options.kind == TR_ATTENTION_LOW_RANK && call->options.rank;
    const double rows = (double)call->queries + (projects || call->options.kind == TR_ATTENTION_LINEAR ? call->keys : 0);
    return (double)call->pairs * rows * (double)keys_seen(call) * (call->d_k + call->d_v);
}

int tr_call_threads(const tr_call *call, double work)
{
    const int64_t min_rows = 16; /* of a head: fewer are not worth a thread */
    return tr_phases_threads(call->options.threads, work,
                             call->pairs * ((call->queries + (int64_t)call->keys) / min_rows + 1));
}

void tr_kind_add_buffers(tr_kind_work *work, const tr_call *call, int threads, tr_layout *layout)
{
    if (call->options.kind == TR_ATTENTION_LINEAR)
        tr_linear_kind_add_buffers(&work->linear, call, threads, layout);
    else
        tr_softmax_kind_add_buffers(&work->softmax, call, threads, layout);
}

void tr_kind_phases(const tr_kind_work *work, const tr_call *call, tr_phases *phases)
{
    if (call->options.kind == TR_ATTENTION_LINEAR)
        tr_linear_kind_phases(&work->linear, phases);
    else
        tr_softmax_kind_phases(&work->softmax, phases);
}

/* ---------------------------------------------------------------------------------------------------------- arguments */

tr_status tr_check_projections(const tr_call *call, tr_error *error)
{
    if (call->options.kind != TR_ATTENTION_LOW_RANK || call->options.pool)
        return TR_OK;
    const tr_status status = tr_check_pointer("key_projection", call->options.key_projection, error);
    return status == TR_OK ? tr_check_pointer("value_projection", call->options.value_projection, error) : status;
}

static tr_rows dense_rows(const tr_call *call, tr_element element, const void *data, int length, int size)
{
    const size_t head = (size_t)length * (size_t)size;
    return (tr_rows){element, data, {(size_t)call->heads * head, head, (size_t)size}};
}

static tr_status check_tensors(const tr_call *call, tr_element element, tr_error *error)
{
    const size_t size = tr_element_size(element);
    const uint64_t pairs = (uint64_t)call->pairs, queries = pairs * (uint64_t)call->queries,
                   keys = pairs * (uint64_t)call->keys;
    const uint64_t d_k = (uint64_t)call->d_k, d_v = (uint64_t)call->d_v;
    tr_tensors tensors = {0};
    tr_tensors_add(&tensors, "out", call->out, queries * d_v, sizeof(float), true);
    tr_tensors_add(&tensors, "weights", call->weights, queries * (uint64_t)call->columns, sizeof(float), true);
    tr_tensors_add(&tensors, "q", call->q.data, queries * d_k, size, false);
    tr_tensors_add(&tensors, "k", call->k.data, keys * d_k, size, false);
    tr_tensors_add(&tensors, "v", call->v.data, keys * d_v, size, false);
    for (int i = 0; i < tensors.count; i++)
        if (!tensors.list[i].at && strcmp(tensors.list[i].name, "weights") != 0)
            return tr_check_pointer(tensors.list[i].name, NULL, error);
    tr_tensors_add_call(&tensors, call);
    return tr_tensors_check(&tensors, error);
}

static tr_status set_tensors(tr_call *call, tr_element element, const void *q, const void *k, const void *v, float *out,
                             float *weights, tr_error *error)
{
    tr_status status = tr_check_element(element, error);
    if (status == TR_OK)
        status = tr_check_projections(call, error);
    if (status == TR_OK && weights)
        status = tr_check_product("weights", (const int64_t[]){call->pairs, call->queries, call->columns}, 3, sizeof(float),
                                  error);
    if (status != TR_OK)
        return status;
    call->q = dense_rows(call, element, q, call->queries, call->d_k);
    call->k = dense_rows(call, element, k, call->keys, call->d_k);
    call->v = dense_rows(call, element, v, call->keys, call->d_v);
    call->out = out;
    call->out_strides = dense_rows(call, TR_ELEMENT_F32, out, call->queries, call->d_v).strides;
    call->weights = weights;
    status = check_tensors(call, element, error);
    return status == TR_OK ? tr_check_lengths(call, error) : status;
}

/* ---------------------------------------------------------------------------------------------------------- functions */

/* A call, the memory it needs, and its threads. */
typedef struct plan {
    const tr_call *call;
    int threads;
    tr_kind_work work;
} plan;

static void add_buffers(void *memory, tr_layout *layout)
{
    plan *p = memory;
    tr_kind_add_buffers(&p->work, p->call, p->threads, layout);
}

tr_status tr_attention_forward(const tr_attention_shape *shape, const tr_attention_options *options,
                               const tr_attention_mask *mask, tr_element element, const void *q, const void *k,
                               const void *v, float *out, float *weights, tr_error *error)
{
    tr_call call;
    tr_status status = tr_check_call(&call, shape, options, mask, error);
    if (status == TR_OK)
        status = set_tensors(&call, element, q, k, v, out, weights, error);
    if (status != TR_OK)
        return status;
    plan p = {.call = &call, .threads = tr_call_threads(&call, tr_call_work(&call))};
    tr_layout layout;
    status = tr_layout_allocate(&layout, add_buffers, &p, error);
    if (status != TR_OK)
        return status;
    tr_phases phases = {0};
    tr_kind_phases(&p.work, &call, &phases);
    status = tr_phases_run(&phases, p.threads, call.backend, error);
    tr_layout_free(&layout);
    return status;
}

int64_t tr_attention_columns(const tr_attention_shape *shape, const tr_attention_options *options)
{
    tr_call call;
    return tr_check_call(&call, shape, options, NULL, NULL) == TR_OK ? call.columns : 0;
}

tr_status tr_attention_memory(const tr_attention_shape *shape, const tr_attention_options *options,
                              const tr_attention_mask *mask, int64_t *bytes, tr_error *error)
{
    tr_call call;
    tr_status status = tr_check_pointer("bytes", bytes, error);
    if (status == TR_OK)
        status = tr_check_call(&call, shape, options, mask, error);
    if (status != TR_OK)
        return status;
    plan p = {.call = &call, .threads = tr_call_threads(&call, tr_call_work(&call))};
    const size_t used = tr_layout_measure(add_buffers, &p);
    if (used == SIZE_MAX)
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: more than can be addressed is needed");
    *bytes = (int64_t)used;
    return TR_OK;
}
