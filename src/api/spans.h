/* Texts as tokens, with where in them each is. */
#ifndef TR_API_SPANS_H
#define TR_API_SPANS_H

#include "api/model.h"

/* The tokens of a text of either side, and their spans. before: an id in front of them, which is of no text; -1: none.
 * *flags may get TR_FLAG_INVALID_UTF8. Tokens and spans are to be freed; on failure there are none. */
tr_status tr_text_tokens(const tr_model *model, bool target, const char *text, size_t size, int32_t before,
                         tr_tokens *tokens, tr_span **spans, unsigned *flags, tr_error *error);

#endif
