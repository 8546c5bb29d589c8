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

/* Descriptors for the program's standard input and output. */
typedef struct streams {
    int input, output;
} streams;

static int choose_streams(posix_spawn_file_actions_t *actions, const streams *s)
{
    const int problem = posix_spawn_file_actions_adddup2(actions, s->input, STDIN_FILENO);
    return problem ? problem : posix_spawn_file_actions_adddup2(actions, s->output, STDOUT_FILENO);
}

/* Starts the program with the signal mask `signals`. s NULL: with this program's streams. Returns 0 or an errno. */
static int start_program(const char *path, char *const arguments[], const streams *s, const sigset_t *signals, pid_t *child)
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

/* Waits for the child and returns its wait status; -1 on failure. A signal that was sent to this process may have been sent
 * to the whole group, including the child: it is passed on only if the child has not ended half a second later. */
static int wait_for(pid_t child, const sigset_t *signals)
{
    const struct timespec soon = {.tv_nsec = 500000000};
    int pending = 0;
    for (;;) {
        int status;
        siginfo_t signal;
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return status;
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

static tr_status run_program(const char *path, char *const arguments[], const streams *s, int *status, tr_error *error)
{
    const int caught[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD};
    struct sigaction old_child, keep_child = {.sa_handler = SIG_DFL}; /* while SIGCHLD is ignored, the status is lost */
    sigset_t signals, before;
    pid_t child;
    sigemptyset(&signals);
    sigemptyset(&keep_child.sa_mask);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        sigaddset(&signals, caught[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    sigaction(SIGCHLD, &keep_child, &old_child);
    const int problem = start_program(path, arguments, s, &before, &child);
    const int wait_status = problem ? -1 : wait_for(child, &signals);
    sigaction(SIGCHLD, &old_child, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (problem)
        return tr_fail(error, TR_ERROR_IO, "%s: cannot be started: %s", path, strerror(problem));
    if (wait_status < 0)
        return tr_fail(error, TR_ERROR_IO, "%s: it is not known how it ended", path);
    *status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
    return TR_OK;
}

tr_status tr_process_run(const char *path, char *const arguments[], int *status, tr_error *error)
{
    return run_program(path, arguments, NULL, status, error);
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

/* Uses files in memory instead of pipes, so that neither side ever waits for the other to read or write. */
tr_status tr_process_ask(const char *path, char *const arguments[], const char *text, size_t size, tr_buffer *answer,
                         int *status, tr_error *error)
{
    const streams s = {memfd_create("question", MFD_CLOEXEC), memfd_create("answer", MFD_CLOEXEC)};
    tr_status result = TR_OK;
    if (s.input < 0 || s.output < 0 || !write_all(s.input, text, size))
        result = tr_fail(error, TR_ERROR_IO, "%s: cannot be asked: %s", path, strerror(errno));
    if (result == TR_OK)
        result = run_program(path, arguments, &s, status, error);
    if (result == TR_OK && !read_all(s.output, answer))
        result = tr_fail(error, errno == ENOMEM ? TR_ERROR_MEMORY : TR_ERROR_IO, "%s: its answer cannot be read: %s", path,
                         strerror(errno));
    if (s.input >= 0)
        close(s.input);
    if (s.output >= 0)
        close(s.output);
    return result;
}
