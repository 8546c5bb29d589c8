/* Forced decoding: the log-probabilities of given targets, and the attention weights of the model's heads on the way. */
#ifndef TR_DECODING_FORCED_H
#define TR_DECODING_FORCED_H

#include "decoding/decoding.h"

/* Makes the memory for forced decoding; before the first call. Another call does nothing. */
tr_status tr_worker_prepare_forced(tr_worker *worker, tr_error *error);

/* Scores all sentences of the feed; each has a tr_forced, and its fields for targets are not used. Of the options only rows
 * and start are used. Shortlists and forbidden tokens play no part: probabilities are those among all tokens, as in
 * training. Threads, errors and memory as in tr_decode. */
tr_status tr_decode_forced(tr_worker *worker, int thread, const tr_decode_options *options,
                           const tr_decode_callbacks *callbacks, tr_error *error);

#endif
