/* The loop guard: a sentence whose translation runs in a circle is searched again under constraints; should that not help,
 * what is repeated stays once and the rest is cut off. */
#ifndef TR_RUN_GUARD_H
#define TR_RUN_GUARD_H

#include "decoding/decoding.h"
#include "run/requests.h"

/* Constraints of the second search: what helped most on 59 development lines on which the default model loops, in chrF
 * against their references (n-grams of 2 to 4 and penalties of 1.1 to 1.5, alone and together). */
enum { TR_GUARD_NGRAM = 3 };
static const float tr_guard_penalty = 1.1F;

/* Whether the best hypothesis of a search that is done has a circle. */
bool tr_guard_trips(const tr_sequence *sequence);

/* Asks for another search: the constraints, and a limit by the source's length, since what babbles under constraints seldom
 * ends by itself. */
void tr_guard_constrain(tr_sequence *sequence, const tr_search_options *search, int min_length);

/* What is left of the first search, in case that the second does not help: the best hypothesis without its circle, but least
 * tokens if it has so many. */
tr_status tr_guard_keep(const tr_sequence *sequence, const tr_search_options *search, int least, tr_hypotheses *kept,
                        tr_error *error);

#endif
