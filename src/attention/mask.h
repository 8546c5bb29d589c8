/* A mask as the kernels take it: ranges of keys by position, a number of keys for each query, and one bias. */
#ifndef TR_ATTENTION_MASK_H
#define TR_ATTENTION_MASK_H

#include "attention/call.h"
#include "attention/room.h"

enum { TR_STRIP = 96, TR_STRIP_COMBINED = 24 }; /* queries of a call of the kernel; those whose bias is put together first */

/* What each thread needs for it. */
typedef struct tr_mask_rooms {
    tr_rooms limits; /* int32_t [TR_STRIP] */
    tr_rooms bias;   /* float [TR_STRIP_COMBINED or 1, keys] */
} tr_mask_rooms;

void tr_mask_lay_out(tr_mask_rooms *rooms, const tr_call *call, int threads, tr_room *room);

/* Queries of a strip at most. */
int tr_mask_strip(const tr_call *call);

/* Keys that count for all queries of a pair's batch. */
static inline int tr_mask_keys(const tr_call *call, int64_t pair)
{
    const tr_attention_mask *m = &call->mask;
    return m->lengths && !m->lengths_by_query ? (int)m->lengths[pair / call->heads] : call->keys;
}

/* Keys that some query may attend to by position, of all that there are: [first, last). */
typedef struct tr_key_span {
    int begin, end;
} tr_key_span;

/* Of queries [first, first + count). */
tr_key_span tr_mask_span(const tr_call *call, int64_t pair, int first, int count);

/* Fills keys, position, back, on, limits and bias of op for queries [first, first + op->queries), a strip at most. */
void tr_mask_set(const tr_call *call, const tr_mask_rooms *rooms, int thread, int64_t pair, int first, tr_attn_prefill *op);

/* Where the mask is the same for all queries: the next keys from *first on, before last, that they may attend to, one behind
 * the other. False: there are none. */
bool tr_mask_run(const tr_call *call, int64_t pair, int last, tr_key_span *run);

/* row[key] of a query for the keys of a span: what is given is added, -inf where something forbids. */
void tr_mask_apply(const tr_call *call, int64_t pair, int query, tr_key_span keys, float *row);

#endif
