/* A file that is downloaded in pieces, perhaps by several runs of the program. */
#ifndef TR_UTIL_PART_H
#define TR_UTIL_PART_H

#include "util/error.h"

typedef struct tr_partial_file {
    int descriptor;
    uint64_t size;    /* bytes so far */
    const char *path; /* owned by the caller */
} tr_partial_file;

/* Opens the file that an earlier run left at path, or makes an empty one. path must outlive the struct. */
tr_status tr_partial_file_open(tr_partial_file *part, const char *path, tr_error *error);
tr_status tr_partial_file_append(tr_partial_file *part, const void *data, size_t size, tr_error *error);
tr_status tr_partial_file_clear(tr_partial_file *part, tr_error *error); /* size 0 */
/* Flushes the file to the disk and closes it; it keeps its path. */
tr_status tr_partial_file_finish(tr_partial_file *part, tr_error *error);
void tr_partial_file_close(tr_partial_file *part); /* may be called again, or after tr_partial_file_open() failed */

/* Removes a file; a missing one is no error. */
void tr_file_remove(const char *path);

#endif
