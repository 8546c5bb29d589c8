/* What the translations of texts begin with, as target tokens. */
#ifndef TR_API_PREFIX_H
#define TR_API_PREFIX_H

#include "util/buffer.h"
#include "util/error.h"

/* Appends the tokens of a prefix, at most most of them. TR_ERROR_ARGUMENT: it has more, or the vocabulary cannot spell it;
 * the message names the prefix. */
tr_status tr_prefix_encode(const tr_model *model, const char *prefix, int most, tr_ids *ids, tr_error *error);

#endif
