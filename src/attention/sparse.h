/* Block-sparse attention: which keys the queries of a block may attend to. */
#ifndef TR_ATTENTION_SPARSE_H
#define TR_ATTENTION_SPARSE_H

#include "attention/call.h"
#include "attention/layout.h"

typedef struct tr_sparse_buffers {
    tr_thread_buffers seen;  /* uint64_t: one bit for each block of keys */
    tr_thread_buffers parts; /* tr_attn_part [ceil(keys / 32)] */
} tr_sparse_buffers;

void tr_sparse_add_buffers(tr_sparse_buffers *buffers, const tr_call *call, int threads, tr_layout *layout);

/* Returns the end (at most `last`) of the queries from `first` on that attend to the same keys. *all: these are all keys. */
int tr_sparse_same(const tr_call *call, int first, int last, bool *all);

/* Writes the parts of the first `keys` keys that a query of a head attends to into the thread's buffer; returns their
 * number. */
int tr_sparse_parts(const tr_call *call, const tr_sparse_buffers *buffers, int thread, int head, int query, int keys);

#endif
