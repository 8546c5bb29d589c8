/* What a repository holds. */
#ifndef TR_HUB_LISTING_H
#define TR_HUB_LISTING_H

#include "hub/cache.h"
#include "hub/http.h"

/* Fills *listing with every file of the revision, its sizes and digests as far as the server tells. Names that would leave
 * the folder make it fail. Messages lack the repository's name. tr_hub_manifest_free() in either case. */
tr_status tr_hub_list(tr_http *http, const tr_hub_name *name, tr_hub_manifest *listing, tr_error *error);

/* The address of a file; allocated, NULL if memory ran out. */
char *tr_hub_address(const tr_http *http, const tr_hub_name *name, const char *file);

/* Says what a person can do about the answer: the status is neither 200 nor one that may pass. */
tr_status tr_hub_explain(const tr_http *http, const tr_hub_name *name, const tr_http_answer *answer, tr_error *error);

#endif
