#define _GNU_SOURCE
#include "cli/progress.h"

#include "util/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR_WIDTH = 24 };

static struct {
    bool running, drawn;
    cli_unit unit;
    cli_progress first;
    double started, last_draw;
} state;

bool cli_progress_possible(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

void cli_progress_start(const cli_progress *at, cli_unit unit)
{
    if (!cli_progress_possible() || at->total == 0)
        return;
    state.running = true;
    state.unit = unit;
    state.first = *at;
    state.started = tr_seconds();
    state.last_draw = state.started; /* short work shows no bar */
}

static int terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 1)
        return 80;
    return size.ws_col;
}

static void format_time(double seconds, char *out, size_t size)
{
    const unsigned long s = seconds < 0 ? 0 : seconds > 3.6e8 ? 360000000ul : (unsigned long)seconds;
    if (s >= 3600)
        snprintf(out, size, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, size, "%lu:%02lu", s / 60, s % 60);
}

static int format_unit(const cli_progress *now, double elapsed, char *out, size_t size)
{
    const double seconds = elapsed > 0 ? elapsed : 1e-9;
    switch (state.unit) {
    case CLI_UNIT_NONE: break;
    case CLI_UNIT_LINES:
        return snprintf(out, size, "  %" PRIu64 " lines  %.0f tokens/s", now->lines,
                        (double)(now->tokens - state.first.tokens) / seconds);
    case CLI_UNIT_BYTES:
        return snprintf(out, size, "  %.1f of %.1f MB  %.1f MB/s", (double)now->done / 1e6, (double)now->total / 1e6,
                        (double)(now->done > state.first.done ? now->done - state.first.done : 0) / 1e6 / seconds);
    }
    return 0;
}

bool cli_progress_left(const cli_progress *first, const cli_progress *now, double elapsed, double *left)
{
    static const double least_seconds = 1, least_share = 0.02, enough_seconds = 10; /* of a job of hours, 2 % is late */
    if (now->done <= first->done || now->total < now->done || elapsed < least_seconds)
        return false;
    const double done = (double)(now->done - first->done), rest = (double)(now->total - now->done);
    *left = elapsed * rest / done;
    return elapsed >= enough_seconds || done >= least_share * (done + rest);
}

/* One row of ASCII, so that columns are bytes. */
static void draw_bar(const cli_progress *now, double elapsed)
{
    char bar[BAR_WIDTH + 1], time[32], row[256];
    double left;
    const double share = now->done >= now->total ? 1 : (double)now->done / (double)now->total;
    const int filled = (int)(share * BAR_WIDTH);
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < filled ? '=' : i == filled ? '>' : ' ';
    bar[BAR_WIDTH] = 0;
    int size = snprintf(row, sizeof row, "[%s] %3d%%", bar, (int)(share * 100));
    size += format_unit(now, elapsed, row + size, sizeof row - (size_t)size);
    if (cli_progress_left(&state.first, now, elapsed, &left)) {
        format_time(left, time, sizeof time);
        size += snprintf(row + size, sizeof row - (size_t)size, "  %s left", time);
    }
    const int width = terminal_width() - 1; /* the last column may wrap */
    fprintf(stderr, "\r%.*s\x1b[K", size < width ? size : width, row);
    fflush(stderr);
    state.drawn = true;
}

void cli_progress_update(const cli_progress *now)
{
    if (!state.running)
        return;
    const double time = tr_seconds();
    if (time - state.last_draw < 0.1)
        return;
    state.last_draw = time;
    draw_bar(now, time - state.started);
}

void cli_progress_clear(void)
{
    if (!state.drawn)
        return;
    fputs("\r\x1b[K", stderr);
    fflush(stderr);
    state.drawn = false;
}

void cli_progress_stop(void)
{
    cli_progress_clear();
    state.running = false;
}

bool cli_progress_drawn(void)
{
    return state.drawn;
}
