/* What a download needs of the system, and no more. */
#ifndef TR_HUB_CONFINE_H
#define TR_HUB_CONFINE_H

#include "util/error.h"

/* From now on this process writes in the folder alone, and reads only there and what it takes to find servers and to check
 * their certificates. To be called before the first connection, as threads inherit it (see
 * util/sandbox.h). */
tr_status tr_hub_confine(const char *folder, tr_error *error) TR_CHECKED;

#endif
