#define _GNU_SOURCE
#include "util/team.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#if defined(__SANITIZE_THREAD__)
#define TR_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TR_THREAD_SANITIZER
#endif
#endif

/* A thread of the POSIX backend. */
typedef struct helper {
    tr_team *team;
    int thread; /* its number in the team */
    pthread_t handle;
} helper;

/* Helper threads of the POSIX backend: between runs they wait for a moment, then sleep. */
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

/* Waits for the run behind the one that was seen; false: the end. */
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
    for (uint64_t seen = 0; next_run(p, seen); seen++) {
        p->function(p->argument, me->thread);
        if (atomic_fetch_sub(&p->running, 1) == 1) {
            pthread_mutex_lock(&p->lock); /* not between the caller's look at it and its sleep */
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
        if (pthread_create(&h->handle, NULL, helper_main, h) != 0)
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

#if !defined(TR_THREAD_SANITIZER)
/* libgomp ends the process where the system gives it no thread: that there are enough is tried beforehand, with the team's
 * own. The threads of a region stay for the next one of the same caller (kept), so this costs some tens of microseconds a
 * thread, once. A team that had to start its own stays with them. */
static bool openmp_can(tr_team *team, int kept)
{
    if (team->size <= kept || team->pool.started)
        return !team->pool.started;
    const bool can = pool_start(team);
    pool_stop(&team->pool);
    return can;
}
#endif

/* False, with nothing run, where OpenMP grants fewer threads (inside a parallel region of the host, or OMP_THREAD_LIMIT), or
 * the system does, and under ThreadSanitizer, which does not see libgomp's own synchronisation. */
static bool openmp_run(tr_team *team, tr_team_function *function, void *argument)
{
#if defined(TR_THREAD_SANITIZER)
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
        return tr_fail(error, TR_ERROR_MEMORY, "threads: out of memory");
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
