/* translate-serve: the server; `translate serve` starts it. */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/signals.h"
#include "serve/access_log.h"
#include "serve/cache.h"
#include "serve/confine.h"
#include "serve/files.h"
#include "serve/glossaries.h"
#include "serve/health.h"
#include "serve/http.h"
#include "serve/keys.h"
#include "serve/loop.h"
#include "serve/metrics.h"
#include "serve/models.h"
#include "serve/service.h"
#include "serve/settings.h"
#include "translate/document.h"

enum { SOCKETS = 16, WAITING = 4096 };
enum { LOOK_AGAIN = 10, ARRIVING = 250, LAST_MOMENT = 500, WORK_ENDS = 500, LOG_ENDS = 2500 }; /* milliseconds */

typedef struct running {
    server server;
    service service;
    int signals;           /* a descriptor */
    tr_document *document; /* keeps the readers of documents loaded; NULL: there are none */
    loop_timer grace, look, alive;
    int listening[SOCKETS];
    size_t listening_count;
    const char *socket_path;       /* to be removed; NULL: none */
    struct stat socket_file;       /* as it was made */
    char address[NI_MAXHOST + 64]; /* for the message */
} running;

/* --------------------------------------------------------------------------------------------------------------- sockets */

/* "::" is all addresses, those of IPv4, too. */
static bool is_all(const struct sockaddr *address)
{
    return address->sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static int listen_at(running *run, const struct sockaddr *address, socklen_t size)
{
    const int one = 1, alone = !is_all(address);
    const int s = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0)
        return -1;
    if (address->sa_family != AF_UNIX)
        setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (address->sa_family == AF_INET6)
        setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &alone, sizeof alone);
    if (bind(s, address, size) < 0 || listen(s, WAITING) < 0) {
        const int problem = errno;
        close(s);
        errno = problem;
        return -1;
    }
    run->listening[run->listening_count++] = s;
    return s;
}

/* Whether nobody listens at a socket that is there: a server that was killed left it. */
static bool is_left_over(const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(address->sun_path, &status) < 0 || !S_ISSOCK(status.st_mode))
        return false;
    const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool refused =
        s >= 0 && connect(s, (const struct sockaddr *)address, sizeof *address) < 0 && errno == ECONNREFUSED;
    if (s >= 0)
        close(s);
    return refused;
}

static int listen_unix(running *run, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return cli_fail("--unix %s: is too long for a socket", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (is_left_over(&address))
        unlink(path);
    if (listen_at(run, (struct sockaddr *)&address, sizeof address) < 0)
        return cli_fail("--unix %s: %s", path, strerror(errno));
    if (lstat(path, &run->socket_file) == 0)
        run->socket_path = path;
    return CLI_DONE;
}

/* Unless another server has put its own there since. Only while the socket is open: later, another one may be the same file
 * for all that can be seen of it. */
static void remove_socket(running *run)
{
    struct stat now;
    if (run->socket_path && lstat(run->socket_path, &now) == 0 && now.st_dev == run->socket_file.st_dev &&
        now.st_ino == run->socket_file.st_ino)
        unlink(run->socket_path);
    run->socket_path = NULL;
}

/* A port that was given as 0 is the first socket's for all. */
static void name_address(running *run)
{
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getsockname(run->listening[0], (struct sockaddr *)&bound, &size) < 0)
        return;
    if (bound.ss_family == AF_UNIX) {
        snprintf(run->address, sizeof run->address, "unix:%s", ((const struct sockaddr_un *)&bound)->sun_path);
        return;
    }
    if (getnameinfo((struct sockaddr *)&bound, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV))
        return;
    const bool six = bound.ss_family == AF_INET6;
    snprintf(run->address, sizeof run->address, "http://%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port);
}

static int listen_internet(running *run, const cli_settings *s)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found;
    char port[16];
    snprintf(port, sizeof port, "%d", s->port);
    const int problem = getaddrinfo(s->host, port, &wanted, &found);
    if (problem)
        return cli_fail("--host %s: %s", s->host, gai_strerror(problem));
    int failed = 0;
    for (const struct addrinfo *a = found; a && run->listening_count < SOCKETS; a = a->ai_next) {
        const int socket = listen_at(run, a->ai_addr, a->ai_addrlen);
        failed = socket < 0 ? errno : failed;
    }
    freeaddrinfo(found);
    if (!run->listening_count && failed == EADDRINUSE)
        return cli_fail("port %d is in use: choose another with --port N", s->port);
    return run->listening_count ? CLI_DONE : cli_fail("%s, port %d: %s", s->host, s->port, strerror(failed));
}

/* At the service manager's sockets, if there are any; else at those of the options. */
static int listen_all(running *run, const cli_settings *s)
{
    tr_error error;
    if (service_sockets(run->listening, SOCKETS, &run->listening_count, &error))
        return cli_fail_error(&error);
    int status = CLI_DONE;
    if (!run->listening_count)
        status = s->unix_socket ? listen_unix(run, s->unix_socket) : listen_internet(run, s);
    if (!status)
        name_address(run);
    return status;
}

/* --------------------------------------------------------------------------------------------------------------- signals */

static void end_if_done(void *argument)
{
    running *const run = argument;
    if (http_open_requests(run->server.http))
        loop_after(run->server.loop, &run->look, LOOK_AGAIN, end_if_done, run);
    else
        loop_stop(run->server.loop);
}

static void refuse_work(void *argument)
{
    running *const run = argument;
    run->server.refusing = true;
    end_if_done(run);
}

static void end_now(void *argument)
{
    running *const run = argument;
    loop_stop(run->server.loop);
}

/* The grace time is over: who waits is told, and gets a moment to receive it. */
static void give_up(void *argument)
{
    running *const run = argument;
    http_give_up(run->server.http);
    loop_after(run->server.loop, &run->grace, LAST_MOMENT, end_now, run);
}

/* Finishes what was accepted; a second signal does not wait for it. */
static void begin_end(running *run)
{
    server *const s = &run->server;
    if (s->stopping) {
        loop_stop(s->loop);
        return;
    }
    s->stopping = true;
    service_stopping(&run->service);
    remove_socket(run);
    http_stop_listening(s->http);
    loop_after(s->loop, &run->grace, (unsigned)s->settings->grace * 1000, give_up, run);
    /* A request may be on its way through a connection that was just accepted. */
    if (http_connections(s->http) > http_open_requests(s->http))
        loop_after(s->loop, &run->look, ARRIVING, refuse_work, run);
    else
        refuse_work(run);
}

static void tell_ready(running *run)
{
    char status[sizeof run->address + 16];
    snprintf(status, sizeof status, "serving at %s", run->address);
    service_ready(&run->service, status);
}

/* All has been read again; error: of the glossaries, which come last. */
static void on_read_again(void *argument, const tr_error *error)
{
    running *const run = argument;
    const server *const s = &run->server;
    if (s->stopping)
        return;
    if (error)
        cli_warn(s->settings, "%s", error->message);
    if (!s->settings->quiet)
        cli_note("read again: models: %zu, keys: %zu, glossaries: %zu", models_count(s->models), keys_count(s->keys),
                 glossaries_count(s->glossaries));
    tell_ready(run);
}

static void read_again(running *run)
{
    const server *const s = &run->server;
    tr_error error;
    service_reloading(&run->service);
    if (models_reload(s->models, &error))
        cli_warn(s->settings, "%s", error.message);
    if (keys_reload(s->keys, &error))
        cli_warn(s->settings, "%s", error.message);
    if (s->access_log && access_log_reopen(s->access_log, &error))
        cli_warn(s->settings, "%s", error.message);
    glossaries_reload(s->glossaries, on_read_again, run);
}

static void on_signal(void *argument)
{
    running *const run = argument;
    struct signalfd_siginfo signal;
    while (read(run->signals, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGHUP)
            read_again(run);
        else
            begin_end(run);
    }
}

/* Before any thread starts, so that all have these signals blocked. */
static bool catch_signals(running *run)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    run->signals = sigprocmask(SIG_BLOCK, &set, NULL) == 0 ? signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK) : -1;
    return run->signals >= 0;
}

/* ---------------------------------------------------------------------------------------------------------------- server */

static tr_status create(running *run, tr_error *error)
{
    server *const s = &run->server;
    if (!(s->loop = loop_create(error)) || !(s->keys = keys_create(s, error)) || !(s->models = models_create(s, error)) ||
        !(s->glossaries = glossaries_create(s, error)) || !(s->files = files_create(s, error)))
        return error->status;
    const size_t cached = (size_t)s->settings->cache << 20;
    if (s->settings->access_log && !(s->access_log = access_log_open(s, error)))
        return error->status;
    if (!(s->metrics = metrics_create()) || (cached && !(s->cache = cache_create(cached))))
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    if (!(s->http = http_create(s, run->listening, run->listening_count, error)))
        return error->status;
    tr_document_parse("a.txt", "", 0, NULL, &run->document, NULL);
    if (!loop_watch(s->loop, run->signals, false, on_signal, run))
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    return TR_OK;
}

/* The lines of the log are the one work that is waited for, which it limits itself. */
static bool work_stops(const server *s)
{
    return !s->loop || loop_stop_work(s->loop, WORK_ENDS) ||
           (access_log_writes(s->access_log) && loop_stop_work(s->loop, LOG_ENDS));
}

/* Requests first, which use all the rest. Nothing is left to be done by work that takes long, such as reading a document:
 * the process does not wait for it. */
static void destroy(running *run, int status)
{
    server *const s = &run->server;
    s->stopping = s->refusing = true;
    remove_socket(run);
    if (!work_stops(s)) {
        if (!access_log_writes(s->access_log))
            access_log_close(s->access_log);
        _exit(status);
    }
    http_free(s->http);
    if (s->loop)
        loop_end_work(s->loop);
    files_end(s->files);
    models_end(s->models);
    files_free(s->files);
    models_free(s->models);
    glossaries_free(s->glossaries);
    keys_free(s->keys);
    cache_free(s->cache);
    metrics_free(s->metrics);
    access_log_close(s->access_log);
    tr_document_free(run->document);
    loop_free(s->loop);
    service_close(&run->service);
}

static void be_alive(void *argument)
{
    running *const run = argument;
    service_alive(&run->service);
    loop_after(run->server.loop, &run->alive, run->service.watchdog, be_alive, run);
}

/* In the order that the sandbox asks for: connections, then no more of them, then threads. */
static int begin(running *run, const cli_settings *settings)
{
    tr_error error;
    if (service_open(&run->service, &error))
        cli_warn(settings, "%s", error.message);
    const int status = listen_all(run, settings);
    if (status)
        return status;
    return serve_confine(settings, &error) || create(run, &error) ? cli_fail_error(&error) : CLI_DONE;
}

/* A connection needs one; the usual limit of 1,024 is for programs that use select(). */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int serve(const cli_settings *settings)
{
    running run = {.server.settings = settings};
    raise_descriptors();
    if (!catch_signals(&run))
        return cli_fail("signals: cannot be caught: %s", strerror(errno));
    const int status = begin(&run, settings);
    if (!status) {
        if (!settings->quiet)
            cli_note("serving at %s", run.address);
        tell_ready(&run);
        if (run.service.watchdog)
            be_alive(&run);
        loop_run(run.server.loop);
    }
    destroy(&run, status);
    return status;
}

static const cli_command command = {
    "translate serve", CMD_SERVE, serve, 0, 0, NULL, "translate-serve [OPTIONS]", "Use 'translate serve'.\n", NULL, NULL,
};

int main(int argc, char **argv)
{
    serve_settings settings;
    cli_outlive_limits();
    int status = serve_settings_read(&settings, &command, argv + 1, argc - 1);
    if (!status && (settings.options.help || settings.options.short_help))
        printf("Usage: %s\n\n%s", command.usage, command.about);
    else if (!status && settings.options.version)
        printf("translate %s\n", tr_version());
    else if (!status && settings.options.health)
        status = serve_health(&settings.options);
    else if (!status)
        status = serve(&settings.options);
    serve_settings_free(&settings);
    return status;
}
