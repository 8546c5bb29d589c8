/* A request on its way through libmicrohttpd: what http.c and answers.c share. */
#ifndef TR_SERVE_CONNECTION_H
#define TR_SERVE_CONNECTION_H

#include <microhttpd.h>

#include "serve/http.h"
#include "util/buffer.h"

typedef struct hold {
    struct hold *next;
    void (*release)(void *argument);
    void *argument;
} hold;

/* A connection of a client, with one request after the other. */
typedef struct client {
    struct http *http;
    struct MHD_Connection *mhd;
    struct connection *current; /* NULL: none */
    int socket;
    bool left; /* it closed its side */
} client;

typedef struct connection {
    request request;
    client *client;
    struct connection *previous, *next; /* of http's */
    uint64_t started;                   /* tr_nanoseconds */
    char method[16];
    char *path; /* without the prefix */
    char *part; /* of the path, that "*" stands for; NULL: the route has none */
    char address[64];
    tr_buffer body;
    uint64_t charged; /* bytes that count for all requests together: connection_charge */
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
} connection;

/* fields.c: fills the request's fields from the query and the body. False: it has been answered. */
bool fields_read(connection *c);
void fields_free(request *r);

/* answers.c: what is added to every answer; sends the answer that is ready. */
enum MHD_Result answer_send(connection *c);
void answer_free(connection *c);

/* http.c: the handler, or the reader of a stream, waits for something; it goes on. */
void connection_suspend(connection *c);
void connection_resume(connection *c);
/* Counts bytes that the request holds until it ends. False: all requests together would hold too many. */
bool connection_charge(connection *c, uint64_t bytes) TR_CHECKED;
/* The client gets no more, as if it had gone away. */
void connection_cut(connection *c);

#endif
