/* A team of threads that runs one function together, with barriers inside: POSIX threads, or OpenMP's for hosts that use it
 * anyhow. Between runs POSIX threads sleep after 50 microseconds at most; libgomp's spin for about seven milliseconds,
 * unless the environment asks otherwise (OpenMP's global settings are left alone), and do not survive fork. */
#ifndef TR_UTIL_TEAM_H
#define TR_UTIL_TEAM_H

#include "util/error.h"

enum { TR_TEAM_MAX = 1024 }; /* threads that anybody may ask for */

typedef struct tr_team tr_team;
typedef void tr_team_function(void *argument, int thread);

/* Cores that this process may use: its affinity mask, and the CPU limit of its cgroup (rounded up); at least 1. */
int tr_usable_cores(void);

/* The CPU limit of this process's cgroup and of those above it (versions 1 and 2), rounded up to cores; 0: none. root is put
 * before /proc and /sys: "". */
int tr_cgroup_cores(const char *root);

tr_status tr_team_create(int threads, tr_thread_backend backend, tr_team **team, tr_error *error);
void tr_team_destroy(tr_team *team); /* NULL is allowed */
int tr_team_size(const tr_team *team);

/* Runs function(argument, t) for t = 0..threads-1, each on its own thread at the same time (t = 0 on the caller's), and
 * returns when all have. One caller at a time. TR_ERROR_MEMORY if the system gives fewer threads: nothing was run. */
tr_status tr_team_run(tr_team *team, tr_team_function *function, void *argument, tr_error *error);

/* A meeting point for count threads of a team. It spins for some 15 to 50 microseconds, then sleeps. What a thread wrote
 * before the barrier is seen by all behind it. count 1 costs nothing. */
typedef struct tr_barrier {
    _Alignas(64) _Atomic uint32_t arrived;
    _Alignas(64) _Atomic uint32_t generation;
    _Atomic uint32_t sleepers;
    uint32_t count;
} tr_barrier;

/* What a thread does while it waits for a moment: this many pauses are 15 to 50 microseconds. */
enum { TR_SPINS = 1200 };
void tr_pause(void);
void tr_yield(void); /* lets other threads run */

void tr_barrier_init(tr_barrier *barrier, int count);
void tr_barrier_wait(tr_barrier *barrier);

/* The share [first, last) of n units that falls to member of members, in multiples of grain. */
typedef struct tr_range {
    int begin, end;
} tr_range;

static inline tr_range tr_share(int n, int grain, int member, int members)
{
    const int64_t grains = ((int64_t)n + grain - 1) / grain;
    const int64_t first = grains * member / members * grain, last = grains * (member + 1) / members * grain;
    return (tr_range){(int)(first < n ? first : n), (int)(last < n ? last : n)};
}

#endif
