/* Sandboxes: a process gives up rights that it no longer needs, as far as the Linux kernel supports that (Landlock,
 * seccomp). A restriction that the kernel does not support is skipped without an error: the sandbox limits the damage of a
 * fault, other checks prevent faults. If the kernel refuses a restriction that it supports, the error is "sandbox: cannot be
 * set up: WHY". */
#ifndef TR_UTIL_SANDBOX_H
#define TR_UTIL_SANDBOX_H

#include "util/error.h"

/* Paths of files, or of folders with all that is in them. Missing ones are skipped. */
typedef struct tr_sandbox_paths {
    const char *const *readable; /* NULL after the last */
    const char *writable;        /* a folder whose entries may be read, written, made, renamed and removed; NULL: none */
    const char *removes_in;      /* a folder whose files may be removed; NULL: none */
    const char *adds_to;         /* a folder in which files may be made and written; NULL: none */
} tr_sandbox_paths;

/* Call these while the process has a single thread; threads that it starts later inherit the restrictions. */

/* For a program that downloads. Allowed: the files listed, TCP and UDP from ports that the system chooses, threads.
 * Forbidden: other programs and processes, signals to others, changes of the owner or mode of files. Builds with a sanitizer
 * are not restricted. */
tr_status tr_sandbox_download(const tr_sandbox_paths *paths, tr_error *error) TR_CHECKED;
/* For a server whose sockets listen already. Allowed: reading the files listed, accepting connections, threads. Forbidden:
 * other sockets and connections, and what downloads may not do either. A file that replaces a listed one is another file; it
 * may be read if its folder is listed. */
tr_status tr_sandbox_serve(const tr_sandbox_paths *paths, tr_error *error) TR_CHECKED;
/* For a program that only computes. Allowed: reading and writing open files, allocating memory, and exiting. */
tr_status tr_sandbox_compute(tr_error *error) TR_CHECKED;

#endif
