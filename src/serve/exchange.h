/* A request with its answer on its way through libmicrohttpd: what http.c, exchange.c, fields.c and answers.c share. */
#ifndef TR_SERVE_EXCHANGE_H
#define TR_SERVE_EXCHANGE_H

#include <microhttpd.h>

#include "serve/http.h"
#include "serve/loop.h"
#include "util/buffer.h"

/* A connection of a client, with one request after the other. */
typedef struct connection {
    struct http *http;
    struct MHD_Connection *mhd;
    struct exchange *current; /* NULL: none */
    int socket;
    char *query;  /* of the request whose headers are being read; NULL: none */
    bool starved; /* there was no memory for it */
    bool left;    /* it closed its side */
} connection;

/* Of JSON that comes in parts. */
typedef struct value_count {
    size_t count;
    bool quoted, escaped;
} value_count;

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
    value_count values;   /* of the body, if it is JSON */
    bool json;            /* the body is JSON */
    tr_error parse_error; /* TR_ERROR_CANCELLED: the server ended before a thread came to it */
    uint64_t charged;     /* bytes that count for all requests together: exchange_charge */
    bool keyless;         /* there are keys, and it has not shown a valid one */
    uint64_t dropped;     /* bytes of a body that is too long */
    bool handled;         /* the body is complete */
    bool parsing;         /* by a thread, which alone uses body, fields and upload until it is done; then suspended, too */
    bool suspended;       /* until there is an answer, or the next part of it */
    bool left_early;      /* while parsing */
    bool gone;            /* the client went away */

    struct MHD_Response *response; /* the answer */
    unsigned status;
    uint64_t sent; /* bytes of it */
    struct answer_header *headers;
    struct stream *stream; /* of an answer in parts */

    void (*left)(void *argument);
    void *left_argument;
} exchange;

/* The server of HTTP: http.c. */
struct http {
    server *server;
    struct MHD_Daemon *daemon;
    int *sockets; /* [socket_count] */
    size_t socket_count, open_requests;
    unsigned *own_ports; /* [own_port_count] for host_is_allowed */
    size_t own_port_count;
    exchange *exchanges;
    uint64_t charged;        /* bytes that all requests hold */
    uint64_t keyless;        /* of them, those of requests that have not shown a valid key: it may be in the body */
    loop_timer rest;         /* until there may be descriptors again */
    bool listening, resumed; /* resumed: libmicrohttpd does not say itself that it has something to do */
};

/* fields.c: fills the request's fields. False: it has been answered. First from the query, which it changes (NULL: none);
 * finds the key, unless that is in the body. */
bool fields_begin(exchange *x, char *query);
/* Counts values of the next part of the body, for fields_may_parse. */
void fields_count(value_count *of, const char *json, size_t size);
/* Then from the body, whose second step may be done in any thread. */
bool fields_may_parse(exchange *x);
void fields_parse(exchange *x);
bool fields_end(exchange *x);
void fields_free(request *r);

/* answers.c: what is added to every answer; sends the answer that is ready. */
enum MHD_Result answer_send(exchange *x);
void answer_free(exchange *x);

/* exchange.c: what libmicrohttpd calls. Before it splits a query: takes that away, which is libmicrohttpd's own copy of the
 * text, and about to be changed. */
void *exchange_query(void *argument, const char *uri, struct MHD_Connection *mhd);
/* With the headers, with each part of the body, when that is complete, and when the request is resumed. */
enum MHD_Result exchange_request(void *argument, struct MHD_Connection *mhd, const char *path, const char *method,
                                 const char *version, const char *data, size_t *size, void **request_of);
/* When the answer was sent, or the connection ended before. */
void exchange_completed(void *argument, struct MHD_Connection *mhd, void **request_of, enum MHD_RequestTerminationCode end);

/* The handler, or the reader of a stream, waits for something; it goes on. */
void exchange_suspend(exchange *x);
void exchange_resume(exchange *x);
/* Counts bytes that the request holds until it ends. False: all requests together would hold too many. */
bool exchange_charge(exchange *x, uint64_t bytes) TR_CHECKED;
/* The client gets no more, as if it had gone away. */
void exchange_cut(exchange *x);

#endif
