/* The user's cache of pulled models: where they lie, and what is whole. Nothing here asks the network. */
#ifndef TR_HUB_CACHE_H
#define TR_HUB_CACHE_H

#include "hub/names.h"
#include "util/folder.h"

#define TR_HUB_MANIFEST ".translate-pull.json"
#define TR_HUB_LOCK     ".translate-pull.lock"
#define TR_HUB_UNKNOWN  UINT64_MAX

enum { TR_HUB_HEX = 65 };

typedef enum tr_hub_digest {
    TR_HUB_NO_DIGEST,
    TR_HUB_SHA256,   /* of the content: large files */
    TR_HUB_GIT_SHA1, /* of "blob SIZE\0" and the content: what git calls the file by */
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
const tr_hub_file *tr_hub_files_find(const tr_hub_files *files, const char *name); /* NULL if it is not there */
/* Stores hex as the file's digest: 64 digits are SHA-256, 40 git's SHA-1; anything else is no digest, and false. */
bool tr_hub_set_digest(tr_hub_file *file, const char *hex);

/* What a folder of the cache holds: written when everything is there, removed before anything changes. */
typedef struct tr_hub_manifest {
    char commit[TR_HUB_HEX]; /* "" if the server did not tell */
    tr_hub_files files;
} tr_hub_manifest;

/* False if there is none that can be read. Free it in either case. */
bool tr_hub_manifest_read(const char *folder, tr_hub_manifest *manifest);
tr_status tr_hub_manifest_write(const char *folder, const tr_hub_name *name, const tr_hub_manifest *manifest,
                                tr_error *error);
void tr_hub_manifest_free(tr_hub_manifest *manifest);
/* Every file of the manifest lies in the folder and has its size. */
bool tr_hub_manifest_holds(const char *folder, const tr_hub_manifest *manifest);

/* $TRANSLATE_CACHE/hub, else $XDG_CACHE_HOME/translate/hub, else ~/.cache/translate/hub. */
tr_status tr_hub_cache(char path[TR_PATH], tr_error *error);
/* The folder of one revision, whether it exists or not. */
tr_status tr_hub_cache_folder(char path[TR_PATH], const tr_hub_name *name, tr_error *error);
/* What -m takes: the folder if it holds a whole model, or the one GGUF file in it. *found is false if it is not whole. */
tr_status tr_hub_cache_find(char path[TR_PATH], const tr_hub_name *name, bool *found, tr_error *error);

typedef struct tr_hub_entry {
    tr_hub_name name;
    uint64_t bytes;
    bool whole;
} tr_hub_entry;

/* Calls visit for every model in the cache, in the order of their names. */
tr_status tr_hub_cache_list(void (*visit)(void *context, const tr_hub_entry *entry), void *context, tr_error *error);
/* Removes one revision, or all of them. *bytes: what that frees; 0 if there was nothing. */
tr_status tr_hub_cache_remove(const tr_hub_name *name, bool all_revisions, uint64_t *bytes, tr_error *error);

#endif
