/* Results: what a text has become, with all that was asked for beside it. */
#ifndef TR_API_RESULT_H
#define TR_API_RESULT_H

#include "util/error.h"

/* Copies from, and all that it owns. */
tr_status tr_result_copy(const tr_result *from, tr_result *to, tr_error *error);
/* Frees what a result owns. */
void tr_result_clear(tr_result *result);
/* Bytes that a copy takes. */
size_t tr_result_bytes(const tr_result *result);

#endif
