/* Greedy search: a step takes the token with the greatest logit of each row, appends it, and stops at EOS. It writes no
 * logits to memory. Tokens that were chosen in another way (the best candidate, a sample) are appended by the same function.
 */
#ifndef TR_DECODING_GREEDY_H
#define TR_DECODING_GREEDY_H

#include "decoding/batch.h"
#include "decoding/rules.h"

/* All threads: finds the best token of each row of the step, by each thread's share of the outputs. */
void tr_greedy_argmax(tr_forward *fwd, const tr_batch *batch, const tr_search *s, const tr_forbidden *forbidden);

/* Thread 0, after a barrier: a row's best token; -1: none may come. TR_ERROR_NUMERIC: the network computed NaN. */
tr_status tr_greedy_token(const tr_workspace *ws, const tr_forbidden *forbidden, const tr_slot *slot, int row, int32_t *id,
                          tr_error *error);

/* Thread 0: continues the one live hypothesis of a beam with a token, or ends it: with EOS, or at a limit. */
void tr_greedy_append(const tr_search *s, const tr_hyp_memory *h, tr_slot *slot, tr_beam *beam, const tr_candidate *token);

#endif
