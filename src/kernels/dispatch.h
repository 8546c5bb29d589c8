/* Choosing the kernels for this CPU. */
#ifndef TR_KERNELS_DISPATCH_H
#define TR_KERNELS_DISPATCH_H

#include "kernels/kernels.h"
#include "util/error.h"

enum { TR_LEVELS = 16 }; /* room for all */

/* Fills levels with those that this build and this CPU have, best last, and returns how many they are. */
int tr_kernels_available(const tr_kernels *levels[TR_LEVELS]);

/* The table of a level by name; NULL or "": $TRANSLATE_CPU, else the best. TR_ERROR_ARGUMENT lists the available ones. */
tr_status tr_kernels_select(const char *name, const tr_kernels **kernels, tr_error *error);

#endif
