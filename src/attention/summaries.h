/* Low-rank attention's summaries: rows that stand for keys and values, so that queries attend to them in the exact way. */
#ifndef TR_ATTENTION_SUMMARIES_H
#define TR_ATTENTION_SUMMARIES_H

#include "attention/call.h"
#include "attention/room.h"

/* What each thread needs to make a block of them. */
typedef struct tr_summary_rooms {
    tr_rooms keys, values; /* float [32, key_size], [32, value_size] */
    tr_rooms widened;      /* float [SUMMED, the greater of both] */
} tr_summary_rooms;

void tr_summaries_lay_out(tr_summary_rooms *rooms, const tr_call *call, int threads, tr_room *room);

/* Makes summaries [first, first + count), at most 32, of a pair; bias[i]: -inf where there is nothing to attend to, else 0.
 */
void tr_summaries_make(const tr_call *call, const tr_summary_rooms *rooms, int thread, int64_t pair, int first, int count,
                       float *bias);

#endif
