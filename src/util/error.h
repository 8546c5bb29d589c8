/* Filling a tr_error: the one way in which every folder reports failure. */
#ifndef TR_UTIL_ERROR_H
#define TR_UTIL_ERROR_H

#include <translate/translate.h>

/* Follows the declaration of a function whose caller must look at what it returns: -Werror refuses one that does not. */
#define TR_CHECKED __attribute__((warn_unused_result))

/* Stores status and the formatted line "WHAT: WHY" in *error (which may be NULL) and returns status.
 * Text from a hostile file stays on one line, and does nothing to a terminal (tr_utf8_make_printable()). */
tr_status tr_fail(tr_error *error, tr_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "PREFIX: " before the message that *error holds since the failure with this status; returns status.
 * TR_OK: there was no failure, nothing happens. */
tr_status tr_fail_in(tr_error *error, tr_status status, const char *prefix);

/* TR_ERROR_MEMORY with the message "WHAT: out of memory"; what names the thing that memory was asked for. */
tr_status tr_fail_memory(tr_error *error, const char *what);

#endif
