/* Fills a tr_error: the one way in which every folder reports failure. */
#ifndef TR_UTIL_ERROR_H
#define TR_UTIL_ERROR_H

#include "util/types.h"

/* After the declaration of a function whose result must be used: the compiler warns where it is not. */
#define TR_CHECKED __attribute__((warn_unused_result))

/* Stores status and the formatted message "WHAT: WHY" in *error, which may be NULL, and returns status. The message is one
 * line that cannot control a terminal, even with text from a hostile file (tr_utf8_make_printable()). */
tr_status tr_fail(tr_error *error, tr_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Fails with TR_ERROR_MEMORY and the message "WHAT: out of memory". */
tr_status tr_fail_memory(tr_error *error, const char *what);

/* Puts "PREFIX: " before the message in *error, if status is a failure. Returns status. */
tr_status tr_fail_in(tr_error *error, tr_status status, const char *prefix);

#endif
