/* Giving up what a process does not need from now on, as far as the kernel knows how (Linux: Landlock, seccomp). What it
 * does not know stays allowed, and that is no error: a sandbox limits what a fault can do, other checks keep faults out.
 * What it knows and refuses is an error, "sandbox: cannot be set up: WHY". */
#ifndef TR_UTIL_SANDBOX_H
#define TR_UTIL_SANDBOX_H

#include "util/error.h"

/* Paths of files, or of folders with all that is in them. What does not exist is skipped. */
typedef struct tr_sandbox_paths {
    const char *const *readable; /* NULL after the last */
    const char *writable;        /* a folder: what is in it may be read, written, made, renamed and removed */
} tr_sandbox_paths;

/* Both are for a process without other threads; threads that it starts later inherit the restrictions. */

/* For a program that downloads: files as listed, TCP and UDP from ports that it cannot choose, threads; no other program or
 * process, no signals to others, nothing that changes what files belong to whom. Programs with a sanitizer keep all. */
tr_status tr_sandbox_download(const tr_sandbox_paths *paths, tr_error *error) TR_CHECKED;
/* For a program that computes: reads and writes what is open, takes memory, and ends. */
tr_status tr_sandbox_compute(tr_error *error) TR_CHECKED;

#endif
