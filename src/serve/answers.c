/* Answers of requests, whole or in parts. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/exchange.h"
#include "serve/loop.h"
#include "serve/metrics.h"
#include "serve/page.h"
#include "util/clock.h"

struct answer_header {
    struct answer_header *next;
    const char *value; /* in text, after the name */
    char text[];
};

/* An answer in parts. */
struct stream {
    exchange *exchange; /* NULL: it has ended */
    tr_buffer waiting;  /* what the client has not taken, from `taken` on */
    size_t taken;
    bool ended;
};

enum { STREAM_BLOCK = 4096, STREAM_WAITING = 1 << 20 };

/* --------------------------------------------------------------------------------------------------------------- sending */

void answer_header(request *r, const char *name, const char *value)
{
    exchange *const x = r->exchange;
    const size_t name_size = strlen(name) + 1, size = strlen(value) + 1;
    struct answer_header *const header = malloc(sizeof *header + name_size + size);
    if (!header)
        return;
    memcpy(header->text, name, name_size);
    memcpy(header->text + name_size, value, size);
    header->value = header->text + name_size;
    header->next = x->headers;
    x->headers = header;
}

static void free_headers(exchange *x)
{
    for (struct answer_header *h; (h = x->headers);) {
        x->headers = h->next;
        free(h);
    }
}

static void add_common_headers(exchange *x, struct MHD_Response *response)
{
    const server *const s = x->request.server;
    const char *const allowed = s->settings->cors, *const origin = request_header(&x->request, "Origin");
    for (const struct answer_header *h = x->headers; h; h = h->next)
        MHD_add_response_header(response, h->text, h->value);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (s->stopping)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (!allowed || !origin || (strcmp(allowed, "*") != 0 && strcmp(allowed, origin) != 0))
        return;
    MHD_add_response_header(response, "Access-Control-Allow-Origin", allowed);
    if (strcmp(allowed, "*") != 0)
        MHD_add_response_header(response, "Vary", "Origin");
}

enum MHD_Result answer_send(exchange *x)
{
    add_common_headers(x, x->response);
    free_headers(x);
    metrics_answered(x->request.server->metrics, x->request.route, x->status, (double)(tr_nanoseconds() - x->started) / 1e9);
    const enum MHD_Result good = MHD_queue_response(x->connection->mhd, x->status, x->response);
    MHD_destroy_response(x->response);
    x->response = NULL;
    if (!x->stream)
        x->left = NULL;
    return good;
}

void answer_free(exchange *x)
{
    free_headers(x);
    if (x->response)
        MHD_destroy_response(x->response);
    if (x->stream) /* libmicrohttpd frees it later */
        x->stream->exchange = NULL;
}

static void answer_ready(exchange *x, unsigned status, struct MHD_Response *response)
{
    if (!response || x->response || x->gone) { /* without memory the client gets nothing but the end of its connection */
        if (response)
            MHD_destroy_response(response);
        x->gone = x->gone || !response;
    } else {
        x->response = response;
        x->status = status;
    }
    exchange_resume(x);
}

/* ----------------------------------------------------------------------------------------------------------------- whole */

/* What needs no memory of ours, whatever the interface. */
static void answer_no_memory(request *r)
{
    static char text[] = "out of memory\n";
    answer_ready(r->exchange, 503, MHD_create_response_from_buffer(sizeof text - 1, text, MHD_RESPMEM_PERSISTENT));
}

void answer_memory(request *r, unsigned status, const char *type, char *data, size_t size)
{
    struct MHD_Response *response = NULL;
    if (!data && size) {
        answer_no_memory(r);
        return;
    }
    r->exchange->sent = size;
    if (type)
        answer_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    response = MHD_create_response_from_buffer(size, data ? data : (char[]){0},
                                               data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_MUST_COPY);
    if (!response)
        free(data);
    answer_ready(r->exchange, status, response);
}

void answer_bytes(request *r, unsigned status, const char *type, const void *data, size_t size)
{
    char *const copy = size && exchange_charge(r->exchange, size) ? malloc(size) : NULL;
    if (copy)
        memcpy(copy, data, size);
    answer_memory(r, status, type, copy, size);
}

void answer_json(request *r, unsigned status, json_t *json)
{
    char *const text = json ? json_dumps(json, ANSWER_JSON) : NULL;
    json_decref(json);
    if (text)
        answer_memory(r, status, "application/json", text, strlen(text));
    else
        answer_no_memory(r);
}

void answer_event(request *r, const char *name, json_t *data)
{
    char *const text = data ? json_dumps(data, ANSWER_JSON) : NULL;
    tr_buffer event = {0};
    json_decref(data);
    if (text && tr_buffer_string(&event, "event: ") && tr_buffer_string(&event, name) &&
        tr_buffer_string(&event, "\ndata: ") && tr_buffer_string(&event, text) && tr_buffer_string(&event, "\n\n"))
        answer_part(r, event.data, event.size);
    tr_buffer_free(&event);
    free(text);
}

/* The status was sent long ago: an event says the same. */
static void end_with_error(request *r, json_t *json)
{
    answer_event(r, "error", json);
    answer_end(r);
}

bool answer_has_begun(const request *r)
{
    return r->exchange->stream != NULL;
}

void answer_error(request *r, unsigned status, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    tr_buffer clean = {0}; /* the message may have been cut inside a character, or name what a client sent */
    const bool good = tr_utf8_clean(message, strlen(message), &clean);
    if (good && r->route && r->route->flags & ROUTE_PAGE)
        page_refuse(r, status, clean.data);
    else if (answer_has_begun(r))
        end_with_error(r, good ? r->error(status, clean.data) : NULL);
    else
        answer_json(r, status, good ? r->error(status, clean.data) : NULL);
    tr_buffer_free(&clean);
}

void answer_failure(request *r, const tr_error *error)
{
    unsigned status = 500;
    switch (error->status) {
    case TR_ERROR_ARGUMENT:
    case TR_ERROR_UNSUPPORTED:
    case TR_ERROR_FORMAT: status = 400; break;
    case TR_ERROR_FULL:
    case TR_ERROR_MEMORY:
    case TR_ERROR_CANCELLED: status = 503; break;
    case TR_ERROR_DEADLINE: status = 504; break;
    default: break;
    }
    if (status == 503)
        answer_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    answer_error(r, status, "%s", error->message);
}

/* -------------------------------------------------------------------------------------------------------------- in parts */

static ssize_t read_stream(void *argument, uint64_t position, char *out, size_t room)
{
    struct stream *const s = argument;
    size_t size = s->waiting.size - s->taken;
    (void)position;
    if (!size && s->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (!size && s->exchange->connection->left)
        exchange_cut(s->exchange);
    if (s->exchange->gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (!size) {
        exchange_suspend(s->exchange);
        return 0;
    }
    if (size > room)
        size = room;
    memcpy(out, s->waiting.data + s->taken, size);
    s->taken += size;
    s->exchange->sent += size;
    if (s->taken == s->waiting.size) {
        tr_buffer_clear(&s->waiting);
        s->taken = 0;
    }
    return (ssize_t)size;
}

static void free_stream(void *argument)
{
    struct stream *const s = argument;
    if (s->exchange)
        s->exchange->stream = NULL;
    tr_buffer_free(&s->waiting);
    free(s);
}

void answer_begin(request *r, unsigned status, const char *type)
{
    exchange *const x = r->exchange;
    struct stream *const s = calloc(1, sizeof *s);
    struct MHD_Response *response = NULL;
    if (s) {
        s->exchange = x;
        x->stream = s;
        answer_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
        answer_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
        answer_header(r, "X-Accel-Buffering", "no"); /* nginx passes parts on as they come */
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, s, free_stream);
        if (!response)
            free_stream(s);
    }
    answer_ready(x, status, response);
}

void answer_part(request *r, const void *data, size_t size)
{
    exchange *const x = r->exchange;
    struct stream *const s = x->stream;
    if (!s || x->gone)
        return;
    if (s->taken) {
        memmove(s->waiting.data, s->waiting.data + s->taken, s->waiting.size - s->taken);
        s->waiting.size -= s->taken;
        s->taken = 0;
    }
    if (s->waiting.size > STREAM_WAITING || !tr_buffer_append(&s->waiting, data, size)) /* one part may be larger */
        exchange_cut(x);
    exchange_resume(x);
}

void answer_end(request *r)
{
    exchange *const x = r->exchange;
    if (x->stream)
        x->stream->ended = true;
    exchange_resume(x);
}
