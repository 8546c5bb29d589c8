/* Low-rank attention compresses keys and values to fewer rows (projections or means), which queries attend to in the exact
 * way. */
#ifndef TR_ATTENTION_LOW_RANK_H
#define TR_ATTENTION_LOW_RANK_H

#include "attention/call.h"
#include "attention/layout.h"

typedef struct tr_low_rank_buffers {
    tr_thread_buffers keys, values; /* float [32, d_k], [32, d_v]: compressed rows */
    tr_thread_buffers widened;      /* float [WIDENED_ROWS, max(d_k, d_v)] */
} tr_low_rank_buffers;

void tr_low_rank_add_buffers(tr_low_rank_buffers *buffers, const tr_call *call, int threads, tr_layout *layout);

/* Writes the compressed keys and values first .. first + count - 1 of a pair, count <= 32, into the thread's buffers.
 * bias[i]: 0, or -inf if there is nothing to attend to. */
void tr_low_rank_compress(const tr_call *call, const tr_low_rank_buffers *buffers, int thread, int64_t pair, int first,
                          int count, float *bias);

#endif
