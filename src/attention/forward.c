#include "attention/forward.h"

#include "attention/buffers.h"
#include "attention/check.h"

/* -------------------------------------------------------------------------------------------------------------- kinds */

static int64_t keys_seen(const tr_call *call)
{
    const tr_attention_options *o = &call->asked;
    int64_t seen = call->keys;
    switch (o->kind) {
    case TR_ATTENTION_EXACT: break;
    case TR_ATTENTION_LOCAL: seen = 2 * o->window + 1; break;
    case TR_ATTENTION_BLOCK_SPARSE: seen = (2 * o->local_blocks + 1 + o->random_blocks) * o->block + o->global_tokens; break;
    case TR_ATTENTION_LINEAR: seen = call->value_size; break;
    case TR_ATTENTION_LOW_RANK: seen = call->columns; break;
    }
    return seen < call->keys ? seen : call->keys;
}

double tr_call_work(const tr_call *call)
{
    const bool projects = call->asked.kind == TR_ATTENTION_LOW_RANK && call->asked.rank;
    const double rows = (double)call->queries + (projects || call->asked.kind == TR_ATTENTION_LINEAR ? call->keys : 0);
    return (double)call->pairs * rows * (double)keys_seen(call) * (call->key_size + call->value_size);
}

int tr_call_threads(const tr_call *call, double work)
{
    const int64_t least = 16; /* rows of a head that are worth a thread */
    return tr_phases_threads(call->asked.threads, work, call->pairs * ((call->queries + (int64_t)call->keys) / least + 1));
}

void tr_kind_lay_out(tr_kind_work *work, const tr_call *call, int threads, tr_room *room)
{
    if (call->asked.kind == TR_ATTENTION_LINEAR)
        tr_linear_kind_lay_out(&work->linear, call, threads, room);
    else
        tr_softmax_kind_lay_out(&work->softmax, call, threads, room);
}

void tr_kind_phases(const tr_kind_work *work, const tr_call *call, tr_phases *phases)
{
    if (call->asked.kind == TR_ATTENTION_LINEAR)
        tr_linear_kind_phases(&work->linear, phases);
    else
        tr_softmax_kind_phases(&work->softmax, phases);
}

/* ---------------------------------------------------------------------------------------------------------- arguments */

tr_status tr_check_projections(const tr_call *call, tr_error *error)
{
    if (call->asked.kind != TR_ATTENTION_LOW_RANK || call->asked.pool)
        return TR_OK;
    const tr_status status = tr_check_pointer("key_projection", call->asked.key_projection, error);
    return status == TR_OK ? tr_check_pointer("value_projection", call->asked.value_projection, error) : status;
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
    const uint64_t key_size = (uint64_t)call->key_size, value_size = (uint64_t)call->value_size;
    enum { WEIGHTS = 1 }; /* may be NULL */
    tr_buffers buffers = {0};
    tr_buffers_add(&buffers, "out", call->out, queries * value_size, sizeof(float), true);
    tr_buffers_add(&buffers, "weights", call->weights, queries * (uint64_t)call->columns, sizeof(float), true);
    tr_buffers_add(&buffers, "q", call->q.data, queries * key_size, size, false);
    tr_buffers_add(&buffers, "k", call->k.data, keys * key_size, size, false);
    tr_buffers_add(&buffers, "v", call->v.data, keys * value_size, size, false);
    for (int i = 0; i < buffers.count; i++)
        if (!buffers.list[i].at && i != WEIGHTS)
            return tr_check_pointer(buffers.list[i].name, NULL, error);
    tr_buffers_add_call(&buffers, call);
    return tr_buffers_check(&buffers, error);
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
    call->q = dense_rows(call, element, q, call->queries, call->key_size);
    call->k = dense_rows(call, element, k, call->keys, call->key_size);
    call->v = dense_rows(call, element, v, call->keys, call->value_size);
    call->out = out;
    call->out_strides = dense_rows(call, TR_ELEMENT_F32, out, call->queries, call->value_size).strides;
    call->weights = weights;
    status = check_tensors(call, element, error);
    return status == TR_OK ? tr_check_lengths(call, error) : status;
}

/* ---------------------------------------------------------------------------------------------------------- functions */

/* What is laid out for a call. */
typedef struct plan {
    const tr_call *call;
    int threads;
    tr_kind_work work;
} plan;

static void lay_out(void *memory, tr_room *room)
{
    plan *p = memory;
    tr_kind_lay_out(&p->work, p->call, p->threads, room);
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
    tr_room room;
    status = tr_room_make(&room, lay_out, &p, error);
    if (status != TR_OK)
        return status;
    tr_phases phases = {0};
    tr_kind_phases(&p.work, &call, &phases);
    status = tr_phases_run(&phases, p.threads, error);
    tr_room_free(&room);
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
    const size_t used = tr_room_measure(lay_out, &p);
    if (used == SIZE_MAX)
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: more than can be addressed is needed");
    *bytes = (int64_t)used;
    return TR_OK;
}
