#define _GNU_SOURCE
#include "serve/loop.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"

enum { WORKERS = 4, ATTENTION_WAITING = 40, EVENTS = 64 };

typedef struct watch {
    struct watch *next; /* of the watches that ended while events of them may be at hand */
    loop_call *call;    /* NULL: it ended */
    void *argument;
    int descriptor;
} watch;

typedef struct work {
    struct work *next;
    loop_call *run, *done;
    void *argument;
} work;

/* A list whose first element is taken next. */
typedef struct work_list {
    work *first, **end;
} work_list;

/* Threads that take work in turn; they start when there is work for them. */
typedef struct pool {
    struct loop *loop;
    pthread_cond_t arrived;
    work_list waiting;
    pthread_t workers[WORKERS];
    int most, worker_count, idle, waiting_count, most_waiting;
} pool;

struct loop {
    int epoll, wake; /* wake: an eventfd that workers write to */
    bool stop;
    watch **watches; /* [watch_count] by descriptor */
    size_t watch_count;
    watch *ended;
    loop_timer *timers; /* the earliest first */
    int (*before_wait)(void *argument);
    void *before_wait_argument;

    pthread_mutex_t lock; /* for the rest */
    work_list finished;
    pool pools[LOOP_APART + 1]; /* the kinds of loop_apart, then the short work */
    pthread_cond_t left;        /* of a worker */
    int living;                 /* workers of all pools */
    bool ending;
};

/* --------------------------------------------------------------------------------------------------------------- watches */

bool loop_watch(loop *l, int descriptor, bool hangup, loop_call *call, void *argument)
{
    if ((size_t)descriptor >= l->watch_count) {
        const size_t count = 2 * (size_t)descriptor + 64;
        watch **const larger = realloc(l->watches, count * sizeof *larger);
        if (!larger)
            return false;
        memset(larger + l->watch_count, 0, (count - l->watch_count) * sizeof *larger);
        l->watches = larger;
        l->watch_count = count;
    }
    watch *const w = malloc(sizeof *w);
    if (!w)
        return false;
    *w = (watch){NULL, call, argument, descriptor};
    struct epoll_event event = {.events = hangup ? EPOLLRDHUP : EPOLLIN, .data.ptr = w};
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, descriptor, &event) < 0) {
        free(w);
        return false;
    }
    l->watches[descriptor] = w;
    return true;
}

void loop_unwatch(loop *l, int descriptor)
{
    watch *const w = descriptor >= 0 && (size_t)descriptor < l->watch_count ? l->watches[descriptor] : NULL;
    if (!w)
        return;
    epoll_ctl(l->epoll, EPOLL_CTL_DEL, descriptor, NULL);
    l->watches[descriptor] = NULL;
    w->call = NULL;
    w->next = l->ended;
    l->ended = w;
}

static void free_ended(loop *l)
{
    for (watch *w; (w = l->ended);) {
        l->ended = w->next;
        free(w);
    }
}

/* ---------------------------------------------------------------------------------------------------------------- timers */

void loop_forget(loop *l, loop_timer *timer)
{
    for (loop_timer **t = &l->timers; *t; t = &(*t)->next)
        if (*t == timer) {
            *t = timer->next;
            return;
        }
}

void loop_after(loop *l, loop_timer *timer, unsigned milliseconds, loop_call *call, void *argument)
{
    loop_forget(l, timer);
    *timer = (loop_timer){NULL, tr_nanoseconds() + milliseconds * UINT64_C(1000000), call, argument};
    loop_timer **t = &l->timers;
    while (*t && (*t)->at <= timer->at)
        t = &(*t)->next;
    timer->next = *t;
    *t = timer;
}

static void call_timers(loop *l)
{
    const uint64_t now = tr_nanoseconds();
    while (l->timers && l->timers->at <= now) {
        loop_timer *const timer = l->timers;
        l->timers = timer->next;
        timer->call(timer->argument);
    }
}

/* Milliseconds until the first timer, rounded up; -1: there is none. */
static int time_to_timer(const loop *l)
{
    const uint64_t now = tr_nanoseconds();
    if (!l->timers)
        return -1;
    if (l->timers->at <= now)
        return 0;
    const uint64_t wait = (l->timers->at - now + 999999) / 1000000;
    return wait < 60000 ? (int)wait : 60000;
}

/* ------------------------------------------------------------------------------------------------------------------ work */

static void append(work_list *list, work *w)
{
    w->next = NULL;
    *list->end = w;
    list->end = &w->next;
}

static work *take_first(work_list *list)
{
    work *const w = list->first;
    if (w && !(list->first = w->next))
        list->end = &list->first;
    return w;
}

static void *work_main(void *argument)
{
    pool *const t = argument;
    loop *const l = t->loop;
    pthread_mutex_lock(&l->lock);
    while (!l->ending) {
        work *const w = take_first(&t->waiting);
        if (!w) {
            t->idle++;
            pthread_cond_wait(&t->arrived, &l->lock);
            t->idle--;
            continue;
        }
        t->waiting_count--;
        pthread_mutex_unlock(&l->lock);
        w->run(w->argument);
        pthread_mutex_lock(&l->lock);
        append(&l->finished, w);
        eventfd_write(l->wake, 1);
    }
    l->living--;
    pthread_cond_signal(&l->left);
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static bool add_work(pool *t, loop_call *run, loop_call *done, void *argument)
{
    loop *const l = t->loop;
    work *const w = malloc(sizeof *w);
    if (!w)
        return false;
    *w = (work){NULL, run, done, argument};
    pthread_mutex_lock(&l->lock);
    if (t->idle <= t->waiting_count && t->worker_count < t->most &&
        pthread_create(&t->workers[t->worker_count], NULL, work_main, t) == 0) {
        t->worker_count++;
        l->living++;
    }
    const bool good = t->worker_count > 0 && !l->ending && t->waiting_count < t->most_waiting;
    if (good) {
        append(&t->waiting, w);
        t->waiting_count++;
    }
    pthread_cond_signal(&t->arrived);
    pthread_mutex_unlock(&l->lock);
    if (!good)
        free(w);
    return good;
}

bool loop_work(loop *l, loop_call *run, loop_call *done, void *argument)
{
    return add_work(&l->pools[LOOP_APART], run, done, argument);
}

bool loop_work_apart(loop *l, loop_apart kind, loop_call *run, loop_call *done, void *argument)
{
    return add_work(&l->pools[kind], run, done, argument);
}

static void finish_work(void *argument)
{
    loop *const l = argument;
    eventfd_t count;
    eventfd_read(l->wake, &count);
    for (;;) {
        pthread_mutex_lock(&l->lock);
        work *const w = take_first(&l->finished);
        pthread_mutex_unlock(&l->lock);
        if (!w)
            return;
        w->done(w->argument);
        free(w);
    }
}

/* ------------------------------------------------------------------------------------------------------------------ loop */

static void set_up_pool(pool *t, loop *l, int most, int most_waiting)
{
    t->loop = l;
    t->most = most;
    t->most_waiting = most_waiting;
    t->waiting.end = &t->waiting.first;
    pthread_cond_init(&t->arrived, NULL);
}

loop *loop_create(tr_error *error)
{
    loop *const l = calloc(1, sizeof *l);
    if (!l) {
        tr_fail(error, TR_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&l->left, &clock);
    pthread_condattr_destroy(&clock);
    set_up_pool(&l->pools[LOOP_APART], l, WORKERS, INT_MAX);
    set_up_pool(&l->pools[LOOP_DOCUMENTS], l, 1, INT_MAX);
    set_up_pool(&l->pools[LOOP_ATTENTION], l, 1, ATTENTION_WAITING);
    l->finished.end = &l->finished.first;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->epoll < 0 || l->wake < 0 || !loop_watch(l, l->wake, false, finish_work, l)) {
        tr_fail(error, TR_ERROR_IO, "the loop cannot be set up: %s", strerror(errno));
        loop_free(l);
        return NULL;
    }
    return l;
}

static void join_pool(pool *t)
{
    for (int i = 0; i < t->worker_count; i++)
        pthread_join(t->workers[i], NULL);
    t->worker_count = 0;
}

static void drop_waiting(pool *t)
{
    for (work *w; (w = take_first(&t->waiting));) {
        w->done(w->argument);
        free(w);
    }
}

bool loop_stop_work(loop *l, unsigned milliseconds)
{
    const uint64_t end = tr_nanoseconds() + milliseconds * UINT64_C(1000000);
    const struct timespec until = {.tv_sec = (time_t)(end / 1000000000), .tv_nsec = (long)(end % 1000000000)};
    pthread_mutex_lock(&l->lock);
    l->ending = true;
    for (int i = 0; i <= LOOP_APART; i++)
        pthread_cond_broadcast(&l->pools[i].arrived);
    while (l->living && pthread_cond_timedwait(&l->left, &l->lock, &until) == 0)
        ;
    const bool stopped = !l->living;
    pthread_mutex_unlock(&l->lock);
    finish_work(l);
    return stopped;
}

void loop_end_work(loop *l)
{
    (void)loop_stop_work(l, 0);
    for (int i = 0; i <= LOOP_APART; i++)
        join_pool(&l->pools[i]);
    finish_work(l);
    for (int i = 0; i <= LOOP_APART; i++)
        drop_waiting(&l->pools[i]);
}

void loop_free(loop *l)
{
    if (!l)
        return;
    loop_end_work(l);
    for (size_t i = 0; i < l->watch_count; i++)
        free(l->watches[i]);
    free(l->watches);
    free_ended(l);
    if (l->epoll >= 0)
        close(l->epoll);
    if (l->wake >= 0)
        close(l->wake);
    pthread_mutex_destroy(&l->lock);
    for (int i = 0; i <= LOOP_APART; i++)
        pthread_cond_destroy(&l->pools[i].arrived);
    pthread_cond_destroy(&l->left);
    free(l);
}

void loop_before_wait(loop *l, int (*call)(void *argument), void *argument)
{
    l->before_wait = call;
    l->before_wait_argument = argument;
}

static int shorter(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

void loop_run(loop *l)
{
    struct epoll_event events[EVENTS];
    while (!l->stop) {
        const int other = l->before_wait ? l->before_wait(l->before_wait_argument) : -1;
        if (l->stop)
            return;
        const int count = epoll_wait(l->epoll, events, EVENTS, shorter(time_to_timer(l), other));
        for (int i = 0; i < count; i++) {
            const watch *const w = events[i].data.ptr;
            if (w->call)
                w->call(w->argument);
        }
        free_ended(l);
        call_timers(l);
    }
}

void loop_stop(loop *l)
{
    l->stop = true;
}
