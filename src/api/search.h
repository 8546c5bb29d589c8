/* What a caller may ask of the search. */
#ifndef TR_API_SEARCH_H
#define TR_API_SEARCH_H

#include "model/config.h"

/* TR_ERROR_ARGUMENT names the field that is out of range, or goes with another badly. */
tr_status tr_search_check(const tr_search_options *search, const tr_config *config, tr_error *error);

/* Whether both find the same; lists of forbidden tokens are never the same. */
bool tr_search_same(const tr_search_options *a, const tr_search_options *b);

#endif
