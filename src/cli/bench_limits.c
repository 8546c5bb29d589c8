/* Peak arithmetic and memory speed, measured on the threads that translate, with the kernels' own primitives. */
#define _GNU_SOURCE
#include "cli/bench.h"

#include "util/arena.h"
#include "util/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 5, AHEAD = 2048 }; /* the best round counts, because a limit is wanted; AHEAD: bytes to prefetch */

static const double round_seconds = 0.05;

/* One measurement: all threads do the same work at the same time. */
typedef struct trial {
    const tr_kernels *kernels;
    int threads, groups;
    void (*run)(struct trial *trial, int thread);
    tr_type type;    /* of multiply-adds */
    size_t ahead;    /* of reading */
    int64_t repeats; /* of each thread's share */
    const bench_work *work;
    char *memory;
    size_t memory_bytes;
    tr_barrier barrier;
    double *done;    /* [threads]: multiply-adds or bytes */
    double *seconds; /* [threads] that it took */
    double longest;
} trial;

static void run_peak(trial *t, int thread)
{
    t->done[thread] = t->kernels->peak(t->type, t->repeats);
}

/* Reads one thread's share of a span, and returns its bytes. */
static size_t read_share(const trial *t, const bench_span *span, int thread, int threads)
{
    const int lines = (int)(span->bytes / 256);
    const tr_range own = tr_share(lines, 1, thread, threads);
    const size_t bytes = (size_t)(own.end - own.begin) * 256;
    t->kernels->read_memory((const char *)span->data + (size_t)own.begin * 256, bytes, t->ahead);
    return bytes;
}

/* Reads the weights of a decoding step without computing: each group reads all of them, its threads share them and meet
 * once. */
static void run_steps(trial *t, int thread)
{
    const int group_threads = t->threads / t->groups;
    double bytes = 0;
    for (int64_t r = 0; r < t->repeats; r++) {
        for (size_t i = 0; i < t->work->step_count; i++)
            bytes += (double)read_share(t, &t->work->step[i], thread % group_threads, group_threads);
        if (group_threads > 1)
            tr_barrier_wait(&t->barrier);
    }
    t->done[thread] = bytes;
}

static void run_memory(trial *t, int thread)
{
    const bench_span all = {t->memory, t->memory_bytes};
    t->done[thread] = (double)read_share(t, &all, thread, t->threads);
}

static void touch_memory(trial *t, int thread)
{
    const tr_range own = tr_share((int)(t->memory_bytes >> 21), 1, thread, t->threads);
    memset(t->memory + ((size_t)own.begin << 21), 1, (size_t)(own.end - own.begin) << 21);
}

/* Measures the CPU time of the thread, so that other programs do not lower the limits; with more threads than cores the wall
 * time, because then CPU times overlap. */
static void run_thread(void *argument, int thread)
{
    trial *t = argument;
    uint64_t (*const read_clock)(void) = t->threads <= tr_usable_cores() ? tr_thread_nanoseconds : tr_nanoseconds;
    tr_barrier_wait(&t->barrier);
    const uint64_t start = read_clock();
    t->run(t, thread);
    t->seconds[thread] = 1e-9 * (double)(read_clock() - start);
}

static int run_once(trial *t, tr_team *team, double *speed)
{
    tr_error error;
    if (tr_team_run(team, run_thread, t, &error))
        return cli_fail_error(&error);
    *speed = t->longest = 0;
    for (int i = 0; i < t->threads; i++) {
        *speed += t->seconds[i] > 0 ? t->done[i] / t->seconds[i] : 0;
        t->longest = t->seconds[i] > t->longest ? t->seconds[i] : t->longest;
    }
    return CLI_DONE;
}

/* Raises *best to the greatest speed of several rounds, each long enough to be timed. */
static int measure_best(trial *t, tr_team *team, bool repeat, double *best)
{
    double speed;
    t->repeats = 1;
    int status = run_once(t, team, &speed); /* also warms the caches */
    while (!status && repeat && t->longest < round_seconds / 4) {
        t->repeats *= 2;
        status = run_once(t, team, &speed);
    }
    if (!status && repeat)
        t->repeats = 1 + (int64_t)((double)t->repeats * round_seconds / t->longest);
    for (int round = 0; !status && round < ROUNDS; round++) {
        status = run_once(t, team, &speed);
        *best = speed > *best ? speed : *best;
    }
    return status;
}

/* The better of reading with and without prefetching. */
static int measure_reading(trial *t, tr_team *team, bool repeat, double *best)
{
    t->ahead = 0;
    const int status = measure_best(t, team, repeat, best);
    t->ahead = AHEAD;
    return status ? status : measure_best(t, team, repeat, best);
}

/* Reads memory too large for caches, in huge pages; less if little is free. */
static int measure_memory(trial *t, tr_team *team, double *best)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), spare = (size_t)sysconf(_SC_AVPHYS_PAGES) * page / 4;
    const size_t wanted = (size_t)512 << 20;
    tr_arena arena;
    tr_error error;
    double ignored;
    t->memory_bytes = (wanted < spare ? wanted : spare) & ~(((size_t)2 << 20) - 1);
    if (tr_arena_init(&arena, t->memory_bytes + ((size_t)4 << 20), &error))
        return cli_fail_error(&error);
    t->memory = (char *)arena.base;
    tr_huge_pages(arena.base, arena.reserved);
    t->run = touch_memory;
    int status = run_once(t, team, &ignored);
    t->run = run_memory;
    if (!status)
        status = measure_reading(t, team, false, best);
    tr_arena_free(&arena);
    return status;
}

int bench_limits_measure(bench_limits *limits, const bench_work *work, const tr_kernels *kernels, tr_team *team, int groups)
{
    *limits = (bench_limits){.step_read = 0};
    trial t = {.kernels = kernels, .threads = tr_team_size(team), .groups = groups, .work = work};
    tr_barrier_init(&t.barrier, t.threads);
    t.done = calloc((size_t)t.threads, sizeof *t.done);
    t.seconds = calloc((size_t)t.threads, sizeof *t.seconds);
    int status = t.done && t.seconds ? CLI_DONE : cli_fail_memory();
    t.run = run_peak;
    for (int type = 0; !status && type < BENCH_TYPES; type++) {
        t.type = (tr_type)type;
        if (work->macs[type] > 0)
            status = measure_best(&t, team, true, &limits->peak[type]);
    }
    t.run = run_steps;
    if (!status)
        status = measure_reading(&t, team, true, &limits->step_read);
    if (!status)
        status = measure_memory(&t, team, &limits->memory_read);
    free(t.done);
    free(t.seconds);
    return status;
}
