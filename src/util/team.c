#define _GNU_SOURCE
#include "util/team.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(_OPENMP)
#include <omp.h>
#endif
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define TR_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TR_THREAD_SANITIZER
#endif
#endif
/* ThreadSanitizer cannot see the synchronisation inside libgomp. */
#if defined(_OPENMP) && !defined(TR_THREAD_SANITIZER)
#define TR_USE_OPENMP
#endif

/* ----------------------------------------------------------------------------------------------------------- barriers */

#if defined(__linux__)
static void sleep_while(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_all(_Atomic uint32_t *word)
{
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}
#else
static void sleep_while(_Atomic uint32_t *word, uint32_t value)
{
    (void)word, (void)value;
    sched_yield();
}

static void wake_all(_Atomic uint32_t *word)
{
    (void)word;
}
#endif

/* Takes 40 to 140 cycles. */
void tr_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

void tr_yield(void)
{
    sched_yield();
}

void tr_barrier_init(tr_barrier *barrier, int count)
{
    atomic_init(&barrier->arrived, 0);
    atomic_init(&barrier->generation, 0);
    atomic_init(&barrier->sleepers, 0);
    barrier->count = (uint32_t)count;
}

void tr_barrier_wait(tr_barrier *barrier)
{
    if (barrier->count == 1)
        return;
    const uint32_t generation = atomic_load_explicit(&barrier->generation, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) + 1 == barrier->count) {
        atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
        /* Sequentially consistent with a sleeper's increment of sleepers: either it sees the new generation, or this thread
         * sees the sleeper. */
        atomic_fetch_add(&barrier->generation, 1);
        if (atomic_load(&barrier->sleepers))
            wake_all(&barrier->generation);
        return;
    }
    for (int spin = 0; spin < TR_SPINS; spin++) {
        if (atomic_load_explicit(&barrier->generation, memory_order_acquire) != generation)
            return;
        tr_pause();
    }
    atomic_fetch_add(&barrier->sleepers, 1);
    while (atomic_load(&barrier->generation) == generation)
        sleep_while(&barrier->generation, generation);
    atomic_fetch_sub(&barrier->sleepers, 1);
}

/* ------------------------------------------------------------------------------------------------------------- threads */

/* These go to the thread that caused them: a blocked fault would end the process, and the program's callbacks, which run on
 * such threads, write files. Profilers need theirs. */
static const int unblocked[] = {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS, SIGPIPE, SIGXFSZ, SIGPROF};

bool tr_thread_start(pthread_t *thread, void *(*function)(void *argument), void *argument)
{
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof unblocked / sizeof *unblocked; i++)
        sigdelset(&blocked, unblocked[i]);
    if (pthread_sigmask(SIG_BLOCK, &blocked, &before) != 0)
        return false;
    const bool started = pthread_create(thread, NULL, function, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void tr_thread_name(int number)
{
    char name[16] = "translate/task";
    if (number)
        snprintf(name, sizeof name, "translate/%d", number);
#if defined(__linux__)
    pthread_setname_np(pthread_self(), name);
#endif
}

/* --------------------------------------------------------------------------------------------------------------- teams */

/* A thread of the POSIX backend. */
typedef struct helper {
    tr_team *team;
    int thread; /* its number in the team */
    pthread_t handle;
} helper;

/* Helper threads of the POSIX backend. Between runs they spin for TR_SPINS pauses, then sleep. */
typedef struct pool {
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    helper *helpers; /* [size - 1] */
    int started;
    atomic_int running;
    _Atomic uint64_t generation; /* of runs */
    atomic_bool stop;
    tr_team_function *function;
    void *argument;
} pool;

struct tr_team {
    int size;
    tr_thread_backend backend;
    pool pool;
};

/* Waits until the generation is no longer `seen`. Returns false if the helpers are to end. */
static bool next_run(pool *p, uint64_t seen)
{
    for (int spin = 0; spin < TR_SPINS && atomic_load(&p->generation) == seen && !atomic_load(&p->stop); spin++)
        tr_pause();
    if (atomic_load(&p->generation) == seen) {
        pthread_mutex_lock(&p->lock);
        while (!atomic_load(&p->stop) && atomic_load(&p->generation) == seen)
            pthread_cond_wait(&p->start, &p->lock);
        pthread_mutex_unlock(&p->lock);
    }
    return !atomic_load(&p->stop);
}

static void *helper_main(void *argument)
{
    const helper *me = argument;
    pool *p = &me->team->pool;
    tr_thread_name(me->thread);
    for (uint64_t seen = 0; next_run(p, seen); seen++) {
        p->function(p->argument, me->thread);
        if (atomic_fetch_sub(&p->running, 1) == 1) {
            pthread_mutex_lock(&p->lock); /* the caller must not be between its check of running and its wait */
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->lock);
        }
    }
    return NULL;
}

/* Starts the helper threads that are still missing. */
static bool pool_start(tr_team *team)
{
    pool *p = &team->pool;
    for (; p->started < team->size - 1; p->started++) {
        helper *h = &p->helpers[p->started];
        h->team = team;
        h->thread = p->started + 1;
        if (!tr_thread_start(&h->handle, helper_main, h))
            return false;
    }
    return true;
}

static bool pool_run(tr_team *team, tr_team_function *function, void *argument)
{
    pool *p = &team->pool;
    if (!pool_start(team))
        return false;
    p->function = function;
    p->argument = argument;
    atomic_store(&p->running, team->size - 1);
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->generation, 1);
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    function(argument, 0);
    for (int spin = 0; spin < TR_SPINS && atomic_load(&p->running); spin++)
        tr_pause();
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->running))
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
    return true;
}

/* Ends the helper threads; pool_start() may start them again. */
static void pool_stop(pool *p)
{
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->stop, true);
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->started; i++)
        pthread_join(p->helpers[i].handle, NULL);
    p->started = 0;
    atomic_store(&p->stop, false);
    atomic_store(&p->generation, 0);
}

#if defined(TR_USE_OPENMP)
/* libgomp ends the process if the system refuses a thread. So the team first starts threads of its own, to see whether it
 * can, and ends them again. libgomp keeps the threads of a region for the next region of the same caller (`kept` of them),
 * so this costs some tens of microseconds a thread, once. A team that has run on threads of its own keeps them. */
static bool openmp_can(tr_team *team, int kept)
{
    if (team->size <= kept || team->pool.started)
        return !team->pool.started;
    const bool can = pool_start(team);
    pool_stop(&team->pool);
    return can;
}
#endif

/* Returns false, with nothing run, if OpenMP or the system grants fewer threads (inside a parallel region of the host, or
 * with OMP_THREAD_LIMIT), and in a build that does not use it. */
static bool openmp_run(tr_team *team, tr_team_function *function, void *argument)
{
#if !defined(TR_USE_OPENMP)
    (void)team, (void)function, (void)argument;
    return false;
#else
    static _Thread_local int kept; /* libgomp's threads belong to the thread that began the region */
    bool complete = false;
    const int size = team->size;
    if (!openmp_can(team, kept))
        return false;
#pragma omp parallel num_threads(size)
    {
        if (omp_get_num_threads() == size) {
            if (omp_get_thread_num() == 0)
                complete = true;
            function(argument, omp_get_thread_num());
        }
    }
    if (complete)
        kept = size;
    return complete;
#endif
}

tr_status tr_team_create(int threads, tr_thread_backend backend, tr_team **team, tr_error *error)
{
    *team = NULL;
    if (threads < 1 || threads > TR_TEAM_MAX)
        return tr_fail(error, TR_ERROR_ARGUMENT, "threads: %d is not between 1 and %d", threads, TR_TEAM_MAX);
    tr_team *t = calloc(1, sizeof *t);
    if (!t || !(t->pool.helpers = calloc((size_t)threads, sizeof *t->pool.helpers))) {
        free(t);
        return tr_fail_memory(error, "threads");
    }
    t->size = threads;
    t->backend = backend;
    pthread_mutex_init(&t->pool.lock, NULL);
    pthread_cond_init(&t->pool.start, NULL);
    pthread_cond_init(&t->pool.done, NULL);
    *team = t;
    return TR_OK;
}

void tr_team_destroy(tr_team *team)
{
    if (!team)
        return;
    pool *p = &team->pool;
    pool_stop(p);
    free(p->helpers);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->start);
    pthread_mutex_destroy(&p->lock);
    free(team);
}

int tr_team_size(const tr_team *team)
{
    return team->size;
}

tr_status tr_team_run(tr_team *team, tr_team_function *function, void *argument, tr_error *error)
{
    if (team->size == 1) {
        function(argument, 0);
        return TR_OK;
    }
    if (team->backend == TR_THREADS_OPENMP && openmp_run(team, function, argument))
        return TR_OK;
    if (pool_run(team, function, argument))
        return TR_OK;
    return tr_fail(error, TR_ERROR_MEMORY, "threads: the system does not give %d: ask for fewer (-T)", team->size);
}

tr_range tr_share(int n, int grain, int thread, int threads)
{
    const int64_t grains = ((int64_t)n + grain - 1) / grain;
    const int64_t begin = grains * thread / threads * grain, end = grains * (thread + 1) / threads * grain;
    return (tr_range){(int)(begin < n ? begin : n), (int)(end < n ? end : n)};
}

/* --------------------------------------------------------------------------------------------------------------- tasks */

static void *run_task(void *argument)
{
    const tr_task *task = argument;
    tr_thread_name(0);
    task->function(task->argument);
    return NULL;
}

void tr_task_start(tr_task *task, void (*function)(void *argument), void *argument)
{
    task->function = function;
    task->argument = argument;
    task->threaded = tr_thread_start(&task->thread, run_task, task);
    if (!task->threaded)
        function(argument);
}

void tr_task_wait(tr_task *task)
{
    if (task->threaded)
        pthread_join(task->thread, NULL);
}
