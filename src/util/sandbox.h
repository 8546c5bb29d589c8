/* Giving up what a process does not need from now on, as far as the kernel helps (Linux: Landlock, seccomp). What it does
 * not know stays allowed, and that is no error: a sandbox limits what a fault can do, other checks keep faults out. */
#ifndef TR_UTIL_SANDBOX_H
#define TR_UTIL_SANDBOX_H

enum {
    TR_SANDBOX_FILES = 1, /* the kernel restricts files */
    TR_SANDBOX_CALLS = 2  /* and system calls */
};

/* Paths of files, or of folders with all that is in them. What does not exist is skipped. */
typedef struct tr_sandbox_paths {
    const char *const *readable; /* NULL after the last */
    const char *writable;        /* a folder: what is in it may be read, written, made, renamed and removed */
    const char *prunable;        /* a folder below which empty folders may be removed; NULL: none */
} tr_sandbox_paths;

/* Both are for a process without other threads; threads and processes that it starts later inherit the restrictions. They
 * return which of TR_SANDBOX_... are in force. */

/* For a program that downloads: files as listed, connections to servers but no service, no other program, nothing that
 * reaches into other processes or changes what files belong to whom. Programs with a sanitizer keep all. */
unsigned tr_sandbox_download(const tr_sandbox_paths *paths);
/* For a program that computes: reads and writes what is open, takes memory, and ends. */
unsigned tr_sandbox_compute(void);

#endif
