/* Downloading a model: the request, and callbacks for its progress. */
#ifndef TR_HUB_HUB_H
#define TR_HUB_HUB_H

#include "hub/names.h"

typedef struct tr_hub_options {
    const char *endpoint; /* NULL: $HF_ENDPOINT, else https://huggingface.co */
    int timeout;          /* seconds without data until a connection is given up */
    int retries;          /* retries after a lost connection */
    int wake;             /* a descriptor that becomes readable when the result of stop() may have changed; -1: none */
    void *context;        /* of the callbacks, none of which may be NULL */
    bool (*stop)(void *context);
    void (*progress)(void *context, uint64_t done, uint64_t total); /* bytes */
    void (*note)(void *context, const char *line);                  /* a message for the user */
} tr_hub_options;

typedef struct tr_hub_request {
    const tr_hub_name *name;
    const char *folder;  /* NULL: the cache */
    const char *pattern; /* of files to download; NULL: those that a model needs */
} tr_hub_request;

/* Downloads the files of the repository's present state to the folder. All of them appear, or none: until the last one is
 * verified they are FILE.part, which the next call continues. Messages begin with the repository's name.
 * TR_ERROR_CANCELLED: stop() returned true. */
tr_status tr_hub_pull(const tr_hub_request *request, const tr_hub_options *options, tr_error *error);

#endif
