/* Folders, the space around them, and locks between processes. */
#ifndef TR_UTIL_FOLDER_H
#define TR_UTIL_FOLDER_H

#include "util/buffer.h"
#include "util/error.h"

enum { TR_PATH = 4096 }; /* bytes of a path, as Linux limits them */

/* FOLDER/NAME, or an error where that is too long. path and folder must not overlap. */
tr_status tr_path_join(char path[TR_PATH], const char *folder, const char *name, tr_error *error);

/* What is at a path, where links lead. */
typedef enum tr_path_kind { TR_PATH_NOTHING, TR_PATH_FILE, TR_PATH_DIRECTORY, TR_PATH_OTHER } tr_path_kind;
/* Fails where that cannot be told: a folder above it may not be searched, links go in a circle, the disk fails. */
tr_status tr_path_look(const char *path, tr_path_kind *place, tr_error *error) TR_CHECKED;

tr_status tr_folder_make(const char *path, tr_error *error); /* with those above it; one that is there is no error */
void tr_folder_drop_empty(const char *path); /* removes a folder in which there is nothing; else does nothing */

typedef struct tr_folder_names {
    char **names; /* sorted by bytes, without "." and ".." */
    size_t count;
} tr_folder_names;

/* What is in a folder; nothing if it does not exist. tr_folder_names_free() in any case. */
tr_status tr_folder_list(const char *path, tr_folder_names *names, tr_error *error);
void tr_folder_names_free(tr_folder_names *names);

/* Bytes that this user may still write there; path need not exist, then it is where it would be made. */
bool tr_folder_space(const char *path, uint64_t *bytes);

/* A folder by its descriptor: what is done in it follows no links, whatever becomes of the folders above. */
typedef struct tr_folder {
    int descriptor;     /* -1: there is none */
    char path[TR_PATH]; /* for messages */
} tr_folder;

/* The folder at path, or where it leads to as a link; with descriptor -1 if there is none. */
tr_status tr_folder_open(tr_folder *folder, const char *path, tr_error *error);
/* A folder in it; name may have several parts. What is missing is made (make), else descriptor is -1. TR_ERROR_UNSUPPORTED:
 * a part is a symbolic link. */
tr_status tr_folder_enter(tr_folder *inner, const tr_folder *folder, const char *name, bool make, tr_error *error);
void tr_folder_close(tr_folder *folder); /* again: nothing happens */
tr_status tr_folder_entries(const tr_folder *folder, tr_folder_names *names, tr_error *error);

typedef struct tr_folder_sum {
    uint64_t bytes; /* of all files in the folder and below */
    size_t count;   /* of files, links and empty folders there */
} tr_folder_sum;

tr_status tr_folder_measure(const tr_folder *folder, tr_folder_sum *sum, tr_error *error) TR_CHECKED;

/* In the next four, name may have several parts, and nothing after a symbolic link is in the folder. */

/* *found is false if that is no regular file, as a link is none. Fails where it cannot be told. */
tr_status tr_folder_size(const tr_folder *folder, const char *name, uint64_t *size, bool *found, tr_error *error) TR_CHECKED;
/* Reads such a file whole; tr_buffer_free() in any case. */
tr_status tr_folder_read(const tr_folder *folder, const char *name, tr_buffer *content, bool *found,
                         tr_error *error) TR_CHECKED;
/* Gives a file another name in the same folder; replaces what has that name. */
tr_status tr_folder_rename(const tr_folder *folder, const char *from, const char *to, tr_error *error) TR_CHECKED;
/* Removes a file or link; what else has that name stays, and none is no error. Adds to what was removed. */
tr_status tr_folder_unlink(const tr_folder *folder, const char *name, tr_folder_sum *removed, tr_error *error);
/* Removes the folder of that name, and those above it up to this one, as far as nothing is in them. */
void tr_folder_prune(const tr_folder *folder, const char *name);

/* A lock between processes: a file in a folder, which exists while one holds it. If the process ends, so does the lock. */
typedef struct tr_lock {
    int descriptor;
    const tr_folder *folder; /* these two are the caller's, and outlive the lock */
    const char *name;
} tr_lock;

/* Takes the lock if nobody has it, else sets *taken to false. */
tr_status tr_lock_try(tr_lock *lock, const tr_folder *folder, const char *name, bool *taken, tr_error *error);
void tr_lock_release(tr_lock *lock);

#endif
