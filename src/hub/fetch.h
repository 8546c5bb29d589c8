/* One file: from the server to FILE.part, verified. */
#ifndef TR_HUB_FETCH_H
#define TR_HUB_FETCH_H

#include "hub/cache.h"
#include "hub/http.h"

/* Progress of the whole download. */
typedef struct tr_hub_meter {
    uint64_t before;  /* bytes of the files that are done */
    uint64_t total;   /* of all files of known size */
    uint64_t unsized; /* bytes of the files that are done and had no known size */
} tr_hub_meter;

/* Downloads the file to FILE.part in the folder, continues what is there, and verifies it. Stores the size and digest in
 * file if they were unknown. Messages do not name the repository and the file. */
tr_status tr_hub_fetch(tr_http *http, const tr_hub_name *name, const tr_folder *folder, tr_hub_file *file,
                       tr_hub_meter *meter, tr_error *error);

#endif
