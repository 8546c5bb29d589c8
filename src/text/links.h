/* Alignments of texts: the tokens of all their sentences one behind the other, where in the texts they are, and which are
 * linked. */
#ifndef TR_TEXT_LINKS_H
#define TR_TEXT_LINKS_H

#include "text/join.h"

/* Fills source and source_spans. */
tr_status tr_links_source(const tr_joining *joining, tr_result *result, tr_error *error);

/* The target's side of the translation of that rank, which the joiner has in hand: its tokens, a copy of joiner->spans, and
 * links with the source's tokens. On failure some may be made. */
tr_status tr_links_target(const tr_joining *joining, size_t rank, tr_tokens *target, tr_span **spans,
                          tr_alignment *alignment, tr_error *error);

#endif
