/* Threads: a team that runs one function on all its threads, barriers between them, and single tasks beside the caller. A
 * team has POSIX threads, or OpenMP's for hosts that use OpenMP themselves. Between runs POSIX threads sleep after 50
 * microseconds at most; libgomp's spin for about seven milliseconds, unless the environment says otherwise (OpenMP's global
 * settings are not changed), and do not survive a fork. POSIX threads are named "translate/N", N from 1, and block all
 * signals but those that a thread causes itself (SIGBUS, SIGPIPE and others) and SIGPROF. */
#ifndef TR_UTIL_TEAM_H
#define TR_UTIL_TEAM_H

#include <pthread.h>

#include "util/error.h"

enum { TR_TEAM_MAX = 1024 }; /* maximum threads of a team */

/* Cores that this process may use: those of its affinity mask, at most the CPU limit of its cgroup. At least 1. */
int tr_usable_cores(void);

/* What the system calls this machine's CPU: "model name" of /proc/cpuinfo on x86; on ARM, where there may be none, the
 * board, or the numbers of implementer and part. "unknown": it says nothing. Printable. root is put before /proc; "" outside
 * tests. */
enum { TR_CPU_NAME = 128 };
void tr_cpu_name(const char *root, char name[TR_CPU_NAME]);

/* The CPU limit of this process's cgroup and its ancestors (versions 1 and 2), rounded up to cores; 0: no limit. root is put
 * before /proc and /sys; "" outside tests. */
int tr_cgroup_cores(const char *root);

/* ---------------------------------------------------------------------------------------------------------------- team */

typedef struct tr_team tr_team;
typedef void tr_team_function(void *argument, int thread);

/* Makes a team, which the caller frees with tr_team_destroy. Threads start with the first run. TR_ERROR_ARGUMENT if threads
 * is not 1 .. TR_TEAM_MAX, TR_ERROR_MEMORY. */
tr_status tr_team_create(int threads, tr_thread_backend backend, tr_team **team, tr_error *error);
void tr_team_destroy(tr_team *team); /* team may be NULL */
int tr_team_size(const tr_team *team);

/* Runs function(argument, t) for t = 0 .. size - 1, each on a thread of its own at the same time (t = 0 on the caller's),
 * and returns when all have returned. Not for several callers at once. TR_ERROR_MEMORY if the system gives fewer threads;
 * then nothing has run. */
tr_status tr_team_run(tr_team *team, tr_team_function *function, void *argument, tr_error *error);

/* A range begin <= i < end. */
typedef struct tr_range {
    int begin, end;
} tr_range;

/* The share of a thread in n units. Shares begin at multiples of grain. */
tr_range tr_share(int n, int grain, int thread, int threads);

/* ------------------------------------------------------------------------------------------------------------- barrier */

/* A barrier for `count` threads. A waiting thread spins for 15 to 50 microseconds, then sleeps. What a thread wrote before
 * the barrier is visible to all threads after it. With a count of 1 it costs nothing. */
typedef struct tr_barrier {
    _Alignas(64) _Atomic uint32_t arrived;
    _Alignas(64) _Atomic uint32_t generation;
    _Atomic uint32_t sleepers;
    uint32_t count;
} tr_barrier;

void tr_barrier_init(tr_barrier *barrier, int count);
void tr_barrier_wait(tr_barrier *barrier);

/* For loops that spin: TR_SPINS pauses take 15 to 50 microseconds. */
enum { TR_SPINS = 1200 };
void tr_pause(void);
void tr_yield(void); /* lets other threads run */

/* ------------------------------------------------------------------------------------------------------------- threads */

/* Starts a thread that the host program's signals never interrupt: handlers run on the program's own threads. */
bool tr_thread_start(pthread_t *thread, void *(*function)(void *argument), void *argument);
/* Names the calling thread "translate/NUMBER" (0: "translate/task"), as ps -L and debuggers show it. */
void tr_thread_name(int number);

/* ---------------------------------------------------------------------------------------------------------------- task */

/* A function that runs beside the caller on a thread of its own. */
typedef struct tr_task {
    void (*function)(void *argument);
    void *argument;
    pthread_t thread;
    bool threaded; /* false: the system gave no thread, and the function has already run */
} tr_task;

/* Starts function(argument). If the system gives no thread, runs it before returning. */
void tr_task_start(tr_task *task, void (*function)(void *argument), void *argument);
/* Waits until the function has returned. Call it once for each start. */
void tr_task_wait(tr_task *task);

#endif
