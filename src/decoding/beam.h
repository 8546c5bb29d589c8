/* Beam search, step by step as Hugging Face's generate has it (transformers 5, GenerationMixin._beam_search), so that both
 * find the same hypotheses; and alternatives, CTranslate2's return_alternatives. Thread 0 alone calls these functions, after
 * tr_candidates_find. */
#ifndef TR_DECODING_BEAM_H
#define TR_DECODING_BEAM_H

#include "decoding/candidates.h"

/* Of the best 2 * width continuations of all hypotheses of a beam: those among the first `width` that end are finished, and
 * the first `width` of the others are the live hypotheses of the next step. */
tr_status tr_beam_advance(const tr_search *s, const tr_hyp_memory *h, const tr_candidates *c, tr_slot *slot, tr_beam *beam,
                          tr_error *error);

/* The first free token of a search for alternatives: the best candidates of the one live hypothesis begin a beam each. */
tr_status tr_alternatives_begin(const tr_search *s, const tr_hyp_memory *h, const tr_candidates *c, tr_slot *slot,
                                tr_error *error);

#endif
