/* Texts as tokens. */
#ifndef TR_API_TOKENS_H
#define TR_API_TOKENS_H

#include "api/model.h"
#include "util/buffer.h"

/* The tokens of a text of either side, and where in it they are. before: an id in front of them with an empty span; -1:
 * none. *flags may get TR_FLAG_INVALID_UTF8. Tokens and spans are to be freed; on failure there are none. */
tr_status tr_text_tokens(const tr_model *model, bool target, const char *text, size_t size, int32_t before,
                         tr_tokens *tokens, tr_span **spans, unsigned *flags, tr_error *error);

/* Appends the target tokens of a prefix of a translation. TR_ERROR_ARGUMENT: they are more than limit, or the vocabulary has
 * none for a part of it; the message names the prefix. */
tr_status tr_prefix_tokens(const tr_model *model, const char *prefix, int limit, tr_ids *ids, tr_error *error);

/* Lists that a caller gives as pointers and counts, for free(); the ids are the caller's. NULL: out of memory. */
tr_tokens *tr_token_lists(const int32_t *const *ids, const size_t *counts, size_t count);

#endif
