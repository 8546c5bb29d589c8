/* Teams and barriers: every thread runs once, no thread passes a barrier early, and writes before a barrier are visible
 * after it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "util/team.h"

enum { MOST = 8, ROUNDS = 2000 };

typedef struct shared {
    tr_barrier barrier;
    int threads;
    int runs[MOST];
    long long cells[MOST]; /* not atomic: only the barrier orders accesses */
    int wrong;
} shared;

/* Each round every thread reads what all others wrote in the round before. */
static void add_neighbours(void *argument, int thread)
{
    shared *s = argument;
    s->runs[thread]++;
    for (int round = 1; round <= ROUNDS; round++) {
        s->cells[thread] = round * (thread + 1);
        if (round % 500 == 0 && thread == 0)
            usleep(300); /* the others sleep in the barrier */
        tr_barrier_wait(&s->barrier);
        for (int t = 0; t < s->threads; t++)
            if (s->cells[t] != (long long)round * (t + 1))
                s->wrong = 1 + thread;
        tr_barrier_wait(&s->barrier);
    }
}

static void check_team(int threads, tr_thread_backend backend)
{
    tr_error error;
    tr_team *team;
    assert_int_equal(tr_team_create(threads, backend, &team, &error), TR_OK);
    assert_int_equal(tr_team_size(team), threads);
    shared *s = aligned_alloc(64, (sizeof *s + 63) & ~(size_t)63);
    memset(s, 0, sizeof *s);
    s->threads = threads;
    tr_barrier_init(&s->barrier, threads);
    for (int repeat = 0; repeat < 3; repeat++)
        assert_int_equal(tr_team_run(team, add_neighbours, s, &error), TR_OK);
    for (int t = 0; t < threads; t++)
        assert_int_equal(s->runs[t], 3);
    assert_int_equal(s->wrong, 0);
    free(s);
    tr_team_destroy(team);
}

static void test_teams(void **unused)
{
    (void)unused;
    for (int threads = 1; threads <= 5; threads += 2) {
        check_team(threads, TR_THREADS_POSIX);
        check_team(threads, TR_THREADS_OPENMP);
    }
}

/* A process that may not create threads, as in some containers. Returns 0, or what went wrong. libgomp would end the
 * process. */
static int run_without_threads(tr_thread_backend backend)
{
    enum { NOBODY = 65534 };
    tr_error error;
    tr_team *team;
    struct rlimit none, before;
    shared s = {.threads = 4};
    if (getuid() == 0 && (setgid(NOBODY) || setuid(NOBODY))) /* the limit does not apply to root */
        return 2;
    getrlimit(RLIMIT_NPROC, &before);
    none = (struct rlimit){1, before.rlim_max};
    if (setrlimit(RLIMIT_NPROC, &none) || tr_team_create(4, backend, &team, &error) != TR_OK)
        return 3;
    tr_barrier_init(&s.barrier, 4);
    for (int repeat = 0; repeat < 2; repeat++)
        if (tr_team_run(team, add_neighbours, &s, &error) != TR_ERROR_MEMORY || !strstr(error.message, "does not give 4") ||
            s.runs[0])
            return 4;
    if (setrlimit(RLIMIT_NPROC, &before) || tr_team_run(team, add_neighbours, &s, &error) != TR_OK || s.runs[3] != 1)
        return 5;
    tr_team_destroy(team);
    return 0;
}

static void test_no_threads(void **unused)
{
    (void)unused;
    for (tr_thread_backend backend = TR_THREADS_OPENMP; backend <= TR_THREADS_POSIX; backend++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(run_without_threads(backend));
        int told;
        assert_int_equal(waitpid(child, &told, 0), child);
        assert_int_equal(told, 0);
    }
}

static void test_limits(void **unused)
{
    (void)unused;
    tr_error error;
    tr_team *team = NULL;
    assert_int_equal(tr_team_create(0, TR_THREADS_POSIX, &team, &error), TR_ERROR_ARGUMENT);
    assert_null(team);
    assert_int_equal(tr_team_create(1 << 20, TR_THREADS_POSIX, &team, &error), TR_ERROR_ARGUMENT);
    tr_team_destroy(NULL);
    assert_true(tr_usable_cores() >= 1);
}

static void nested(void *argument, int thread)
{
    tr_error error;
    tr_team **teams = argument;
    shared s = {.threads = 2};
    tr_barrier_init(&s.barrier, 2);
    if (tr_team_run(teams[thread], add_neighbours, &s, &error) != TR_OK || s.wrong || s.runs[0] + s.runs[1] != 2)
        abort();
}

/* In a parallel region of the caller, OpenMP grants one thread, so POSIX threads are used. */
static void test_inside_a_team(void **unused)
{
    (void)unused;
    tr_error error;
    tr_team *outer, *inner[2];
    assert_int_equal(tr_team_create(2, TR_THREADS_OPENMP, &outer, &error), TR_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(tr_team_create(2, TR_THREADS_OPENMP, &inner[i], &error), TR_OK);
    assert_int_equal(tr_team_run(outer, nested, inner, &error), TR_OK);
    for (int i = 0; i < 2; i++)
        tr_team_destroy(inner[i]);
    tr_team_destroy(outer);
}

static void test_shares(void **unused)
{
    (void)unused;
    for (int n = 0; n < 70; n++)
        for (int members = 1; members < 9; members++) {
            int next = 0;
            for (int m = 0; m < members; m++) {
                const tr_range r = tr_share(n, 16, m, members);
                assert_int_equal(r.begin, next);
                assert_true(r.end >= r.begin && (r.end % 16 == 0 || r.end == n));
                next = r.end;
            }
            assert_int_equal(next, n);
        }
}

static void double_it(void *argument)
{
    *(int *)argument *= 2;
}

static void test_task(void **unused)
{
    (void)unused;
    int number = 21;
    tr_task task;
    tr_task_start(&task, double_it, &number);
    tr_task_wait(&task);
    assert_int_equal(number, 42);
}

typedef struct seen {
    char name[16];
    sigset_t blocked;
} seen;

static void look(void *argument, int thread)
{
    seen *s = (seen *)argument + thread;
    pthread_getname_np(pthread_self(), s->name, sizeof s->name);
    pthread_sigmask(SIG_BLOCK, NULL, &s->blocked);
}

/* Handlers of the program run on its own threads, and its masks are as they were; a fault is reported where it is. */
static void test_names_and_signals(void **unused)
{
    (void)unused;
    tr_error error;
    tr_team *team;
    seen threads[2];
    sigset_t after;
    assert_int_equal(tr_team_create(2, TR_THREADS_POSIX, &team, &error), TR_OK);
    assert_int_equal(tr_team_run(team, look, threads, &error), TR_OK);
    tr_team_destroy(team);
    assert_string_equal(threads[1].name, "translate/1");
    assert_string_not_equal(threads[0].name, "translate/0");
    for (int s = 1; s < 32; s++) {
        const bool open = s == SIGBUS || s == SIGSEGV || s == SIGILL || s == SIGFPE || s == SIGTRAP || s == SIGABRT ||
                          s == SIGSYS || s == SIGPIPE || s == SIGXFSZ || s == SIGPROF || s == SIGKILL || s == SIGSTOP;
        assert_int_equal(sigismember(&threads[0].blocked, s), 0);
        assert_int_equal(sigismember(&threads[1].blocked, s), !open);
    }
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGTERM), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_threads), /* first: libgomp's threads do not survive fork */
        cmocka_unit_test(test_teams),      cmocka_unit_test(test_limits), cmocka_unit_test(test_inside_a_team),
        cmocka_unit_test(test_shares),     cmocka_unit_test(test_task),   cmocka_unit_test(test_names_and_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
