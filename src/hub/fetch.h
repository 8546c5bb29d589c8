/* One file: from the server to FILE.part, verified. */
#ifndef TR_HUB_FETCH_H
#define TR_HUB_FETCH_H

#include "hub/cache.h"
#include "hub/http.h"

/* How far the whole download is. */
typedef struct tr_hub_meter {
    uint64_t before;  /* bytes of the files that are done */
    uint64_t total;   /* of all, as far as is known */
    uint64_t unsized; /* bytes of the files that are done and whose size nobody told */
} tr_hub_meter;

/* Brings the file of the repository to its name in the folder and ".part", which is whole and verified then; continues what
 * lies there. What file did not say (size, digest) is filled in. Messages lack the names of repository and file. */
tr_status tr_hub_fetch(tr_http *http, const tr_hub_name *name, const tr_folder *folder, tr_hub_file *file,
                       tr_hub_meter *meter, tr_error *error);

#endif
