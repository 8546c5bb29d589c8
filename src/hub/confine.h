/* Confines the process to the rights that a download needs. */
#ifndef TR_HUB_CONFINE_H
#define TR_HUB_CONFINE_H

#include "util/error.h"

/* From now on this process can write only in the folder, and read only there and files that name resolution and certificate
 * checks need. Call it before the first connection, because threads inherit it (see util/sandbox.h). */
tr_status tr_hub_confine(const char *folder, tr_error *error) TR_CHECKED;

#endif
