#define _GNU_SOURCE
#include "serve/access_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "serve/loop.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/utf8.h"

enum {
    WAIT = 100,        /* milliseconds, in which lines are collected */
    PATIENCE = 2000,   /* milliseconds, in which who reads a pipe must take them */
    MOST = 4 << 20,    /* bytes that may wait; what comes then is lost */
    MODE = 0640,       /* addresses of clients are not for everybody */
    LONGEST_LINE = 512 /* bytes */
};

struct access_log {
    const server *server;
    const char *path; /* NULL: standard output */
    int file;
    tr_buffer lines;
    loop_timer timer;
    bool waits; /* for the timer */
    bool writing;
    uint64_t lost; /* lines, about which nothing has been said yet */
    int next;      /* to be written to after that; -1: none */
    /* Of the thread that writes. */
    tr_buffer written;
    uint64_t dropped; /* lines of it that were not written, */
    int problem;      /* and the errno of that */
};

/* Without waiting for who reads a pipe. */
static int open_file(const char *path)
{
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, MODE);
    const int flags = file < 0 ? -1 : fcntl(file, F_GETFL);
    if (flags >= 0 && fcntl(file, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

static void close_file(const access_log *l)
{
    if (l->path)
        close(l->file);
}

/* The size of the first whole lines that fit into PIPE_BUF bytes, as many as a pipe takes at once when it takes anything. */
static size_t first_lines(const char *lines, size_t size)
{
    const char *const last = memrchr(lines, '\n', size < PIPE_BUF ? size : PIPE_BUF);
    return last ? (size_t)(last - lines) + 1 : size;
}

/* Whether writing to it does not wait, before so many milliseconds are over. */
static bool takes_bytes(int file, int milliseconds)
{
    struct pollfd wanted = {.fd = file, .events = POLLOUT};
    return poll(&wanted, 1, milliseconds) != 0;
}

static uint64_t count_lines(const char *lines, size_t size)
{
    uint64_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += lines[i] == '\n';
    return count;
}

/* The end of the server waits for it: so it does not wait long, nor twice, for who reads a pipe. */
static void write_lines(void *argument)
{
    access_log *const l = argument;
    const uint64_t end = tr_nanoseconds() + (l->problem == ETIMEDOUT ? 0 : PATIENCE * UINT64_C(1000000));
    int problem = 0;
    size_t at = 0;
    while (at < l->written.size && !problem) {
        const char *const lines = l->written.data + at;
        const uint64_t now = tr_nanoseconds();
        const bool takes = takes_bytes(l->file, now < end ? (int)((end - now) / 1000000) : 0);
        const ssize_t n = takes ? write(l->file, lines, first_lines(lines, l->written.size - at)) : 0;
        if (n > 0)
            at += (size_t)n;
        else if (n == 0 || errno != EINTR)
            problem = !takes ? ETIMEDOUT : n == 0 ? EIO : errno;
    }
    if (problem) {
        l->problem = problem;
        l->dropped += count_lines(l->written.data + at, l->written.size - at);
    }
    tr_buffer_clear(&l->written);
}

/* Warns of lost lines, unless the warning itself would have to wait: it may go where the lines go. */
static void report_lost(access_log *l)
{
    l->lost += l->dropped;
    l->dropped = 0;
    if (!l->lost || !takes_bytes(STDERR_FILENO, 0))
        return;
    cli_warn(l->server->settings, "--access-log: lines are lost (%" PRIu64 "): %s", l->lost,
             l->problem == ETIMEDOUT ? "nobody reads them"
             : l->problem            ? strerror(l->problem)
                                     : "too many at once");
    l->lost = 0;
    l->problem = 0;
}

static void start_writing(void *argument);

static void write_soon(access_log *l)
{
    if (l->writing || l->waits)
        return;
    l->waits = true;
    loop_after(l->server->loop, &l->timer, WAIT, start_writing, l);
}

static void hand_over_lines(access_log *l)
{
    const tr_buffer full = l->lines;
    l->lines = l->written;
    l->written = full;
}

static void on_written(void *argument)
{
    access_log *const l = argument;
    l->writing = false;
    report_lost(l);
    if (l->next >= 0) {
        close_file(l);
        l->file = l->next;
        l->next = -1;
    }
    if (l->lines.size)
        write_soon(l);
}

static void start_writing(void *argument)
{
    access_log *const l = argument;
    l->waits = false;
    hand_over_lines(l);
    l->writing = loop_work(l->server->loop, write_lines, on_written, l);
    if (!l->writing)
        write_lines(l);
}

void access_log_add(access_log *l, const char *address, const char *method, const route *answered, unsigned status,
                    uint64_t bytes, double seconds)
{
    char line[LONGEST_LINE], code[16] = "-";
    struct timespec now;
    struct tm utc;
    timespec_get(&now, TIME_UTC);
    gmtime_r(&now.tv_sec, &utc);
    const size_t size = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &utc);
    if (status)
        snprintf(code, sizeof code, "%u", status);
    snprintf(line + size, sizeof line - size, ".%03ldZ %s %s %s %s %" PRIu64 " %.1f", now.tv_nsec / 1000000,
             *address ? address : "-", method, answered ? answered->path : "-", code, bytes, seconds * 1e3);
    tr_utf8_make_printable(line); /* the address may be a proxy's word, and a method is what the client likes */
    if (l->lines.size > MOST || !tr_buffer_string(&l->lines, line) || !tr_buffer_append(&l->lines, "\n", 1)) {
        l->lost++;
        return;
    }
    write_soon(l);
}

tr_status access_log_reopen(access_log *l, tr_error *error)
{
    const int file = l->path ? open_file(l->path) : -1;
    if (l->path && file < 0)
        return tr_fail(error, TR_ERROR_IO, "--access-log %s: %s", l->path, strerror(errno));
    if (!l->path)
        return TR_OK;
    if (l->writing) {
        if (l->next >= 0)
            close(l->next);
        l->next = file;
        return TR_OK;
    }
    close_file(l);
    l->file = file;
    return TR_OK;
}

access_log *access_log_open(const server *s, tr_error *error)
{
    access_log *const l = calloc(1, sizeof *l);
    if (!l) {
        tr_fail_memory(error, "--access-log");
        return NULL;
    }
    *l = (access_log){.server = s, .path = s->settings->access_log, .file = STDOUT_FILENO, .next = -1};
    if (strcmp(l->path, "-") == 0)
        l->path = NULL;
    else if ((l->file = open_file(l->path)) < 0) {
        tr_fail(error, TR_ERROR_IO, "--access-log %s: %s", l->path, strerror(errno));
        free(l);
        return NULL;
    }
    return l;
}

bool access_log_writes(const access_log *l)
{
    return l && l->writing;
}

void access_log_close(access_log *l)
{
    if (!l)
        return;
    loop_forget(l->server->loop, &l->timer);
    write_lines(l); /* if it was not run */
    hand_over_lines(l);
    write_lines(l);
    report_lost(l);
    close_file(l);
    tr_buffer_free(&l->lines);
    tr_buffer_free(&l->written);
    free(l);
}
