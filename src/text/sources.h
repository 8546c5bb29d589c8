/* Sources that callers give as tokens, and what the network is given for them. */
#ifndef TR_TEXT_SOURCES_H
#define TR_TEXT_SOURCES_H

#include "text/pair.h"

/* Tokens around a source's own: of end and languages. */
int tr_source_marks(const tr_config *config, const tr_pair *pair);
int tr_source_marks_behind(const tr_config *config, const tr_pair *pair); /* those behind */

/* TR_ERROR_ARGUMENT names the source by its index. */
tr_status tr_source_check(const tr_config *config, const tr_pair *pair, const tr_tokens *source, size_t index,
                          tr_error *error);

/* Writes what the network is given for a source, at most its tokens, those around them, and one; returns how many ids. Where
 * models have no end mark it is left out, but for an empty source, which must hold something. */
int tr_source_lay_out(const tr_config *config, const tr_pair *pair, const tr_tokens *source, int32_t *to);

#endif
