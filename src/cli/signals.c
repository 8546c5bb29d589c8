#define _GNU_SOURCE
#include "cli/signals.h"

#include "cli/cli.h"
#include "cli/progress.h"
#include "util/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static int wake[2] = {-1, -1}; /* a pipe, so that poll() returns although another thread got the signal */

static void on_interrupt(int number)
{
    const int saved = errno;
    caught = number;
    const ssize_t ignored = write(wake[1], "", 1);
    (void)ignored;
    errno = saved;
}

void cli_outlive_limits(void)
{
    signal(SIGXFSZ, SIG_IGN);
}

bool cli_catch_interrupts(void)
{
    if (wake[0] >= 0)
        return true;
    if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND}, old;
    sigemptyset(&action.sa_mask);
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* as in nohup and background jobs */
            sigaction(numbers[i], &action, NULL);
    return true;
}

int cli_interrupted(void)
{
    return caught;
}

int cli_interrupt_descriptor(void)
{
    return wake[0];
}

/* Prepared in advance, because a signal handler must not format text. */
static char bus_message[4400];
static size_t bus_size;
static void (*bus_cleanup)(void);

static void on_bus(int number)
{
    static const char clear[] = "\r\x1b[K";
    (void)number;
    ssize_t ignored = cli_progress_drawn() ? write(STDERR_FILENO, clear, sizeof clear - 1) : 0;
    ignored = write(STDERR_FILENO, bus_message, bus_size);
    (void)ignored;
    if (bus_cleanup)
        bus_cleanup();
    _exit(CLI_FAILED);
}

void cli_guard_model_file(const char *path, void (*cleanup)(void))
{
    char shown[TR_PATH];
    snprintf(shown, sizeof shown, "%s", path);
    tr_utf8_make_printable(shown);
    bus_cleanup = cleanup;
    const int size = snprintf(bus_message, sizeof bus_message,
                              "translate: %s: the model file was cut short or became unreadable while in use\n", shown);
    bus_size = size < 0 ? 0 : (size_t)size < sizeof bus_message ? (size_t)size : sizeof bus_message - 1;
    struct sigaction action = {.sa_handler = on_bus};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
