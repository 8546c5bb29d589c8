/* Chooses the kernels for this CPU. */
#ifndef TR_KERNELS_DISPATCH_H
#define TR_KERNELS_DISPATCH_H

#include "kernels/kernels.h"
#include "util/error.h"

enum { TR_LEVELS = 16 }; /* at least the number of levels */

/* Fills levels with those that this build and this CPU have, best last, and returns their number. The tables are static. */
int tr_kernels_available(const tr_kernels *levels[TR_LEVELS]);

/* Sets *kernels to the static table of the level of this name. NULL or "" means $TRANSLATE_CPU, or the best if that is not
 * set. TR_ERROR_ARGUMENT if the level is not available here; the message lists those that are. TR_ERROR_UNSUPPORTED if none
 * is. */
tr_status tr_kernels_select(const char *name, const tr_kernels **kernels, tr_error *error);

#endif
