#include "attention/mask.h"

#include <math.h>
#include <string.h>

#include "util/numbers.h"

/* The offset of the row of a pair and a query in a mask's tensor. */
static size_t offset(const tr_call *call, const int64_t stride[3], int64_t pair, int query)
{
    return (size_t)(pair / call->heads * stride[0] + pair % call->heads * stride[1] + query * stride[2]);
}

/* y[n] += added[n], but -inf where either is -inf. */
static void add(float *y, const float *added, int n)
{
    for (int j = 0; j < n; j++)
        y[j] = y[j] == -INFINITY || added[j] == -INFINITY ? -INFINITY : y[j] + added[j];
}

void tr_mask_apply(const tr_call *call, int64_t pair, int query, tr_key_span keys, float *row)
{
    const tr_attention_mask *m = &call->mask;
    const int n = keys.end - keys.begin;
    float *y = row + keys.begin;
    if (m->additive)
        add(y, m->additive + offset(call, m->additive_stride, pair, query) + keys.begin, n);
    if (m->prior)
        add(y, m->prior + offset(call, m->prior_stride, pair, query) + keys.begin, n);
    if (!m->allowed)
        return;
    const bool *allowed = m->allowed + offset(call, m->allowed_stride, pair, query) + keys.begin;
    for (int j = 0; j < n; j++)
        y[j] = allowed[j] ? y[j] : -INFINITY;
}

/* ---------------------------------------------------------------------------------------------------------- positions */

static int keys_back(const tr_call *call)
{
    return call->options.kind == TR_ATTENTION_LOCAL ? (int)call->options.window : TR_ATTN_ALL;
}

static int keys_on(const tr_call *call)
{
    return call->mask.causal ? 0 : keys_back(call);
}

tr_key_span tr_mask_span(const tr_call *call, int64_t pair, int first, int count)
{
    const int keys = tr_mask_keys(call, pair);
    const int64_t at = call->mask.position + first;
    const int last = (int)tr_clamp_int64(at + count + keys_on(call), 0, keys);
    return (tr_key_span){(int)tr_clamp_int64(at - keys_back(call), 0, last), last};
}

/* --------------------------------------------------------------------------------------------------------------- bias */

/* Whether the masks must be combined to one bias for the kernel. */
static bool is_combined(const tr_attention_mask *m)
{
    return m->allowed || (m->additive && m->prior);
}

/* Whether all queries of a pair have the same row. */
static bool is_one_row(const tr_attention_mask *m)
{
    return !(m->allowed && m->allowed_stride[2]) && !(m->additive && m->additive_stride[2]) &&
           !(m->prior && m->prior_stride[2]);
}

int tr_mask_strip(const tr_call *call)
{
    return is_combined(&call->mask) && !is_one_row(&call->mask) ? TR_STRIP_COMBINED : TR_STRIP;
}

void tr_mask_add_buffers(tr_mask_buffers *buffers, const tr_call *call, int threads, tr_layout *layout)
{
    const tr_attention_mask *m = &call->mask;
    const uint64_t rows = is_one_row(m) ? 1 : TR_STRIP_COMBINED;
    if (m->lengths && m->lengths_by_query)
        buffers->limits = tr_layout_add_per_thread(layout, threads, TR_STRIP, sizeof(int32_t));
    if (is_combined(m))
        buffers->bias = tr_layout_add_per_thread(layout, threads, rows * (uint64_t)call->keys, sizeof(float));
}

static void set_bias(const tr_call *call, float *memory, int64_t pair, int first, tr_attn_prefill *op)
{
    const tr_attention_mask *m = &call->mask;
    const float *only = m->additive ? m->additive : m->prior;
    const int64_t *stride = m->additive ? m->additive_stride : m->prior_stride;
    if (!is_combined(m)) {
        op->bias = only ? only + offset(call, stride, pair, first) : NULL;
        op->bias_step = only ? (ptrdiff_t)stride[2] : 0;
        return;
    }
    tr_key_span span = tr_mask_span(call, pair, first, op->queries);
    span.begin &= ~(TR_BLOCK - 1); /* the kernel reads whole blocks */
    span.end = (int)tr_clamp_int64((span.end + TR_BLOCK - 1) & ~(TR_BLOCK - 1), 0, op->keys);
    const int rows = is_one_row(m) ? 1 : op->queries;
    for (int i = 0; i < rows; i++) {
        float *row = memory + (size_t)i * (size_t)call->keys;
        memset(row + span.begin, 0, (size_t)(span.end - span.begin) * sizeof *row);
        tr_mask_apply(call, pair, first + i, span, row);
    }
    op->bias = memory;
    op->bias_step = rows > 1 ? call->keys : 0;
}

void tr_mask_set(const tr_call *call, const tr_mask_buffers *buffers, int thread, int64_t pair, int first,
                 tr_attn_prefill *op)
{
    const tr_attention_mask *m = &call->mask;
    op->keys = tr_mask_keys(call, pair);
    op->position = (int)m->position + first;
    op->back = keys_back(call);
    op->on = keys_on(call);
    if (m->lengths && m->lengths_by_query) {
        int32_t *limits = tr_thread_buffer(&buffers->limits, thread);
        const int64_t *lengths = m->lengths + pair / call->heads * call->queries + first;
        for (int i = 0; i < op->queries; i++)
            limits[i] = (int32_t)lengths[i];
        op->limits = limits;
    }
    set_bias(call, is_combined(m) ? tr_thread_buffer(&buffers->bias, thread) : NULL, pair, first, op);
}

/* ---------------------------------------------------------------------------------------------- one mask for all queries */

bool tr_mask_run(const tr_call *call, int64_t pair, int end, tr_key_span *run)
{
    const tr_attention_mask *m = &call->mask;
    const int keys = tr_mask_keys(call, pair);
    end = tr_min_int(end, keys);
    if (!m->allowed) {
        run->end = end;
        return run->begin < end;
    }
    const bool *allowed = m->allowed + offset(call, m->allowed_stride, pair, 0);
    while (run->begin < end && !allowed[run->begin])
        run->begin++;
    run->end = run->begin;
    while (run->end < end && allowed[run->end])
        run->end++;
    return run->begin < run->end;
}
