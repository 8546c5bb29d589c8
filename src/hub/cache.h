/* The user's cache of downloaded models: paths, and which models are complete. Nothing here uses the network. */
#ifndef TR_HUB_CACHE_H
#define TR_HUB_CACHE_H

#include "hub/names.h"
#include "util/folder.h"

#define TR_HUB_OWN      ".translate-pull." /* how the names of the program's own files begin: */
#define TR_HUB_MANIFEST TR_HUB_OWN "json"
#define TR_HUB_BEGUN    TR_HUB_OWN "begun.json"
#define TR_HUB_LOCK     TR_HUB_OWN "lock"
#define TR_HUB_PART     ".part"
#define TR_HUB_TAG      ".part.tag" /* the identity of the file that a part belongs to */
#define TR_HUB_UNKNOWN  UINT64_MAX

enum { TR_HUB_HEX = 65 };

typedef enum tr_hub_digest {
    TR_HUB_NO_DIGEST,
    TR_HUB_SHA256,   /* of the content: large files */
    TR_HUB_GIT_SHA1, /* of "blob SIZE\0" and the content: git's object name */
} tr_hub_digest;

typedef struct tr_hub_file {
    char *name;    /* in the repository, with its folders */
    uint64_t size; /* or TR_HUB_UNKNOWN */
    tr_hub_digest digest;
    char hex[TR_HUB_HEX]; /* of the digest, lower case */
} tr_hub_file;

typedef struct tr_hub_files {
    tr_hub_file *items;
    size_t count, capacity;
} tr_hub_files;

/* Appends a copy. False: out of memory. */
bool tr_hub_files_add(tr_hub_files *files, const tr_hub_file *file);
void tr_hub_files_free(tr_hub_files *files);
const tr_hub_file *tr_hub_files_find(const tr_hub_files *files, const char *name); /* NULL if it is not in the list */
/* Stores hex as the file's digest: 64 digits are SHA-256, 40 git's SHA-1; returns false for anything else. */
bool tr_hub_set_digest(tr_hub_file *file, const char *hex);

/* A list of a folder's files. TR_HUB_MANIFEST is written when the model is complete, and removed before any file changes.
 * TR_HUB_BEGUN is written before the download begins, and removed at the end. */
typedef struct tr_hub_manifest {
    char commit[TR_HUB_HEX]; /* "" if unknown */
    tr_hub_files files;
} tr_hub_manifest;

/* Reads FOLDER/LIST. *found is false if it is missing or invalid. Call tr_hub_manifest_free in either case. */
tr_status tr_hub_manifest_read(const tr_folder *folder, const char *list, tr_hub_manifest *manifest, bool *found,
                               tr_error *error);
tr_status tr_hub_manifest_write(const char *folder, const char *list, const tr_hub_name *name,
                                const tr_hub_manifest *manifest, tr_error *error);
void tr_hub_manifest_free(tr_hub_manifest *manifest);
/* Whether every file of the manifest is in the folder, is not a link, and has its size. */
tr_status tr_hub_manifest_holds(const tr_folder *folder, const tr_hub_manifest *manifest, bool *holds,
                                tr_error *error) TR_CHECKED;

/* $TRANSLATE_CACHE/hub, else $XDG_CACHE_HOME/translate/hub, else ~/.cache/translate/hub. */
tr_status tr_hub_cache(char path[TR_PATH], tr_error *error);
/* The folder of one revision, whether it exists or not. */
tr_status tr_hub_cache_folder(char path[TR_PATH], const tr_hub_name *name, tr_error *error);
/* Opens that folder; make: creates it if necessary. descriptor -1: it does not exist. Links below the cache are not
 * followed. */
tr_status tr_hub_cache_open(tr_folder *folder, const tr_hub_name *name, bool make, tr_error *error);
/* Removes a file of a list, its .part files, and folders that become empty. Adds its size to *removed. */
tr_status tr_hub_file_remove(const tr_folder *folder, const char *name, tr_folder_sum *removed, tr_error *error);
/* The part of a file's name before its last slash; "" without a slash. */
void tr_hub_file_folders(char folders[TR_PATH], const char *name);
/* The path for -m: the folder if it holds a whole model, or the one GGUF file in it. *found is false if it is incomplete. */
tr_status tr_hub_cache_find(char path[TR_PATH], const tr_hub_name *name, bool *found, tr_error *error);

typedef struct tr_hub_entry {
    tr_hub_name name;
    uint64_t bytes;
    bool whole;
} tr_hub_entry;

/* Calls visit for every model in the cache, in the order of their names. */
tr_status tr_hub_cache_list(void (*visit)(void *context, const tr_hub_entry *entry), void *context, tr_error *error);
typedef struct tr_hub_removal {
    bool found;            /* there was a folder */
    tr_folder_sum removed; /* of its files */
    size_t left;           /* files that no list names, which were not removed */
    char folder[TR_PATH];  /* where some of them are */
} tr_hub_removal;

/* Removes one revision, or all: the files that the cache's own lists name, then empty folders. */
tr_status tr_hub_cache_remove(const tr_hub_name *name, bool all_revisions, tr_hub_removal *removal, tr_error *error);

#endif
