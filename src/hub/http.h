/* One GET over HTTP(S), with redirects. The token is sent only to the endpoint. */
#ifndef TR_HUB_HTTP_H
#define TR_HUB_HTTP_H

#include "hub/hub.h"

#include <curl/curl.h>

#define TR_HTTP_UNKNOWN UINT64_MAX

enum { TR_HTTP_TAG = 256 };

/* The status and headers of the answer. */
typedef struct tr_http_answer {
    long status;
    bool at_endpoint;             /* from the host that the token belongs to */
    char tag[TR_HTTP_TAG];        /* ETag as received, "" if there was none */
    char linked_tag[TR_HTTP_TAG]; /* X-Linked-Etag, of this answer or of a redirect before it */
    char problem[64];             /* X-Error-Code */
    uint64_t linked_size;         /* X-Linked-Size, as linked_tag; this and the next three: or TR_HTTP_UNKNOWN */
    uint64_t length;              /* Content-Length */
    uint64_t first, total;        /* Content-Range: offset of the content, and bytes of the whole file */
    int64_t retry_after;          /* seconds, -1: none */
} tr_http_answer;

typedef struct tr_http_get {
    uint64_t from;               /* offset of the first wanted byte */
    char validator[TR_HTTP_TAG]; /* a strong ETag: if the file has changed, all of it is sent; "": none */
    void *context;               /* of the callbacks */
    /* After a redirect; may change from and validator. May be NULL. */
    tr_status (*redirected)(void *context, struct tr_http_get *get, const tr_http_answer *answer, tr_error *error);
    /* The content begins: status is 200 or 206. */
    tr_status (*begin)(void *context, const tr_http_answer *answer, tr_error *error);
    tr_status (*data)(void *context, const void *data, size_t size, tr_error *error);
} tr_http_get;

typedef enum tr_http_outcome {
    TR_HTTP_DONE,
    TR_HTTP_REFUSED, /* the server answers another status: answer->status */
    TR_HTTP_LOST,    /* a later try may succeed */
    TR_HTTP_FAILED,  /* it cannot succeed, a callback failed, or stop() returned true */
} tr_http_outcome;

typedef struct tr_http {
    const tr_hub_options *options;
    CURL *easy;
    CURLM *multi;
    char *endpoint;       /* without a final slash */
    char *token;          /* NULL: none */
    bool asked, answered; /* a request was sent; a server has answered one */
} tr_http;

tr_status tr_http_open(tr_http *http, const tr_hub_options *options, tr_error *error);
void tr_http_close(tr_http *http);

/* Every outcome except TR_HTTP_DONE sets *error. */
tr_http_outcome tr_http_get_url(tr_http *http, const char *url, tr_http_get *get, tr_http_answer *answer, tr_error *error);

/* Waits; false if stop() returns true. */
bool tr_http_wait(const tr_http *http, int milliseconds);
/* After a loss: increments *losses, waits and returns true; after too many losses returns false and sets *error. */
bool tr_http_again(const tr_http *http, int *losses, const tr_http_answer *answer, tr_error *error);

#endif
