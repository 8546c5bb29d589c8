/* Which heads of the encoder attend to a window only: "exact", or "local:W" with W tokens to either side,
 * "local:W@FIRST-LAST" for some heads, counted from 1, the others staying as they are; several with commas between them, the
 * later ones replacing. */
#ifndef TR_MODEL_WINDOWS_H
#define TR_MODEL_WINDOWS_H

#include "util/error.h"

/* windows[heads]: W, or -1 where a head attends to all. TR_ERROR_ARGUMENT: what is wrong with text. */
tr_status tr_windows_parse(const char *text, int heads, int *windows, tr_error *error);

#endif
