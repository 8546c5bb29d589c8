/* A file that arrives piece by piece, perhaps in several runs of the program, and gets its name once it is whole. */
#ifndef TR_UTIL_PART_H
#define TR_UTIL_PART_H

#include "util/error.h"

typedef struct tr_part {
    int descriptor;
    uint64_t size;    /* bytes that are there */
    const char *path; /* the caller's */
} tr_part;

/* Opens what an earlier run has left at path, or makes an empty file. path must outlive the part. */
tr_status tr_part_open(tr_part *part, const char *path, tr_error *error);
tr_status tr_part_append(tr_part *part, const void *data, size_t size, tr_error *error);
tr_status tr_part_clear(tr_part *part, tr_error *error); /* size 0 */
/* Flushes it to the disk and closes it; the file stays where it is. */
tr_status tr_part_finish(tr_part *part, tr_error *error);
void tr_part_close(tr_part *part); /* again, or where tr_part_open() failed: nothing happens */

void tr_file_remove(const char *path); /* none: nothing happens */

#endif
