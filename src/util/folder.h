/* Folders, free disk space, and locks between processes. */
#ifndef TR_UTIL_FOLDER_H
#define TR_UTIL_FOLDER_H

#include "util/buffer.h"
#include "util/file.h"

/* Makes a folder and those above it. An existing folder is no error. */
tr_status tr_folder_make(const char *path, tr_error *error);
/* Removes a folder if it is empty. */
void tr_folder_drop_empty(const char *path);

/* The entries of a folder. */
typedef struct tr_folder_names {
    char **names; /* sorted by bytes, without "." and ".." */
    size_t count;
} tr_folder_names;

/* Lists a folder. No entries if it does not exist. Free names with tr_folder_names_free, also after a failure. */
tr_status tr_folder_list(const char *path, tr_folder_names *names, tr_error *error);
void tr_folder_names_free(tr_folder_names *names);

/* Sets *bytes to what this user may still write at path, or, if path does not exist, where it would be made. Returns false
 * if that is not known. */
bool tr_folder_space(const char *path, uint64_t *bytes);

/* An open folder. Functions with a tr_folder follow no links below it, whatever happens to the folders above. */
typedef struct tr_folder {
    int descriptor;     /* -1: there is no folder */
    char path[TR_PATH]; /* for messages */
} tr_folder;

/* Opens the folder at path, or the one that a link at path leads to. descriptor is -1 if there is none. */
tr_status tr_folder_open(tr_folder *folder, const char *path, tr_error *error);
/* Opens a folder below `folder`; name may have several parts. With make, missing parts are made; otherwise descriptor is -1
 * if one is missing. TR_ERROR_UNSUPPORTED if a part is a symbolic link. */
tr_status tr_folder_enter(tr_folder *inner, const tr_folder *folder, const char *name, bool make, tr_error *error);
void tr_folder_close(tr_folder *folder); /* may be called again */
/* Lists an open folder; see tr_folder_list. */
tr_status tr_folder_entries(const tr_folder *folder, tr_folder_names *names, tr_error *error);

typedef struct tr_folder_sum {
    uint64_t bytes; /* of all files in the folder and below */
    size_t count;   /* of files, links and empty folders there */
} tr_folder_sum;

tr_status tr_folder_measure(const tr_folder *folder, tr_folder_sum *sum, tr_error *error) TR_CHECKED;

/* In the next five functions name may have several parts; what lies beyond a symbolic link counts as not in the folder. */

/* Sets *found and *size of a regular file; a link is none. Fails if that is not known. */
tr_status tr_folder_size(const tr_folder *folder, const char *name, uint64_t *size, bool *found, tr_error *error) TR_CHECKED;
/* Reads a whole regular file. Free content with tr_buffer_free, also after a failure. */
tr_status tr_folder_read(const tr_folder *folder, const char *name, tr_buffer *content, bool *found,
                         tr_error *error) TR_CHECKED;
/* Renames a file within its folder. Replaces a file that has the new name. */
tr_status tr_folder_rename(const tr_folder *folder, const char *from, const char *to, tr_error *error) TR_CHECKED;
/* Removes a file or link and adds it to *removed. Anything else with that name stays; a missing file is no error. */
tr_status tr_folder_unlink(const tr_folder *folder, const char *name, tr_folder_sum *removed, tr_error *error);
/* Removes the folder of that name if it is empty, then those above it up to `folder` as long as they are empty. */
void tr_folder_prune(const tr_folder *folder, const char *name);

/* A lock between processes: a file in a folder, which exists while a process holds the lock. The end of the process frees
 * it. */
typedef struct tr_lock {
    int descriptor;
    const tr_folder *folder; /* owned by the caller; must outlive the lock */
    const char *name;        /* the same */
} tr_lock;

/* Takes the lock. *taken is false if another process holds it. */
tr_status tr_lock_try(tr_lock *lock, const tr_folder *folder, const char *name, bool *taken, tr_error *error);
void tr_lock_release(tr_lock *lock);

#endif
