#include "attention/buffers.h"

void tr_buffers_add(tr_buffers *buffers, const char *name, const void *at, uint64_t count, size_t size, bool written)
{
    buffers->list[buffers->count++] = (struct tr_buffer){name, at, count * size, written};
}

static void add_mask(tr_buffers *buffers, const tr_call *call, const char *name, const void *at, const int64_t stride[3],
                     size_t size)
{
    const int64_t batch = call->pairs / call->heads;
    const int64_t extent =
        at ? (batch - 1) * stride[0] + (call->heads - 1) * stride[1] + (call->queries - 1) * stride[2] + call->keys : 0;
    tr_buffers_add(buffers, name, at, (uint64_t)extent, size, false);
}

void tr_buffers_add_call(tr_buffers *buffers, const tr_call *call)
{
    const tr_attention_mask *m = &call->mask;
    const tr_attention_options *o = &call->asked;
    const uint64_t batch = (uint64_t)(call->pairs / call->heads), keys = (uint64_t)call->keys;
    add_mask(buffers, call, "allowed", m->allowed, m->allowed_stride, sizeof *m->allowed);
    add_mask(buffers, call, "additive", m->additive, m->additive_stride, sizeof *m->additive);
    add_mask(buffers, call, "prior", m->prior, m->prior_stride, sizeof *m->prior);
    tr_buffers_add(buffers, "lengths", m->lengths, batch * (m->lengths_by_query ? (uint64_t)call->queries : 1),
                   sizeof *m->lengths, false);
    const bool projected = o->kind == TR_ATTENTION_LOW_RANK && o->rank;
    tr_buffers_add(buffers, "key_projection", projected ? o->key_projection : NULL, (uint64_t)o->rank * keys, sizeof(float),
                   false);
    tr_buffers_add(buffers, "value_projection", projected ? o->value_projection : NULL, (uint64_t)o->rank * keys,
                   sizeof(float), false);
}

static bool overlap(const struct tr_buffer *a, const struct tr_buffer *b)
{
    const uintptr_t first = (uintptr_t)a->at, second = (uintptr_t)b->at;
    return a->at && b->at && (first < second ? second - first < a->bytes : first - second < b->bytes);
}

tr_status tr_buffers_check(const tr_buffers *buffers, tr_error *error)
{
    for (int i = 0; i < buffers->count; i++)
        for (int j = 0; buffers->list[i].written && j < buffers->count; j++)
            if (i != j && overlap(&buffers->list[i], &buffers->list[j]))
                return tr_fail(error, TR_ERROR_ARGUMENT, "%s: overlaps %s", buffers->list[i].name, buffers->list[j].name);
    return TR_OK;
}
