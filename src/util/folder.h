/* Folders, the space around them, and locks between processes. */
#ifndef TR_UTIL_FOLDER_H
#define TR_UTIL_FOLDER_H

#include "util/error.h"

enum { TR_PATH = 4096 }; /* bytes of a path, as Linux limits them */

/* FOLDER/NAME, or an error where that is too long. path and folder must not overlap. */
tr_status tr_path_join(char path[TR_PATH], const char *folder, const char *name, tr_error *error);

tr_status tr_folder_make(const char *path, tr_error *error); /* with those above it; one that is there is no error */
/* The same for all folders above the file at path. */
tr_status tr_folder_make_above(const char *path, tr_error *error);
void tr_folder_drop_empty(const char *path); /* removes a folder in which there is nothing; else does nothing */

typedef struct tr_folder_names {
    char **names; /* sorted by bytes, without "." and ".." */
    size_t count;
} tr_folder_names;

/* What is in a folder; nothing if it does not exist. tr_folder_names_free() in any case. */
tr_status tr_folder_list(const char *path, tr_folder_names *names, tr_error *error);
void tr_folder_names_free(tr_folder_names *names);

/* Bytes of all files in the folder and below. Links are not followed. */
uint64_t tr_folder_bytes(const char *path);
/* Removes the folder with everything in it. Links are removed, not followed. */
tr_status tr_folder_remove(const char *path, tr_error *error);
/* Bytes that this user may still write there; path need not exist, then it is where it would be made. */
bool tr_folder_space(const char *path, uint64_t *bytes);

/* A lock between processes: a file that exists while one holds it. If the process ends, so does the lock. */
typedef struct tr_lock {
    int descriptor;
    char path[TR_PATH];
} tr_lock;

/* Takes the lock if nobody has it, else sets *taken to false. */
tr_status tr_lock_try(tr_lock *lock, const char *path, bool *taken, tr_error *error);
void tr_lock_release(tr_lock *lock);

#endif
