#include <string.h>

#include "attention/check.h"
#include "attention/mask.h"
#include "attention/sparse.h"

/* A call and the memory that its pattern needs. */
typedef struct plan {
    const tr_call *call;
    tr_sparse_buffers sparse;
} plan;

static void add_buffers(void *memory, tr_layout *layout)
{
    plan *p = memory;
    if (p->call->options.kind == TR_ATTENTION_BLOCK_SPARSE)
        tr_sparse_add_buffers(&p->sparse, p->call, 1, layout);
}

static void write_parts(const plan *p, int head, int query, bool *row)
{
    const int count = tr_sparse_parts(p->call, &p->sparse, 0, head, query, p->call->keys);
    const tr_attn_part *parts = tr_thread_buffer(&p->sparse.parts, 0);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < TR_BLOCK; j++)
            if (parts[i].positions >> j & 1)
                row[parts[i].block * TR_BLOCK + j] = true;
}

static void write_row(const plan *p, int head, int query, bool *row)
{
    const tr_key_span span = tr_mask_span(p->call, 0, query, 1);
    bool all = true;
    memset(row, 0, (size_t)p->call->keys * sizeof *row);
    if (p->call->options.kind == TR_ATTENTION_BLOCK_SPARSE)
        tr_sparse_same(p->call, query, query + 1, &all);
    if (all)
        memset(row + span.begin, true, (size_t)(span.end - span.begin) * sizeof *row);
    else
        write_parts(p, head, query, row);
}

tr_status tr_attention_pattern(const tr_attention_shape *shape, const tr_attention_options *options, int64_t position,
                               int64_t head, bool *allowed, tr_error *error)
{
    tr_call call;
    const tr_attention_mask mask = {.position = position};
    tr_status status = tr_check_call(&call, shape, options, &mask, error);
    if (status == TR_OK)
        status = tr_check_range("head", head, 0, call.heads - 1, error);
    if (status == TR_OK)
        status = tr_check_pointer("allowed", allowed, error);
    if (status == TR_OK)
        status = tr_check_product("queries, keys", (const int64_t[]){call.queries, call.keys}, 2, sizeof *allowed, error);
    if (status != TR_OK)
        return status;
    plan p = {.call = &call};
    tr_layout layout;
    status = tr_layout_allocate(&layout, add_buffers, &p, error);
    if (status != TR_OK)
        return status;
    for (int i = 0; i < call.queries; i++)
        write_row(&p, (int)head, i, allowed + (size_t)i * (size_t)call.keys);
    tr_layout_free(&layout);
    return TR_OK;
}
