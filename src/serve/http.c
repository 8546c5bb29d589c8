/* Connections by libmicrohttpd, which runs in the server's own loop. */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/exchange.h"
#include "serve/loop.h"

enum {
    CONNECTIONS = 20000,          /* at most, where there are descriptors for them */
    OTHER_DESCRIPTORS = 256,      /* of models, queues and what they read */
    ACCEPT_AGAIN = 200,           /* milliseconds, after there was no descriptor for a connection */
    CONNECTION_MEMORY = 10 << 10, /* bytes of a connection for headers and what is sent at once */
    IDLE_SECONDS = 75,            /* without a byte */
    ACCEPTED = 64,                /* connections at once, before others get their turn */
};

/* ----------------------------------------------------------------------------------------------------------- connections */

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
    h->daemon =
        MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
                         exchange_request, h, MHD_OPTION_URI_LOG_CALLBACK, exchange_query, h, MHD_OPTION_NOTIFY_COMPLETED,
                         exchange_completed, h, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
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
