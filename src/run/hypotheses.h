/* Hypotheses out of a worker's memory, as the caller gets them. */
#ifndef TR_RUN_HYPOTHESES_H
#define TR_RUN_HYPOTHESES_H

#include "decoding/decoding.h"

/* Copies count of them, at least one. */
tr_status tr_hypotheses_copy(const tr_search_result *found, int count, tr_hypotheses *copy, tr_error *error);
void tr_hypotheses_clear(tr_hypotheses *hypotheses);

#endif
