/* Connections by libmicrohttpd, which runs in the server's own loop. */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/access_log.h"
#include "serve/exchange.h"
#include "serve/hosts.h"
#include "serve/keys.h"
#include "serve/loop.h"
#include "serve/metrics.h"
#include "serve/routes.h"
#include "util/clock.h"

enum {
    CONNECTIONS = 20000,          /* at most, where there are descriptors for them */
    OTHER_DESCRIPTORS = 256,      /* of models, queues and what they read */
    ACCEPT_AGAIN = 200,           /* milliseconds, after there was no descriptor for a connection */
    CONNECTION_MEMORY = 10 << 10, /* bytes of a connection for headers and what is sent at once */
    IDLE_SECONDS = 75,            /* without a byte */
    BODY_SECONDS = 120,           /* from the first byte of a request to the last */
    ACCEPTED = 64,                /* connections at once, before others get their turn */
    MIB = 1 << 20,
    BODIES = 16,      /* what all requests together hold, in bodies of the largest size */
    KEYLESS = 4,      /* the part of it that those without a key in the headers hold: one of so many */
    SMALL = 64 << 10, /* bytes of a body that is read and parsed at once */
};

static const struct {
    const route *routes;
    const char *prefix; /* that their paths may also begin with; NULL: none */
} tables[] = {{attention_routes, NULL},  {deepl_routes, NULL},       {documents_routes, NULL},
              {extensions_routes, NULL}, {google_routes, "/google"}, {libretranslate_routes, NULL},
              {openapi_routes, NULL},    {page_routes, NULL},        {v1_routes, NULL}};

struct http {
    server *server;
    struct MHD_Daemon *daemon;
    int *sockets; /* [socket_count] */
    size_t socket_count, open_requests;
    unsigned *own_ports; /* [own_port_count] for host_is_allowed */
    size_t own_port_count;
    exchange *exchanges;
    uint64_t charged;        /* bytes that all requests hold */
    uint64_t keyless;        /* of them, those of requests whose key must be in the body, if they have one */
    loop_timer rest;         /* until there may be descriptors again */
    bool listening, resumed; /* resumed: libmicrohttpd does not say itself that it has something to do */
};

/* ---------------------------------------------------------------------------------------------------------------- routes */

/* What "*" stands for in a path; data NULL: the route has none. */
typedef struct path_part {
    const char *data;
    size_t size;
} path_part;

/* The path after a prefix, which is whole parts of it; NULL: it has another beginning. */
static const char *without_prefix(const char *prefix, const char *path)
{
    const size_t size = strlen(prefix);
    return strncmp(path, prefix, size) == 0 && path[size] == '/' ? path + size : NULL;
}

static bool matches(const route *wanted, const char *path, path_part *part)
{
    *part = (path_part){NULL, 0};
    const char *form = wanted->path;
    for (; *form && *path; form++) {
        if (*form != '*') {
            if (*form != *path++)
                return false;
            continue;
        }
        *part = (path_part){path, strcspn(path, "/")};
        if (!part->size)
            return false;
        path += part->size;
    }
    return !*form && (!*path || (path[0] == '/' && !path[1]));
}

/* Finds the route. NULL: there is none; *known then tells whether there is one for another method. */
static const route *find_route(const char *path, const char *method, path_part *part, bool *known)
{
    *known = false;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        const char *const inner = tables[t].prefix ? without_prefix(tables[t].prefix, path) : NULL;
        for (const route *r = tables[t].routes; r->path; r++) {
            if (!matches(r, inner ? inner : path, part))
                continue;
            *known = true;
            if (strcmp(r->method, method) == 0)
                return r;
        }
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------- waiting, and ends */

/* libmicrohttpd does not look at a connection whose request is suspended, and may miss an end that comes together with data:
 * it ends then because nothing more comes. */
static void on_hangup(void *argument)
{
    connection *const c = argument;
    loop_unwatch(c->http->server->loop, c->socket);
    c->left = true;
    if (c->current && c->current->suspended)
        exchange_cut(c->current);
    else
        MHD_set_connection_option(c->mhd, MHD_CONNECTION_OPTION_TIMEOUT, 1u);
}

static void on_connection(void *argument, struct MHD_Connection *mhd, void **connection_of,
                          enum MHD_ConnectionNotificationCode what)
{
    http *const h = argument;
    connection *c = *connection_of;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (c) {
            loop_unwatch(h->server->loop, c->socket);
            free(c->query);
        }
        free(c);
        return;
    }
    const union MHD_ConnectionInfo *const info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    *connection_of = c = info ? malloc(sizeof *c) : NULL;
    if (!c)
        return; /* its requests are refused */
    *c = (connection){.http = h, .mhd = mhd, .socket = info->connect_fd};
    if (!loop_watch(h->server->loop, c->socket, true, on_hangup, c))
        c->socket = -1;
}

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

static void uncharge(exchange *x)
{
    http *const h = x->connection->http;
    h->charged -= x->charged;
    h->keyless -= x->keyless ? x->charged : 0;
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

/* The answer was sent, or the connection ended before. */
static void on_completed(void *argument, struct MHD_Connection *mhd, void **request_of, enum MHD_RequestTerminationCode end)
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
    /* JSON may write a character as twelve bytes. */
    const uint64_t characters = 12 * (uint64_t)s->char_limit + MIB;
    return s->char_limit && characters < most ? characters : most;
}

/* That all requests together may hold. */
static uint64_t most_bytes(const http *h)
{
    return (uint64_t)BODIES * ((uint64_t)h->server->settings->upload_limit << 20);
}

/* Those who have shown no key leave room for those who have. */
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
        if (find_route(x->path, methods[i], &part, &known)) {
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
    const bool known = keys_know(r->server->keys, r);
    x->keyless = !known && !r->key;
    if (!known && r->key && !small && !keys_allow(r->server->keys, r))
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
    const char *const prefix = h->server->settings->url_prefix, *const inner = without_prefix(prefix ? prefix : "", path);
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
        x->request.route = find_route(x->path, strcmp(method, "HEAD") == 0 ? "GET" : method, &part, &known);
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

static void handle(exchange *x)
{
    request *const r = &x->request;
    if (fields_end(x) && keys_allow(r->server->keys, r)) {
        x->connection->http->keyless -= x->keyless ? x->charged : 0;
        x->keyless = false;
        r->route->handle(r);
    }
}

static void parse(void *argument)
{
    fields_parse(argument);
}

static void parsed(void *argument)
{
    exchange *const x = argument;
    x->parsing = false;
    if (x->left_early)
        exchange_cut(x);
    else
        handle(x);
}

/* The body is complete. */
static void begin_handling(exchange *x)
{
    x->handled = true;
    if (x->dropped)
        answer_too_large(x, largest_body(x) + x->dropped);
    if (x->dropped || !fields_may_parse(x))
        return;
    x->parsing = x->body.size > SMALL && loop_work(x->request.server->loop, parse, parsed, x);
    if (!x->parsing) {
        fields_parse(x);
        handle(x);
    }
}

/* Takes the query away from libmicrohttpd before that splits it. The text that it passes is its own copy, which it is about
 * to change. */
static void *take_query(void *argument, const char *uri, struct MHD_Connection *mhd)
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

/* Called with the headers, with each part of the body, when that is complete, and when the request is resumed. */
static enum MHD_Result on_request(void *argument, struct MHD_Connection *mhd, const char *path, const char *method,
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

/* ---------------------------------------------------------------------------------------------------------------- server */

static void run_daemon(void *argument)
{
    MHD_run(((http *)argument)->daemon);
}

/* Lets libmicrohttpd do what it has to do before the wait. */
static int before_wait(void *argument)
{
    http *const h = argument;
    MHD_UNSIGNED_LONG_LONG wait = 0;
    for (int i = 0; i < 4; i++) {
        const bool limited = MHD_get_timeout(h->daemon, &wait) == MHD_YES;
        if (!h->resumed && (!limited || wait))
            return !limited ? -1 : wait < 60000 ? (int)wait : 60000;
        h->resumed = false;
        MHD_run(h->daemon);
    }
    return 0;
}

static void on_connect(void *argument);

static void accept_again(void *argument)
{
    http *const h = argument;
    bool good = true;
    for (size_t i = 0; i < h->socket_count && h->listening; i++) {
        loop_unwatch(h->server->loop, h->sockets[i]);
        good &= loop_watch(h->server->loop, h->sockets[i], false, on_connect, h);
    }
    if (!good)
        loop_after(h->server->loop, &h->rest, ACCEPT_AGAIN, accept_again, h);
}

/* The clients stay in the sockets' queues, which would wake the loop again and again. */
static void rest_from_accepting(http *h)
{
    for (size_t i = 0; i < h->socket_count; i++)
        loop_unwatch(h->server->loop, h->sockets[i]);
    loop_after(h->server->loop, &h->rest, ACCEPT_AGAIN, accept_again, h);
}

static void accept_from(http *h, int listener)
{
    for (int i = 0; i < ACCEPTED; i++) {
        struct sockaddr_storage address = {0};
        socklen_t size = sizeof address;
        const int socket = accept4(listener, (struct sockaddr *)&address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                rest_from_accepting(h);
            return;
        }
        const int one = 1;
        if (address.ss_family != AF_UNIX)
            setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        MHD_add_connection(h->daemon, socket, (struct sockaddr *)&address, size); /* closes it if it cannot */
    }
}

static void on_connect(void *argument)
{
    http *const h = argument;
    for (size_t i = 0; i < h->socket_count && h->listening; i++)
        accept_from(h, h->sockets[i]);
}

/* As many as there can be descriptors for. */
static unsigned most_connections(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= CONNECTIONS + OTHER_DESCRIPTORS)
        return CONNECTIONS;
    const unsigned descriptors = (unsigned)limit.rlim_cur;
    return descriptors > 2 * OTHER_DESCRIPTORS ? descriptors - OTHER_DESCRIPTORS : descriptors / 2 + 1;
}

/* False: it is open to other machines, too. *port 0: none. */
static bool is_loopback(int socket, unsigned *port)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    *port = 0;
    if (getsockname(socket, (struct sockaddr *)&address, &size) < 0)
        return false;
    if (address.ss_family == AF_INET) {
        const struct sockaddr_in *const in = (struct sockaddr_in *)&address;
        *port = ntohs(in->sin_port);
        return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *const in = (struct sockaddr_in6 *)&address;
        *port = ntohs(in->sin6_port);
        return IN6_IS_ADDR_LOOPBACK(&in->sin6_addr);
    }
    return address.ss_family == AF_UNIX;
}

/* A proxy passes on the names that it has, and who listens for other machines has names that are not known here. */
static void find_own_ports(http *h)
{
    for (size_t i = 0; i < h->socket_count && !h->server->settings->trust_proxy; i++) {
        unsigned port;
        if (!is_loopback(h->sockets[i], &port)) {
            h->own_port_count = 0;
            return;
        }
        if (port)
            h->own_ports[h->own_port_count++] = port;
    }
}

http *http_create(server *s, const int *sockets, size_t count, tr_error *error)
{
    http *const h = calloc(1, sizeof *h);
    bool good = h && (h->sockets = malloc(count * sizeof *h->sockets)) && (h->own_ports = malloc(count * sizeof(unsigned)));
    if (!good) {
        free(h ? h->sockets : NULL);
        free(h);
        tr_fail(error, TR_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    memcpy(h->sockets, sockets, count * sizeof *sockets);
    h->server = s;
    h->socket_count = count;
    h->listening = true;
    find_own_ports(h);
    h->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
                                 on_request, h, MHD_OPTION_URI_LOG_CALLBACK, take_query, h, MHD_OPTION_NOTIFY_COMPLETED,
                                 on_completed, h, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_LIMIT,
                                 most_connections(), MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
    const union MHD_DaemonInfo *const info = h->daemon ? MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    good = info && loop_watch(s->loop, info->epoll_fd, false, run_daemon, h);
    for (size_t i = 0; good && i < count; i++)
        good = loop_watch(s->loop, sockets[i], false, on_connect, h);
    if (!good) {
        tr_fail(error, TR_ERROR_IO, "the HTTP server cannot be started: %s", strerror(errno));
        http_free(h);
        return NULL;
    }
    loop_before_wait(s->loop, before_wait, h);
    return h;
}

void http_stop_listening(http *h)
{
    for (size_t i = 0; i < h->socket_count && h->listening; i++) {
        loop_unwatch(h->server->loop, h->sockets[i]);
        close(h->sockets[i]);
    }
    h->listening = false;
    loop_forget(h->server->loop, &h->rest);
}

void http_give_up(http *h)
{
    for (exchange *x = h->exchanges, *next; x; x = next) {
        next = x->next;
        void (*const left)(void *argument) = x->left;
        if (!x->suspended || x->parsing)
            continue;
        x->left = NULL;
        if (left)
            left(x->left_argument);
        answer_error(&x->request, 503, "the server is being stopped");
    }
}

size_t http_open_requests(const http *h)
{
    return h->open_requests;
}

size_t http_connections(const http *h)
{
    const union MHD_DaemonInfo *const info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

void http_free(http *h)
{
    if (!h)
        return;
    http_stop_listening(h);
    loop_end_work(h->server->loop); /* some parses a body */
    loop_before_wait(h->server->loop, NULL, NULL);
    if (h->daemon) {
        for (exchange *x = h->exchanges; x; x = x->next)
            exchange_cut(x); /* libmicrohttpd does not end while one is suspended */
        const union MHD_DaemonInfo *const info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
        loop_unwatch(h->server->loop, info->epoll_fd);
        MHD_stop_daemon(h->daemon);
    }
    free(h->sockets);
    free(h->own_ports);
    free(h);
}
