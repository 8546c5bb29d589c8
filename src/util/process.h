/* This program's place, and other programs. */
#ifndef TR_UTIL_PROCESS_H
#define TR_UTIL_PROCESS_H

#include "util/buffer.h"
#include "util/error.h"

/* The folder in which the running program lies, without a slash at the end; false if the system does not tell. */
bool tr_program_folder(char *folder, size_t size);
bool tr_file_runs(const char *path); /* there is a file that may be executed */

/* Runs the program at path until it ends; arguments[0] is its name, NULL stands behind the last. It has this program's
 * environment and streams. *status: its exit status, or 128 and the number of the signal that ended it.
 * Meanwhile an interrupt from the terminal is for the other program, which the terminal tells too; one that was sent to
 * this program alone is passed on. For programs that have one thread as yet. */
tr_status tr_process_run(const char *path, char *const arguments[], int *status, tr_error *error);

/* The same for a program that reads text as its standard input; what it prints is appended to answer. */
tr_status tr_process_ask(const char *path, char *const arguments[], const char *text, size_t size, tr_buffer *answer,
                         int *status, tr_error *error);

#endif
