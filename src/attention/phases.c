#include "attention/phases.h"

#include <stdatomic.h>

#include "util/team.h"

enum { GRAINS_EACH = 200 /* that a thread takes: fewer would not end together, more would wait for each other */ };

typedef struct shared {
    const tr_phases *phases;
    tr_barrier barrier;
    _Atomic int64_t next[TR_PHASES]; /* units that are not taken yet */
} shared;

void tr_phases_add(tr_phases *phases, int64_t units, void (*run)(const void *work, int thread, int64_t unit),
                   const void *work)
{
    phases->list[phases->count++] = (tr_phase){units, run, work};
}

static void run_alone(const tr_phases *phases)
{
    for (int i = 0; i < phases->count; i++)
        for (int64_t unit = 0; unit < phases->list[i].units; unit++)
            phases->list[i].run(phases->list[i].work, 0, unit);
}

static void run_member(void *argument, int thread)
{
    shared *r = argument;
    for (int i = 0; i < r->phases->count; i++) {
        const tr_phase *phase = &r->phases->list[i];
        const int64_t grain = phase->units / ((int64_t)r->barrier.count * GRAINS_EACH) + 1;
        for (int64_t unit; (unit = atomic_fetch_add_explicit(&r->next[i], grain, memory_order_relaxed)) < phase->units;)
            for (int64_t end = unit + grain; unit < end && unit < phase->units; unit++)
                phase->run(phase->work, thread, unit);
        if (i + 1 < r->phases->count)
            tr_barrier_wait(&r->barrier);
    }
}

tr_status tr_phases_run(const tr_phases *phases, int threads, tr_error *error)
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
    tr_status status = tr_team_create(threads, TR_THREADS_OPENMP, &team, error);
    if (status == TR_OK)
        status = tr_team_run(team, run_member, &r, error);
    tr_team_destroy(team);
    return status;
}

int tr_phases_threads(int asked, double work, int64_t units)
{
    const double worth_sharing = 1e6; /* starting a team costs as much as half of that */
    int threads = asked;
    if (!threads)
        threads = work < worth_sharing ? 1 : tr_usable_cores();
    if (threads > units)
        threads = (int)units;
    return threads < 1024 ? threads : 1024;
}
