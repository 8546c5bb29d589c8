#define _GNU_SOURCE
#include "util/process.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

bool tr_program_folder(char *folder, size_t size)
{
    const ssize_t n = readlink("/proc/self/exe", folder, size - 1);
    if (n <= 0 || (size_t)n >= size - 1)
        return false;
    folder[n] = 0;
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = 0;
    return slash != NULL;
}

bool tr_file_runs(const char *path)
{
    return access(path, X_OK) == 0;
}

/* What the program is to have for its standard input and output; NULL: those of this one. */
typedef struct streams {
    int input, output;
} streams;

static int choose_streams(posix_spawn_file_actions_t *actions, const streams *s)
{
    const int problem = posix_spawn_file_actions_adddup2(actions, s->input, STDIN_FILENO);
    return problem ? problem : posix_spawn_file_actions_adddup2(actions, s->output, STDOUT_FILENO);
}

/* Starts the program with the signals that this one had before it began to wait. */
static int start(const char *path, char *const arguments[], const streams *s, const sigset_t *signals, pid_t *child)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int problem = posix_spawnattr_init(&attributes);
    if (problem)
        return problem;
    problem = posix_spawn_file_actions_init(&actions);
    if (!problem) {
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        posix_spawnattr_setsigmask(&attributes, signals);
        problem = s ? choose_streams(&actions, s) : 0;
        if (!problem)
            problem = posix_spawn(child, path, &actions, &attributes, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return problem;
}

/* Returns what waitpid() tells about the child once it has ended; -1 if it tells nothing. A signal that somebody sent may
 * have been for the whole group, so that the child has it, too: it is passed on if that has not ended the child soon. */
static int wait_for(pid_t child, const sigset_t *signals)
{
    const struct timespec soon = {.tv_nsec = 500000000};
    int pending = 0;
    for (;;) {
        int told;
        siginfo_t signal;
        const pid_t ended = waitpid(child, &told, WNOHANG);
        if (ended == child)
            return told;
        if (ended < 0)
            return -1;
        const int number = pending ? sigtimedwait(signals, &signal, &soon) : sigwaitinfo(signals, &signal);
        if (number < 0 && errno == EAGAIN) {
            kill(child, pending);
            pending = 0;
        } else if (number > 0 && number != SIGCHLD && signal.si_code <= 0) { /* not from the terminal */
            pending = number;
        }
    }
}

static tr_status run(const char *path, char *const arguments[], const streams *s, int *status, tr_error *error)
{
    const int caught[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD};
    struct sigaction old_child, keep_child = {.sa_handler = SIG_DFL}; /* where it is ignored, nobody learns the status */
    sigset_t signals, before;
    pid_t child;
    sigemptyset(&signals);
    sigemptyset(&keep_child.sa_mask);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        sigaddset(&signals, caught[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    sigaction(SIGCHLD, &keep_child, &old_child);
    const int problem = start(path, arguments, s, &before, &child);
    const int told = problem ? -1 : wait_for(child, &signals);
    sigaction(SIGCHLD, &old_child, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (problem)
        return tr_fail(error, TR_ERROR_IO, "%s: cannot be started: %s", path, strerror(problem));
    if (told < 0)
        return tr_fail(error, TR_ERROR_IO, "%s: it is not known how it ended", path);
    *status = WIFEXITED(told) ? WEXITSTATUS(told) : 128 + WTERMSIG(told);
    return TR_OK;
}

tr_status tr_process_run(const char *path, char *const arguments[], int *status, tr_error *error)
{
    return run(path, arguments, NULL, status, error);
}

/* ---------------------------------------------------------------------------------------------------------- asking one */

static bool write_all(int descriptor, const char *text, size_t size)
{
    while (size) {
        const ssize_t n = write(descriptor, text, size);
        if (n < 0 && errno != EINTR)
            return false;
        text += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return lseek(descriptor, 0, SEEK_SET) == 0;
}

static bool read_all(int descriptor, tr_buffer *answer)
{
    char part[4096];
    ssize_t n;
    bool good = lseek(descriptor, 0, SEEK_SET) == 0;
    while (good && (n = read(descriptor, part, sizeof part)) != 0)
        good = n > 0 ? tr_buffer_append(answer, part, (size_t)n) : errno == EINTR;
    return good;
}

/* Files in memory take what pipes might have no room for, and nobody has to wait for the other. */
tr_status tr_process_ask(const char *path, char *const arguments[], const char *text, size_t size, tr_buffer *answer,
                         int *status, tr_error *error)
{
    const streams s = {memfd_create("question", MFD_CLOEXEC), memfd_create("answer", MFD_CLOEXEC)};
    tr_status result = TR_OK;
    if (s.input < 0 || s.output < 0 || !write_all(s.input, text, size))
        result = tr_fail(error, TR_ERROR_IO, "%s: cannot be asked: %s", path, strerror(errno));
    if (result == TR_OK)
        result = run(path, arguments, &s, status, error);
    if (result == TR_OK && !read_all(s.output, answer))
        result = tr_fail(error, errno == ENOMEM ? TR_ERROR_MEMORY : TR_ERROR_IO, "%s: its answer cannot be read: %s", path,
                         strerror(errno));
    if (s.input >= 0)
        close(s.input);
    if (s.output >= 0)
        close(s.output);
    return result;
}
