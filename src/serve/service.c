#define _GNU_SOURCE
#include "serve/service.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/utf8.h"

enum { FIRST_SOCKET = 3 };

/* A number without signs or spaces; false: the variable is not set, or has another value. */
static bool read_number(const char *name, uint64_t *number)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !tr_is_ascii_digit(*text))
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !*end && !errno;
}

/* --------------------------------------------------------------------------------------------------------------- sockets */

static bool has_option(int s, int option, int wanted)
{
    int value;
    socklen_t size = sizeof value;
    return getsockopt(s, SOL_SOCKET, option, &value, &size) == 0 && value == wanted;
}

static bool prepare_socket(int s)
{
    const int flags = fcntl(s, F_GETFL);
    return flags >= 0 && fcntl(s, F_SETFL, flags | O_NONBLOCK) == 0 && fcntl(s, F_SETFD, FD_CLOEXEC) == 0;
}

static bool listens(int s)
{
    const bool family =
        has_option(s, SO_DOMAIN, AF_INET) || has_option(s, SO_DOMAIN, AF_INET6) || has_option(s, SO_DOMAIN, AF_UNIX);
    return family && has_option(s, SO_TYPE, SOCK_STREAM) && has_option(s, SO_ACCEPTCONN, 1);
}

static tr_status take_sockets(int *sockets, size_t max, size_t *count, tr_error *error)
{
    uint64_t process, passed;
    if (!getenv("LISTEN_PID"))
        return TR_OK;
    if (!read_number("LISTEN_PID", &process))
        return tr_fail(error, TR_ERROR_ARGUMENT, "LISTEN_PID: is not a number");
    if (process != (uint64_t)getpid()) /* they are another program's */
        return TR_OK;
    if (!read_number("LISTEN_FDS", &passed) || passed > max)
        return tr_fail(error, TR_ERROR_ARGUMENT, "LISTEN_FDS: is not a number up to %zu", max);
    for (size_t i = 0; i < passed; i++) {
        sockets[i] = FIRST_SOCKET + (int)i;
        if (!listens(sockets[i]))
            return tr_fail(error, TR_ERROR_ARGUMENT, "LISTEN_FDS: descriptor %d is not a stream socket that listens",
                           sockets[i]);
        if (!prepare_socket(sockets[i]))
            return tr_fail(error, TR_ERROR_IO, "LISTEN_FDS: descriptor %d: %s", sockets[i], strerror(errno));
    }
    *count = (size_t)passed;
    return TR_OK;
}

tr_status service_sockets(int *sockets, size_t max, size_t *count, tr_error *error)
{
    *count = 0;
    const tr_status status = take_sockets(sockets, max, count, error);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return status;
}

/* ----------------------------------------------------------------------------------------------------------------- state */

/* The path of a socket, or with @ first, a name that is no path. */
static tr_status connect_to(const char *name, int *s, tr_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t size = strlen(name);
    if ((*name != '/' && *name != '@') || size < 2 || size >= sizeof address.sun_path)
        return tr_fail(error, TR_ERROR_ARGUMENT, "NOTIFY_SOCKET: '%s' is neither a path nor @NAME", name);
    memcpy(address.sun_path, name, size);
    if (*name == '@')
        *address.sun_path = 0;
    const socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (*name == '/'));
    *s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (*s >= 0 && connect(*s, (const struct sockaddr *)&address, length) == 0)
        return TR_OK;
    const int problem = errno;
    if (*s >= 0)
        close(*s);
    *s = -1;
    return tr_fail(error, TR_ERROR_IO, "NOTIFY_SOCKET: %s: %s", name, strerror(problem));
}

/* Half the time after which the service counts as dead, as sd_watchdog_enabled(3) advises. */
static unsigned watchdog_milliseconds(void)
{
    uint64_t process, microseconds;
    if (!read_number("WATCHDOG_USEC", &microseconds) || !microseconds)
        return 0;
    if (getenv("WATCHDOG_PID") && (!read_number("WATCHDOG_PID", &process) || process != (uint64_t)getpid()))
        return 0;
    const uint64_t half = microseconds / 2000;
    return half < 1 ? 1 : half < INT32_MAX ? (unsigned)half : INT32_MAX;
}

tr_status service_open(service *s, tr_error *error)
{
    const char *name = getenv("NOTIFY_SOCKET");
    *s = (service){.notify = -1};
    const tr_status status = name && *name ? connect_to(name, &s->notify, error) : TR_OK;
    if (s->notify >= 0)
        s->watchdog = watchdog_milliseconds();
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return status;
}

void service_close(service *s)
{
    if (s->notify >= 0)
        close(s->notify);
    s->notify = -1;
}

/* It never waits. */
static void tell(const service *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void tell(const service *s, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (s->notify >= 0) {
        const ssize_t sent = send(s->notify, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)sent;
    }
}

void service_status(const service *s, const char *status)
{
    char line[512];
    snprintf(line, sizeof line, "%s", status);
    tr_utf8_make_printable(line); /* a line break would begin another field */
    tell(s, "STATUS=%s", line);
}

void service_ready(const service *s, const char *status)
{
    service_status(s, status);
    tell(s, "READY=1");
}

void service_reloading(const service *s)
{
    tell(s, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, tr_nanoseconds() / 1000);
}

void service_stopping(const service *s)
{
    tell(s, "STOPPING=1");
}

void service_alive(const service *s)
{
    tell(s, "WATCHDOG=1");
}
