/* Translates masks to what the kernels take: a range of keys by position, a number of keys for each query, and one bias. */
#ifndef TR_ATTENTION_MASK_H
#define TR_ATTENTION_MASK_H

#include "attention/call.h"
#include "attention/layout.h"

/* A strip: the queries of one call of the kernel. TR_STRIP_COMBINED: if their bias must be combined from several masks. */
enum { TR_STRIP = 96, TR_STRIP_COMBINED = 24 };

typedef struct tr_mask_buffers {
    tr_thread_buffers limits; /* int32_t [TR_STRIP] */
    tr_thread_buffers bias;   /* float [TR_STRIP_COMBINED or 1, keys] */
} tr_mask_buffers;

void tr_mask_add_buffers(tr_mask_buffers *buffers, const tr_call *call, int threads, tr_layout *layout);

/* Maximum queries of a strip. */
int tr_mask_strip(const tr_call *call);

/* Keys that count for all queries of a pair, by lengths. */
static inline int tr_mask_keys(const tr_call *call, int64_t pair)
{
    const tr_attention_mask *m = &call->mask;
    return m->lengths && !m->lengths_by_query ? (int)m->lengths[pair / call->heads] : call->keys;
}

/* A range of keys: begin <= key < end. */
typedef struct tr_key_span {
    int begin, end;
} tr_key_span;

/* The keys that some of the queries first .. first + count - 1 may attend to, by position and lengths. */
tr_key_span tr_mask_span(const tr_call *call, int64_t pair, int first, int count);

/* Sets keys, position, back, on, limits and bias of op for the queries from `first` on; op->queries is at most a strip. */
void tr_mask_set(const tr_call *call, const tr_mask_buffers *buffers, int thread, int64_t pair, int first,
                 tr_attn_prefill *op);

/* For masks that are the same for all queries: sets *run to the next contiguous keys, from run->begin on and before `end`,
 * that may be attended to. Returns false if there are none. */
bool tr_mask_run(const tr_call *call, int64_t pair, int end, tr_key_span *run);

/* Adds a query's biases to row[key] for the keys of a span; -inf where a mask forbids. */
void tr_mask_apply(const tr_call *call, int64_t pair, int query, tr_key_span keys, float *row);

#endif
