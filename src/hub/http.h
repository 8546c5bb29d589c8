/* One GET over HTTP(S), redirects included. The token goes to the endpoint alone. */
#ifndef TR_HUB_HTTP_H
#define TR_HUB_HTTP_H

#include "hub/hub.h"

#include <curl/curl.h>

#define TR_HTTP_UNKNOWN UINT64_MAX

enum { TR_HTTP_TAG = 256 };

/* What the server said before the content. */
typedef struct tr_http_answer {
    long status;
    bool at_endpoint;             /* from the host that the token belongs to */
    char tag[TR_HTTP_TAG];        /* ETag as it came, "" if there was none */
    char linked_tag[TR_HTTP_TAG]; /* X-Linked-Etag, of this answer or of a redirect before it */
    char problem[64];             /* X-Error-Code */
    uint64_t linked_size;         /* X-Linked-Size, as linked_tag; these are TR_HTTP_UNKNOWN where nothing was said */
    uint64_t length;              /* of what follows */
    uint64_t first, total;        /* Content-Range: the first byte that follows, and the bytes of the whole */
    int64_t retry_after;          /* seconds, -1 if nothing was said */
} tr_http_answer;

typedef struct tr_http_get {
    uint64_t from;               /* the first byte that is wanted */
    char validator[TR_HTTP_TAG]; /* a strong ETag: if the file has another one now, all of it is wanted; "": none */
    void *context;               /* for the functions */
    /* A redirect came; from and validator may be changed. May be NULL. */
    tr_status (*redirected)(void *context, struct tr_http_get *get, const tr_http_answer *answer, tr_error *error);
    /* The content begins: status is 200 or 206. */
    tr_status (*begin)(void *context, const tr_http_answer *answer, tr_error *error);
    tr_status (*data)(void *context, const void *data, size_t size, tr_error *error);
} tr_http_get;

typedef enum tr_http_outcome {
    TR_HTTP_DONE,
    TR_HTTP_REFUSED, /* the server answers something else: answer->status */
    TR_HTTP_LOST,    /* it may work another time */
    TR_HTTP_FAILED,  /* it will not, or one of the functions failed, or stop() said so */
} tr_http_outcome;

typedef struct tr_http {
    const tr_hub_options *options;
    CURL *easy;
    CURLM *multi;
    char *endpoint; /* without a slash at the end */
    char *token;    /* NULL: none */
} tr_http;

tr_status tr_http_open(tr_http *http, const tr_hub_options *options, tr_error *error);
void tr_http_close(tr_http *http);

/* Anything but TR_HTTP_DONE leaves why in *error. */
tr_http_outcome tr_http_get_url(tr_http *http, const char *url, tr_http_get *get, tr_http_answer *answer, tr_error *error);

/* Waits; false if stop() says so. */
bool tr_http_wait(const tr_http *http, int milliseconds);
/* After a loss: counts it in *losses, waits as long as is fitting and returns true; or false if it has been tried often
 * enough, with *error saying so. */
bool tr_http_again(const tr_http *http, int *losses, const tr_http_answer *answer, tr_error *error);

#endif
