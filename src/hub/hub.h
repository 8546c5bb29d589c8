/* Downloading: what the caller wants, and what it wants to know meanwhile. */
#ifndef TR_HUB_HUB_H
#define TR_HUB_HUB_H

#include "hub/names.h"

typedef struct tr_hub_options {
    const char *endpoint; /* NULL: $HF_ENDPOINT, else https://huggingface.co */
    int timeout;          /* seconds without a byte after which a connection counts as lost */
    int retries;          /* how often a lost one is tried again */
    int wake;             /* a descriptor that becomes readable when stop() may have changed; -1: none */
    void *context;        /* for the functions, none of which may be NULL */
    bool (*stop)(void *context);
    void (*progress)(void *context, uint64_t done, uint64_t total); /* bytes */
    void (*note)(void *context, const char *line);                  /* what a waiting person wants to know */
} tr_hub_options;

typedef struct tr_hub_request {
    const tr_hub_name *name;
    const char *folder;  /* NULL: the cache */
    const char *pattern; /* files to take instead of those that a model needs; NULL: these */
} tr_hub_request;

/* Brings the files to their folder, as they are in the repository now. All appear, or none: until the last one is there and
 * verified they are FILE.part, which the next call continues. Messages begin with the repository's name.
 * TR_ERROR_CANCELLED if stop() said so. */
tr_status tr_hub_pull(const tr_hub_request *request, const tr_hub_options *options, tr_error *error);

#endif
