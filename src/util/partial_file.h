/* A file that arrives piece by piece, perhaps in several runs of the program, and gets its name once it is whole. */
#ifndef TR_UTIL_PART_H
#define TR_UTIL_PART_H

#include "util/error.h"

typedef struct tr_partial_file {
    int descriptor;
    uint64_t size;    /* bytes that are there */
    const char *path; /* the caller's */
} tr_partial_file;

/* Opens what an earlier run has left at path, or makes an empty file. path must outlive the part. */
tr_status tr_partial_file_open(tr_partial_file *part, const char *path, tr_error *error);
tr_status tr_partial_file_append(tr_partial_file *part, const void *data, size_t size, tr_error *error);
tr_status tr_partial_file_clear(tr_partial_file *part, tr_error *error); /* size 0 */
/* Flushes it to the disk and closes it; the file stays where it is. */
tr_status tr_partial_file_finish(tr_partial_file *part, tr_error *error);
void tr_partial_file_close(tr_partial_file *part); /* again, or where tr_partial_file_open() failed: nothing happens */

void tr_file_remove(const char *path); /* none: nothing happens */

#endif
