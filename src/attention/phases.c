#include "attention/phases.h"

#include <stdatomic.h>

#include "util/team.h"

/* Grains of units for each thread: with fewer, threads end at different times; with more, they contend for the counter. */
enum { GRAINS_EACH = 200 };

typedef struct shared {
    const tr_phases *phases;
    tr_barrier barrier;
    _Atomic int64_t next[TR_PHASES]; /* the first unit that no thread has taken */
} shared;

void tr_phases_add(tr_phases *phases, int64_t units, void (*run)(const void *work, int thread, int64_t unit),
                   const void *work)
{
    phases->list[phases->count++] = (tr_phase){units, run, work};
}

void tr_phases_repeat(tr_phases *phases, int first, int64_t rounds)
{
    phases->first = first;
    phases->last = phases->count - 1;
    phases->rounds = rounds;
}

/* The phase and the round that a thread is in. */
typedef struct place {
    int phase;
    int64_t round;
} place;

/* False: that was the end. */
static bool go_on(const tr_phases *phases, place *at)
{
    if (phases->rounds && at->phase == phases->last && at->round + 1 < phases->rounds) {
        at->phase = phases->first;
        at->round++;
        return true;
    }
    if (at->phase == phases->last)
        at->round = 0;
    return ++at->phase < phases->count;
}

static void run_units(const tr_phase *phase, int thread, int64_t round, int64_t first, int64_t end)
{
    for (int64_t unit = first; unit < end && unit < phase->units; unit++)
        phase->run(phase->work, thread, round * phase->units + unit);
}

static void run_alone(const tr_phases *phases)
{
    place at = {0, 0};
    do
        run_units(&phases->list[at.phase], 0, at.round, 0, INT64_MAX);
    while (go_on(phases, &at));
}

static void run_thread(void *argument, int thread)
{
    shared *r = argument;
    place at = {0, 0}, before = at;
    for (bool more = true; more;) {
        const tr_phase *phase = &r->phases->list[at.phase];
        const int64_t grain = phase->units / ((int64_t)r->barrier.count * GRAINS_EACH) + 1;
        if (thread == 0 && before.phase != at.phase)
            atomic_store_explicit(&r->next[before.phase], 0,
                                  memory_order_relaxed); /* all threads have left it; reset for its next round */
        for (int64_t unit;
             (unit = atomic_fetch_add_explicit(&r->next[at.phase], grain, memory_order_relaxed)) < phase->units;)
            run_units(phase, thread, at.round, unit, unit + grain);
        before = at;
        more = go_on(r->phases, &at);
        if (more)
            tr_barrier_wait(&r->barrier);
    }
}

tr_status tr_phases_run(const tr_phases *phases, int threads, tr_thread_backend backend, tr_error *error)
{
    if (threads == 1) {
        run_alone(phases);
        return TR_OK;
    }
    shared r = {.phases = phases};
    tr_barrier_init(&r.barrier, threads);
    for (int i = 0; i < phases->count; i++)
        atomic_init(&r.next[i], 0);
    tr_team *team;
    tr_status status = tr_team_create(threads, backend, &team, error);
    if (status == TR_OK)
        status = tr_team_run(team, run_thread, &r, error);
    tr_team_destroy(team);
    return status;
}

int tr_phases_threads(int requested, double work, int64_t units)
{
    const double worth_sharing = 1e6; /* starting a team costs about half of that */
    int threads = requested;
    if (!threads)
        threads = work < worth_sharing ? 1 : tr_usable_cores();
    if (threads > units)
        threads = (int)units;
    return threads < TR_TEAM_MAX ? threads : TR_TEAM_MAX;
}
