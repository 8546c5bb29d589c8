#define _GNU_SOURCE
#include "serve/health.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/clock.h"

enum { PATIENCE = 3 /* seconds in all */ };
static const char lives[] = "HTTP/1.1 200"; /* how the answer of a server that lives begins */

/* Calls on the socket fail with EAGAIN, connect with EINPROGRESS, after the deadline. */
static bool limit_time(int s, uint64_t deadline)
{
    const uint64_t now = tr_nanoseconds();
    if (now >= deadline) {
        errno = EAGAIN;
        return false;
    }
    const uint64_t left = (deadline - now) / 1000 + 1;
    const struct timeval limit = {.tv_sec = (time_t)(left / 1000000), .tv_usec = (suseconds_t)(left % 1000000)};
    return setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
           setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0;
}

/* Sends the request and receives the first `wanted` bytes of the answer; fewer: the server closed the connection. */
static ssize_t fetch_answer(int s, const char *path, char *answer, size_t wanted, uint64_t deadline)
{
    char request[512];
    const int size =
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    if (!limit_time(s, deadline) || send(s, request, (size_t)size, MSG_NOSIGNAL) != size)
        return -1;
    size_t received = 0;
    while (received < wanted) {
        const ssize_t n = limit_time(s, deadline) ? recv(s, answer + received, wanted - received, 0) : -1;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        received += (size_t)n;
    }
    return (ssize_t)received;
}

/* NULL: the server at this address lives. Else why not. */
static const char *ask_server(const struct sockaddr *address, socklen_t size, const char *path, uint64_t deadline)
{
    char answer[sizeof lives - 1];
    ssize_t received = -1;
    const int s = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s >= 0 && limit_time(s, deadline) && connect(s, address, size) == 0)
        received = fetch_answer(s, path, answer, sizeof answer, deadline);
    const int problem = errno;
    if (s >= 0)
        close(s);
    if (received < 0)
        return problem == EAGAIN || problem == EINPROGRESS ? "no answer in time" : strerror(problem);
    if ((size_t)received < sizeof answer || memcmp(answer, lives, sizeof answer) != 0)
        return "it does not say that it lives";
    return NULL;
}

static const char *ask_unix(const char *name, const char *path, uint64_t deadline)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(name) >= sizeof address.sun_path)
        return "is too long for a socket";
    memcpy(address.sun_path, name, strlen(name) + 1);
    return ask_server((struct sockaddr *)&address, sizeof address, path, deadline);
}

/* 0.0.0.0 and ::, at which a server listens, lead to this machine. */
static const char *ask_internet(const char *host, const char *port, const char *path, uint64_t deadline)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    const int problem = getaddrinfo(host, port, &wanted, &found);
    if (problem)
        return gai_strerror(problem);
    const char *why = "";
    for (const struct addrinfo *a = found; a && why; a = a->ai_next)
        why = ask_server(a->ai_addr, a->ai_addrlen, path, deadline);
    freeaddrinfo(found);
    return why;
}

int serve_health(const cli_settings *s)
{
    const uint64_t deadline = tr_nanoseconds() + PATIENCE * UINT64_C(1000000000);
    char path[300], port[16];
    snprintf(path, sizeof path, "%s/health", s->url_prefix ? s->url_prefix : "");
    if (s->unix_socket) {
        const char *const why = ask_unix(s->unix_socket, path, deadline);
        return why ? cli_fail("health: unix:%s: %s", s->unix_socket, why) : CLI_DONE;
    }
    if (!s->port)
        return cli_fail("health: --port 0 does not tell where the server listens");
    snprintf(port, sizeof port, "%d", s->port);
    const char *const why = ask_internet(s->host, port, path, deadline);
    return why ? cli_fail("health: %s, port %s: %s", s->host, port, why) : CLI_DONE;
}
