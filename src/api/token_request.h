/* Sources that a caller gives as tokens, as requests. */
#ifndef TR_API_TOKEN_REQUEST_H
#define TR_API_TOKEN_REQUEST_H

#include "text/language_pair.h"
#include "text/request.h"

/* prefix: NULL, or the ids that the target begins with. index: of the source, for the message. */
tr_status tr_token_request_check(const tr_language_pair *pair, const tr_tokens *source, const tr_tokens *prefix,
                                 size_t index, int max_length, tr_error *error);

/* How many ids the request has at most. */
size_t tr_token_request_ids(const tr_language_pair *pair, const tr_tokens *source);

/* Lays out the request's source in ids. It uses the prefix as it is. */
void tr_token_request_make(const tr_language_pair *pair, const tr_tokens *source, const tr_tokens *prefix, int32_t *ids,
                           tr_request *request);

/* Takes what was found, for tr_hypotheses_clear. A model that was trained without EOS on the source got one for an empty
 * source; its translation is empty. */
tr_hypotheses tr_token_request_take(const tr_config *config, tr_request *request);

#endif
