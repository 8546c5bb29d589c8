/* A request with its answer on its way through libmicrohttpd: what http.c, fields.c and answers.c share. */
#ifndef TR_SERVE_EXCHANGE_H
#define TR_SERVE_EXCHANGE_H

#include <microhttpd.h>

#include "serve/http.h"
#include "util/buffer.h"

typedef struct hold {
    struct hold *next;
    void (*release)(void *argument);
    void *argument;
} hold;

/* A connection of a client, with one request after the other. */
typedef struct connection {
    struct http *http;
    struct MHD_Connection *mhd;
    struct exchange *current; /* NULL: none */
    int socket;
    bool left; /* it closed its side */
} connection;

/* A request with its answer. */
typedef struct exchange {
    request request;
    connection *connection;
    struct exchange *previous, *next; /* of http's */
    uint64_t started;                 /* tr_nanoseconds */
    char method[16];
    char *path; /* without the prefix */
    char *part; /* of the path, that "*" stands for; NULL: the route has none */
    char address[64];
    tr_buffer body;
    uint64_t charged; /* bytes that count for all requests together: exchange_charge */
    bool handled;     /* the handler was called */
    bool suspended;   /* until there is an answer, or the next part of it */
    bool gone;        /* the client went away */

    struct MHD_Response *response; /* the answer */
    unsigned status;
    struct answer_header *headers;
    struct stream *stream; /* of an answer in parts */

    void (*left)(void *argument);
    void *left_argument;
    hold *holds;
} exchange;

/* fields.c: fills the request's fields from the query and the body. False: it has been answered. */
bool fields_read(exchange *x);
void fields_free(request *r);

/* answers.c: what is added to every answer; sends the answer that is ready. */
enum MHD_Result answer_send(exchange *x);
void answer_free(exchange *x);

/* http.c: the handler, or the reader of a stream, waits for something; it goes on. */
void exchange_suspend(exchange *x);
void exchange_resume(exchange *x);
/* Counts bytes that the request holds until it ends. False: all requests together would hold too many. */
bool exchange_charge(exchange *x, uint64_t bytes) TR_CHECKED;
/* The client gets no more, as if it had gone away. */
void exchange_cut(exchange *x);

#endif
