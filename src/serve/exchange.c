/* Requests on their way: from their headers to the handler of their route, and to their end. */
#define _GNU_SOURCE
#include "serve/exchange.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/access_log.h"
#include "serve/hosts.h"
#include "serve/keys.h"
#include "serve/metrics.h"
#include "serve/routes.h"
#include "util/clock.h"

enum {
    BODY_SECONDS = 120, /* from the first byte of a request to the last */
    MIB = 1 << 20,
    BODIES = 16,        /* what all requests together hold, in bodies of the largest size */
    KEYLESS = 4,        /* the part of it that those who have not shown a valid key hold: one of so many */
    SMALL = 64 << 10,   /* bytes of a body that is read and parsed at once */
    NEEDLESS = 4 << 10, /* bytes of a body where none is needed */
};

/* ----------------------------------------------------------------------------------------------------- waiting, and ends */

void exchange_suspend(exchange *x)
{
    if (x->suspended)
        return;
    x->suspended = true;
    MHD_suspend_connection(x->connection->mhd);
}

void exchange_resume(exchange *x)
{
    if (!x->suspended)
        return;
    x->suspended = false;
    MHD_resume_connection(x->connection->mhd);
    x->connection->http->resumed = true;
}

void exchange_cut(exchange *x)
{
    void (*const left)(void *argument) = x->left;
    if (x->parsing)
        x->left_early = true;
    if (x->parsing || x->gone)
        return;
    x->gone = true;
    x->left = NULL;
    if (left)
        left(x->left_argument);
    metrics_left(x->request.server->metrics);
    exchange_resume(x);
}

void request_on_leave(request *r, void (*left)(void *argument), void *argument)
{
    r->exchange->left = left;
    r->exchange->left_argument = argument;
}

/* Its bytes count no more for those of requests without a valid key. */
static void end_keyless(exchange *x)
{
    x->connection->http->keyless -= x->keyless ? x->charged : 0;
    x->keyless = false;
}

static void uncharge(exchange *x)
{
    end_keyless(x);
    x->connection->http->charged -= x->charged;
    x->charged = 0;
}

static void free_exchange(exchange *x)
{
    *(x->previous ? &x->previous->next : &x->connection->http->exchanges) = x->next;
    if (x->next)
        x->next->previous = x->previous;
    x->connection->http->open_requests--;
    uncharge(x);
    answer_free(x);
    fields_free(&x->request);
    tr_buffer_free(&x->body);
    free(x->path);
    free(x->part);
    free(x);
}

void exchange_completed(void *argument, struct MHD_Connection *mhd, void **request_of, enum MHD_RequestTerminationCode end)
{
    exchange *const x = *request_of;
    (void)argument, (void)mhd;
    if (!x)
        return;
    *request_of = NULL;
    x->suspended = false;
    x->connection->current = NULL;
    if (end != MHD_REQUEST_TERMINATED_COMPLETED_OK)
        exchange_cut(x);
    if (x->request.server->access_log)
        access_log_add(x->request.server->access_log, request_address(&x->request), x->method, x->request.route, x->status,
                       x->sent, (double)(tr_nanoseconds() - x->started) / 1e9);
    free_exchange(x);
}

/* -------------------------------------------------------------------------------------------------------------- requests */

const char *request_part(const request *r)
{
    return r->exchange->part ? r->exchange->part : "";
}

const char *request_header(const request *r, const char *name)
{
    return MHD_lookup_connection_value(r->exchange->connection->mhd, MHD_HEADER_KIND, name);
}

/* A proxy may add a header to those that the client has sent: the last one counts. */
static enum MHD_Result on_forwarded(void *argument, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    if (strcasecmp(name, "X-Forwarded-For") == 0)
        *(const char **)argument = value;
    return MHD_YES;
}

const char *request_address(const request *r)
{
    exchange *const x = r->exchange;
    const char *passed = NULL;
    const union MHD_ConnectionInfo *const info =
        MHD_get_connection_info(x->connection->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (*x->address)
        return x->address;
    if (r->server->settings->trust_proxy)
        MHD_get_connection_values(x->connection->mhd, MHD_HEADER_KIND, on_forwarded, &passed);
    if (passed) { /* the last address is the one that the proxy saw itself */
        const char *const comma = strrchr(passed, ',');
        const char *const last = comma ? comma + 1 + strspn(comma + 1, " ") : passed;
        snprintf(x->address, sizeof x->address, "%.*s", (int)strcspn(last, " "), last);
    } else if (info && info->client_addr && info->client_addr->sa_family != AF_UNIX) {
        const socklen_t size =
            info->client_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        if (getnameinfo(info->client_addr, size, x->address, sizeof x->address, NULL, 0, NI_NUMERICHOST))
            *x->address = 0;
    }
    return x->address;
}

static uint64_t largest_body(const exchange *x)
{
    const cli_settings *const s = x->request.server->settings;
    const uint64_t most = ((uint64_t)s->upload_limit << 20) + MIB / 16;
    if (x->request.route && x->request.route->flags & ROUTE_UPLOAD)
        return most;
    if (x->request.route && x->request.route->method[0] != 'P') /* GET, DELETE */
        return NEEDLESS;
    /* JSON may write a character as twelve bytes. */
    const uint64_t characters = 12 * (uint64_t)s->char_limit + MIB;
    return s->char_limit && characters < most ? characters : most;
}

/* That all requests together may hold. */
static uint64_t most_bytes(const http *h)
{
    return (uint64_t)BODIES * ((uint64_t)h->server->settings->upload_limit << 20);
}

/* Those who have shown no valid key leave room for those who have. */
static bool has_room(const exchange *x, uint64_t bytes)
{
    const http *const h = x->connection->http;
    const uint64_t most = most_bytes(h);
    return bytes <= most && h->charged <= most - bytes && (!x->keyless || h->keyless + bytes <= most / KEYLESS);
}

bool exchange_charge(exchange *x, uint64_t bytes)
{
    http *const h = x->connection->http;
    if (!has_room(x, bytes))
        return false;
    h->charged += bytes;
    h->keyless += x->keyless ? bytes : 0;
    x->charged += bytes;
    return true;
}

/* There are routes for other methods. */
static void refuse_method(exchange *x)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    char allowed[64] = "OPTIONS";
    path_part part;
    bool known;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (route_find(x->path, methods[i], &part, &known)) {
            strcat(allowed, ", ");
            strcat(allowed, methods[i]);
        }
    answer_header(&x->request, MHD_HTTP_HEADER_ALLOW, allowed);
    answer_error(&x->request, 405, "%s %s: the methods are %s", x->method, x->path, allowed);
}

static void answer_too_large(exchange *x, uint64_t size)
{
    answer_error(&x->request, 413, "the body has %llu bytes, more than the %llu that are allowed", (unsigned long long)size,
                 (unsigned long long)largest_body(x));
}

/* A key that is not valid, where the body is not small, and too many of them at once. Small bodies are read first, as some
 * clients miss an answer that comes before they have sent all. */
static void refuse_body(exchange *x, uint64_t size)
{
    request *const r = &x->request;
    const bool small = size <= SMALL && !request_header(r, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    x->keyless = !keys_shown(r->server->keys, r);
    if (x->keyless && r->key && !small && !keys_allow(r->server->keys, r))
        return;
    if (!has_room(x, size)) {
        answer_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
        answer_error(r, 503, "too much is being uploaded at this moment");
    }
}

/* What makes its body superfluous. */
static void refuse_early(exchange *x, bool known)
{
    request *const r = &x->request;
    const http *const h = x->connection->http;
    const char *const length = request_header(r, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const uint64_t size = length ? strtoull(length, NULL, 10) : 0;
    const char *const host = request_header(r, MHD_HTTP_HEADER_HOST);
    if (r->server->refusing)
        answer_error(r, 503, "the server is being stopped");
    else if (!host_is_allowed(host, r->server->settings->allowed_hosts, h->own_ports, h->own_port_count))
        answer_error(r, 403, "Host: %.100s is no name of this server; --allowed-hosts NAMES, or --trust-proxy, allows it",
                     host);
    else if (known && !r->route)
        refuse_method(x);
    else if (!r->route)
        answer_error(r, 404, "%s %s: there is no such address", x->method, x->path);
    else if (size > largest_body(x))
        answer_too_large(x, size);
    else if (fields_begin(x, x->connection->query))
        refuse_body(x, size);
}

static void answer_options(exchange *x)
{
    request *const r = &x->request;
    if (r->server->settings->cors) {
        answer_header(r, "Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS");
        answer_header(r, "Access-Control-Allow-Headers", "Authorization, Content-Type, X-Goog-Api-Key");
        answer_header(r, "Access-Control-Max-Age", "600");
    }
    answer_header(r, MHD_HTTP_HEADER_ALLOW, "GET, POST, PUT, PATCH, DELETE, OPTIONS");
    answer_memory(r, 204, NULL, NULL, 0);
}

static exchange *create_exchange(http *h, struct MHD_Connection *mhd, const char *path, const char *method)
{
    const union MHD_ConnectionInfo *const info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    connection *const c = info ? info->socket_context : NULL;
    exchange *const x = c ? calloc(1, sizeof *x) : NULL;
    const char *const prefix = h->server->settings->url_prefix, *const inner = path_without(prefix ? prefix : "", path);
    path_part part;
    bool known = false;
    if (!x || !(x->path = strdup(inner ? inner : path))) {
        free(x);
        return NULL;
    }
    x->connection = c;
    c->current = x;
    x->started = tr_nanoseconds();
    x->request = (request){.server = h->server, .error = v1_error, .exchange = x};
    h->open_requests++;
    x->next = h->exchanges;
    if (x->next)
        x->next->previous = x;
    h->exchanges = x;
    snprintf(x->method, sizeof x->method, "%s", method);
    if (inner)
        x->request.route = route_find(x->path, strcmp(method, "HEAD") == 0 ? "GET" : method, &part, &known);
    if (x->request.route)
        x->request.error = x->request.route->error;
    if (c->starved || (x->request.route && part.data && !(x->part = strndup(part.data, part.size))))
        x->gone = true;
    else if (known && strcmp(method, "OPTIONS") == 0)
        answer_options(x);
    else
        refuse_early(x, known);
    free(c->query);
    c->query = NULL;
    return x;
}

/* An answer can be sent only after the body: what is too much of it is thrown away. False: all of it is far too much. */
static bool drop_body(exchange *x, size_t size)
{
    tr_buffer_free(&x->body);
    uncharge(x);
    x->dropped += size;
    return x->dropped <= largest_body(x);
}

static bool take_body(exchange *x, const char *data, size_t size)
{
    if (tr_nanoseconds() - x->started > BODY_SECONDS * UINT64_C(1000000000))
        return false;
    if (x->dropped || x->body.size + size > largest_body(x))
        return drop_body(x, size);
    fields_count(&x->values, data, size);
    return exchange_charge(x, size) && tr_buffer_append(&x->body, data, size);
}

static void handle_request(exchange *x)
{
    request *const r = &x->request;
    if (fields_end(x) && keys_allow(r->server->keys, r)) {
        if (keys_shown(r->server->keys, r))
            end_keyless(x);
        r->route->handle(r);
    }
}

static void parse_body(void *argument)
{
    fields_parse(argument);
}

static void on_body_parsed(void *argument)
{
    exchange *const x = argument;
    x->parsing = false;
    if (x->left_early)
        exchange_cut(x);
    else if (x->parse_error.status != TR_ERROR_CANCELLED)
        handle_request(x);
    else
        answer_error(&x->request, 503, "the server is being stopped");
}

/* The body is complete. */
static void begin_handling(exchange *x)
{
    x->handled = true;
    if (x->dropped)
        answer_too_large(x, largest_body(x) + x->dropped);
    if (x->dropped || !fields_may_parse(x))
        return;
    x->parse_error.status = TR_ERROR_CANCELLED; /* if the thread does not come to it */
    x->parsing = x->body.size > SMALL && loop_work(x->request.server->loop, parse_body, on_body_parsed, x);
    if (!x->parsing) {
        fields_parse(x);
        handle_request(x);
    }
}

void *exchange_query(void *argument, const char *uri, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *const info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    connection *const c = info ? info->socket_context : NULL;
    char *const query = strchr(uri, '?');
    (void)argument;
    if (!c)
        return NULL;
    free(c->query);
    c->query = query ? strdup(query + 1) : NULL;
    c->starved = query && !c->query;
    if (query)
        query[1] = 0;
    return NULL;
}

enum MHD_Result exchange_request(void *argument, struct MHD_Connection *mhd, const char *path, const char *method,
                                 const char *version, const char *data, size_t *size, void **request_of)
{
    exchange *x = *request_of;
    (void)version;
    if (!x) {
        x = create_exchange(argument, mhd, path, method);
        *request_of = x;
        if (!x || x->gone)
            return MHD_NO;
        return x->response ? answer_send(x) : MHD_YES;
    }
    if (x->gone)
        return MHD_NO;
    if (*size) {
        const bool good = take_body(x, data, *size);
        *size = 0;
        return good ? MHD_YES : MHD_NO;
    }
    if (!x->handled)
        begin_handling(x);
    if (!x->response && x->connection->left)
        exchange_cut(x);
    if (x->gone)
        return MHD_NO;
    if (x->response)
        return answer_send(x);
    exchange_suspend(x);
    return MHD_YES;
}
