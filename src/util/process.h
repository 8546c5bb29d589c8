/* Runs other programs. */
#ifndef TR_UTIL_PROCESS_H
#define TR_UTIL_PROCESS_H

#include "util/buffer.h"
#include "util/file.h"

/* Runs the program at path, with this program's environment and streams, and waits until it ends. arguments[0] is its name,
 * NULL comes after the last. *status becomes its exit status, or 128 plus the number of the signal that ended it.
 * TR_ERROR_IO if it cannot be started.
 *
 * An interrupt from the terminal also goes to the other program, so this one ignores it; a signal that was sent to this
 * program alone is passed on. Only for programs with a single thread. */
tr_status tr_process_run(const char *path, char *const arguments[], int *status, tr_error *error);

/* The same, with text as the program's standard input. Appends what it prints to answer. */
tr_status tr_process_ask(const char *path, char *const arguments[], const char *text, size_t size, tr_buffer *answer,
                         int *status, tr_error *error);

#endif
