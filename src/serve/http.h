/* Requests and answers over HTTP, by libmicrohttpd, whose types stay in exchange.h.
 *
 * A route's handler gets a complete request and either answers it, or starts what will: translate_texts, loop_work. An
 * answer may come at any later time, in the loop; each request gets exactly one. */
#ifndef TR_SERVE_HTTP_H
#define TR_SERVE_HTTP_H

#include <jansson.h>

#include "serve/server.h"

/* An error as an interface shows it: a new JSON value. */
typedef json_t *error_shape(unsigned status, const char *message);

typedef struct route {
    const char *method, *path; /* "*" in the path, once at most, stands for any one part: request_part */
    void (*handle)(request *r);
    error_shape *error;
    unsigned flags; /* ROUTE_... */
} route;

enum {
    ROUTE_OPEN = 1,   /* needs no key */
    ROUTE_FREE = 2,   /* does not count for limits of the rate */
    ROUTE_UPLOAD = 4, /* its body may be as large as --upload-limit */
    ROUTE_PAGE = 8,   /* for people: errors come as page_refuse shows them */
};

/* A file that came with a multipart form. */
typedef struct upload {
    char *name; /* as the client calls it, without folders; for the format and the download, never for a path */
    char *data;
    size_t size;
} upload;

struct request {
    server *server;
    const route *route;
    error_shape *error;        /* the route's; a handler may choose another */
    json_t *fields;            /* the parameters, an object: of the query, of a form, of a JSON object */
    upload upload;             /* data NULL: none */
    const char *key;           /* that the client gave, wherever its interface has it; NULL: none */
    struct exchange *exchange; /* exchange.h */
};

/* ------------------------------------------------------------------------------------------------------------ parameters */

/* The part of the path that is "*" in the route. */
const char *request_part(const request *r);
/* The client's address, numeric and without a port; "" of a Unix socket. */
const char *request_address(const request *r);
/* A header of the request; NULL: there is none. */
const char *request_header(const request *r, const char *name);
/* The value of a text field; NULL: there is none, or it has another type. */
const char *request_text(const request *r, const char *name);
/* A text field that may be missing or null: *value is NULL then. False: it is something else, which is answered with 400. */
bool request_option(request *r, const char *name, const char **value);
/* The same of a whole number, or fallback. *valid: false if it is there and is none (may be NULL). */
int64_t request_number(const request *r, const char *name, int64_t fallback, bool *valid);
/* Of a flag: true, 1, "1", "true", "on"; false otherwise. */
bool request_flag(const request *r, const char *name);
/* Whether it is missing, or one of these or of their opposites. */
bool request_is_flag(const request *r, const char *name);

/* The texts of a field that is a text or a list of texts. False: it is missing, or something else; nothing to free then. The
 * texts belong to the request; *items is for free(). *list: whether it was a list (may be NULL). */
typedef struct source_text {
    const char *data;
    size_t size;
} source_text;
bool request_texts(const request *r, const char *name, source_text **items, size_t *count, bool *list);

/* --------------------------------------------------------------------------------------------------------------- answers */

/* Adds a header to the answer that follows. */
void answer_header(request *r, const char *name, const char *value);
/* How JSON is written: the numbers are float, which has no more digits. */
enum { ANSWER_JSON = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6) };
/* Takes the reference to json; NULL: out of memory, which is answered. */
void answer_json(request *r, unsigned status, json_t *json);
/* Copies data. */
void answer_bytes(request *r, unsigned status, const char *type, const void *data, size_t size);
/* The same, but takes data, which free() frees; data NULL and size > 0: out of memory, which is answered. */
void answer_memory(request *r, unsigned status, const char *type, char *data, size_t size);
/* An error in the shape of the interface; the message is one line. */
void answer_error(request *r, unsigned status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* An error of the library: 400 for what the caller did, 503 with Retry-After for a full queue, 504, 500. */
void answer_failure(request *r, const tr_error *error);

/* An answer in parts, for text/event-stream: begin, then any number of parts, then the end. Parts that the client does not
 * take are kept for it; a client that falls behind by more than 1 MiB is cut off with the next part. */
void answer_begin(request *r, unsigned status, const char *type);
void answer_part(request *r, const void *data, size_t size);
/* A part that is an event with its data; takes the reference to data, and is none without memory. */
void answer_event(request *r, const char *name, json_t *data);
void answer_end(request *r);
bool answer_has_begun(const request *r); /* an error is then an event of the name error, and the end */

/* Calls left(argument) if the client goes away before its answer is complete; then no answer is due any more, and the
 * request is freed after left. Replaces the one before; NULL: none. */
void request_on_leave(request *r, void (*left)(void *argument), void *argument);

/* ---------------------------------------------------------------------------------------------------------------- server */

/* Listens at the sockets [count], which it closes at its end. */
http *http_create(server *s, const int *sockets, size_t count, tr_error *error);
void http_stop_listening(http *h); /* what was accepted goes on */
size_t http_open_requests(const http *h);
size_t http_connections(const http *h); /* with a request or without */
/* Answers all requests that wait for something with 503. */
void http_give_up(http *h);
void http_free(http *h);

#endif
