/* Files: mapping or reading whole files, and writing a file that appears complete or not at all. Messages of errors begin
 * with the path. */
#ifndef TR_UTIL_FILE_H
#define TR_UTIL_FILE_H

#include "util/error.h"

/* ------------------------------------------------------------------------------------------------------------- reading */

typedef struct tr_bytes {
    const void *data; /* NULL if absent */
    size_t size;
} tr_bytes;

typedef struct tr_file {
    const unsigned char *data; /* NULL if size is 0, otherwise 64-byte aligned */
    size_t size;
    bool mapped;
} tr_file;

/* Opens a regular file without ever waiting; a named pipe, a device or a folder is refused. flags and mode are those of
 * open(); relative paths begin at folder (AT_FDCWD: the working directory). With O_NOFOLLOW a symbolic link is refused; for
 * writing, a file with a second name is refused, too. The caller closes *descriptor. */
tr_status tr_open_regular(int *descriptor, int folder, const char *path, int flags, unsigned mode, tr_error *error);

/* Maps or reads a whole regular file. An empty file is no error. Close it with tr_file_close. */
tr_status tr_file_open(const char *path, tr_load load, tr_file *file, tr_error *error);
/* The same, but a missing file is no error: *found is false then, and there is nothing to close. */
tr_status tr_file_find(const char *path, tr_load load, tr_file *file, bool *found, tr_error *error);
/* Makes size >= 1 bytes of zeroed memory, which may be written, and are then used and closed like those of a file. */
tr_status tr_file_allocate(size_t size, tr_file *file, tr_error *error);
void tr_file_close(tr_file *file);

/* Sets *named to whether path, itself not followed if it is a link, still names the open file. */
tr_status tr_file_is_named(int descriptor, const char *path, bool *named, tr_error *error) TR_CHECKED;

/* The next three take bytes in the mapping of a file and act on the pages that hold them. */

/* Maps all the pages at once, which costs less than one page fault each. Failure is ignored. */
void tr_pages_populate(const void *data, size_t size);
/* Unloads the pages; reading them loads them again. */
void tr_pages_drop(const void *data, size_t size);
/* Whether two ranges hold the same bytes. mapped: drops pages of both as they are read. */
bool tr_pages_equal(const void *a, const void *b, size_t size, bool mapped);

bool tr_is_directory(const char *path);

/* ------------------------------------------------------------------------------------------------------------- writing */

/* The file that an output replaces or creates: the one that a path names, or, if that is a symbolic link, leads to. */
typedef struct tr_target {
    char *path;                 /* after following links; allocated */
    bool exists;                /* mode, user and group are those of the existing file */
    bool own;                   /* a file that belongs to the program: an existing file's mode is not kept */
    unsigned mode, user, group; /* mode: permission bits */
} tr_target;

/* Finds the target of path. Fails if that exists and is not a regular file. Free it with tr_target_free. */
tr_status tr_target_find(tr_target *target, const char *path, tr_error *error);
/* The mode to create the replacement with: only those who may read the target may read it. */
unsigned tr_target_mode(const tr_target *target);
/* Moves the finished file, open as descriptor and named `from`, to the target's path, with the target's owner and
 * permissions. */
tr_status tr_target_replace(const tr_target *target, int descriptor, const char *from, tr_error *error);
void tr_target_free(tr_target *target);

/* A file being written: bytes go to a temporary file beside the target, which replaces the target on commit. */
typedef struct tr_output {
    int descriptor;
    tr_target target;
    char *path; /* as given, for messages */
    char *temporary;
    unsigned char *buffer; /* collects small writes */
    size_t filled;
    uint64_t written; /* bytes so far */
} tr_output;

/* Opens an output. End it with tr_output_commit or tr_output_abort. */
tr_status tr_output_open(tr_output *output, const char *path, tr_error *error);
/* For a file that belongs to the program: a link at path is replaced, not followed, and mode is as in open(). */
tr_status tr_output_open_own(tr_output *output, const char *path, unsigned mode, tr_error *error);
tr_status tr_output_write(tr_output *output, const void *data, size_t size, tr_error *error);
/* Overwrites bytes already written, such as a header whose sizes are known only at the end. */
tr_status tr_output_patch(tr_output *output, uint64_t offset, const void *data, size_t size, tr_error *error);
/* Reads all that was written again, from the disk where the system allows, and calls take with one part after the other.
 * take may change the bytes that it is given. */
typedef tr_status tr_output_take(void *argument, uint64_t offset, unsigned char *data, size_t size, tr_error *error);
tr_status tr_output_reread(tr_output *output, tr_output_take *take, void *argument, tr_error *error);
/* Flushes to the disk and replaces the target. Frees the output, also on failure. */
tr_status tr_output_commit(tr_output *output, tr_error *error);
/* Removes the temporary file and frees the output. */
void tr_output_abort(tr_output *output);

/* Writes a whole file, as tr_output_open or tr_output_open_own do: it appears complete or not at all. */
tr_status tr_file_write(const char *path, const void *data, size_t size, tr_error *error);
tr_status tr_file_write_own(const char *path, unsigned mode, const void *data, size_t size, tr_error *error);

/* ----------------------------------------------------------------------------------------------------------------- paths */

enum { TR_PATH = 4096 }; /* maximum bytes of a path on Linux, with its NUL */

/* Writes FOLDER/NAME. TR_ERROR_IO if that is too long. path and folder must not overlap. */
tr_status tr_path_join(char path[TR_PATH], const char *folder, const char *name, tr_error *error);

/* Copies the last part of a path unless it is "." or "..", or too long; out holds "" or another name before. */
void tr_path_name(const char *path, char *out, size_t size);

/* Whether only this user and root can have made or changed a file and the folder that it is in. */
bool tr_file_is_trusted(const char *path);

/* What is at a path, after following links. */
typedef enum tr_path_kind { TR_PATH_NOTHING, TR_PATH_FILE, TR_PATH_DIRECTORY, TR_PATH_OTHER } tr_path_kind;
/* Sets *kind. Fails if that is not known: a folder above it may not be searched, links form a circle, or the disk fails. */
tr_status tr_path_look(const char *path, tr_path_kind *kind, tr_error *error) TR_CHECKED;

/* Whether there is a file at path that this user may execute. */
bool tr_file_runs(const char *path);
/* Writes the folder that contains the running program, without a slash at the end. Returns false if the system does not
 * know. */
bool tr_program_folder(char *folder, size_t size);

#endif
