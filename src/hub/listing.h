/* The list of files of a repository. */
#ifndef TR_HUB_LISTING_H
#define TR_HUB_LISTING_H

#include "hub/cache.h"
#include "hub/http.h"

/* Fills *listing with all files of the revision, and their sizes and digests if the server tells them. Fails on names that
 * would leave the folder. Messages do not name the repository. Call tr_hub_manifest_free() in either case. */
tr_status tr_hub_list(tr_http *http, const tr_hub_name *name, tr_hub_manifest *listing, tr_error *error);

/* The address of a file, allocated; NULL: out of memory. */
char *tr_hub_address(const tr_http *http, const tr_hub_name *name, const char *file);

/* Fails with a message for an HTTP status that neither means success nor can be retried. */
tr_status tr_hub_explain(const tr_http *http, const tr_hub_name *name, const tr_http_answer *answer, tr_error *error);

#endif
