/* Forced decoding: the log-probabilities of given targets, and the attention weights of the model's heads on the way. */
#ifndef TR_DECODING_FORCED_H
#define TR_DECODING_FORCED_H

#include "decoding/decoding.h"

/* Makes the memory for forced decoding; before the first call. Another call does nothing. */
tr_status tr_worker_prepare_forced(tr_worker *worker, tr_error *error);

/* The phases of tr_decode's loop. Thread 0: takes the first sentences of the feed. */
tr_status tr_forced_prepare(tr_worker *worker);
/* All threads: the decoder on the targets of a chunk. */
void tr_forced_decode(tr_worker *worker, int thread);
/* Thread 0: finishes a phase and prepares the next. */
tr_status tr_forced_finish(tr_worker *worker);

#endif
