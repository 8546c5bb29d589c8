/* Files: mapping or reading whole ones, and writing one so that it appears complete or not at all. */
#ifndef TR_UTIL_FILE_H
#define TR_UTIL_FILE_H

#include "util/error.h"

typedef struct tr_file {
    const unsigned char *data; /* NULL if size is 0; 64-byte aligned otherwise */
    size_t size;
    bool mapped;
} tr_file;

/* Opens a regular file and nothing else, and never waits: a named pipe, a device or a folder is refused. flags and mode are
 * those of open(), relative paths begin at folder (AT_FDCWD: the working directory). With O_NOFOLLOW a symbolic link is
 * refused; for writing, also a file that has a second name. Messages begin with the path, here and below. */
tr_status tr_open_regular(int *descriptor, int folder, const char *path, int flags, unsigned mode, tr_error *error);

/* Opens a regular file whole. An empty file is no error here. */
tr_status tr_file_open(const char *path, tr_load load, tr_file *file, tr_error *error);
/* The same for a file that may be missing: then *found is false, and there is nothing to close. */
tr_status tr_file_find(const char *path, tr_load load, tr_file *file, bool *found, tr_error *error);
/* size bytes of zeros (at least one), to be written and then used and closed like a file's. */
tr_status tr_file_allocate(size_t size, tr_file *file, tr_error *error);
void tr_file_close(tr_file *file);

/* Whether path, which is not followed if it is a link, still names the open file. */
tr_status tr_file_is_named(int descriptor, const char *path, bool *named, tr_error *error) TR_CHECKED;

/* The bytes must lie in the mapping of a file; what is said is of the pages that hold them. */

/* Brings them into this process at once, which is cheaper than one by one; no error if that fails. */
void tr_pages_populate(const void *data, size_t size);
/* Takes them out of this process again. Whoever reads them finds them as before. */
void tr_pages_drop(const void *data, size_t size);
/* Whether the bytes at a and at b are the same; of a mapped file they are dropped as they are read. */
bool tr_pages_equal(const void *a, const void *b, size_t size, bool mapped);

bool tr_is_directory(const char *path);

/* Where an output goes: the file that a path names, or the one that it leads to as a symbolic link, there or not. */
typedef struct tr_target {
    char *path;                 /* without links; allocated */
    bool exists;                /* mode, user and group are those of the file that is there */
    bool own;                   /* a file of the program's own: what is there has no mode to keep */
    unsigned mode, user, group; /* mode: permissions alone */
} tr_target;

/* Fails for what is there and is no regular file. */
tr_status tr_target_find(tr_target *target, const char *path, tr_error *error);
/* The mode to create the file with that is to replace the target: nobody may read it who may not read that. */
unsigned tr_target_mode(const tr_target *target);
/* Puts the finished file, open as descriptor and named from, in the target's place, with its owner and permissions. */
tr_status tr_target_replace(const tr_target *target, int descriptor, const char *from, tr_error *error);
void tr_target_free(tr_target *target);

/* A file under construction: bytes go to a temporary file beside the target, which takes its place on commit. */
typedef struct tr_output {
    int descriptor;
    tr_target target;
    char *path; /* as it was given, for messages */
    char *temporary;
    unsigned char *buffer; /* collects small writes */
    size_t filled;
    uint64_t written; /* bytes so far */
} tr_output;

tr_status tr_output_open(tr_output *output, const char *path, tr_error *error);
/* For a file that belongs to the program: a link at path is replaced, not followed, and the mode is what open() gives. */
tr_status tr_output_open_own(tr_output *output, const char *path, unsigned mode, tr_error *error);
tr_status tr_output_write(tr_output *output, const void *data, size_t size, tr_error *error);
tr_status tr_output_pad(tr_output *output, size_t alignment, tr_error *error); /* zeros up to a multiple */
/* Overwrites bytes already written (a header with sizes known only at the end). */
tr_status tr_output_patch(tr_output *output, uint64_t offset, const void *data, size_t size, tr_error *error);
/* Reads all of it again, from the disk where the system allows, in parts: take may change what it is given. */
typedef tr_status tr_output_take(void *argument, uint64_t offset, unsigned char *data, size_t size, tr_error *error);
tr_status tr_output_reread(tr_output *output, tr_output_take *take, void *argument, tr_error *error);
tr_status tr_output_commit(tr_output *output, tr_error *error); /* flushes, syncs, renames; frees either way */
void tr_output_abort(tr_output *output);                        /* removes the temporary file; frees */

/* Writes a whole file, as tr_output_open or tr_output_open_own do: it appears complete or not at all. */
tr_status tr_file_write(const char *path, const void *data, size_t size, tr_error *error);
tr_status tr_file_write_own(const char *path, unsigned mode, const void *data, size_t size, tr_error *error);

#endif
