/* Runs work in phases on several threads. A phase is a number of units, which threads take in order; the next phase begins
 * when all units are done. What a unit computes depends only on its number. */
#ifndef TR_ATTENTION_PHASES_H
#define TR_ATTENTION_PHASES_H

#include "util/error.h"

enum { TR_PHASES = 8 };

typedef struct tr_phase {
    int64_t units;
    void (*run)(const void *work, int thread, int64_t unit);
    const void *work;
} tr_phase;

typedef struct tr_phases {
    int count;
    int first, last; /* phases first .. last, at least two, are run `rounds` times in turn; rounds 0: none is repeated */
    int64_t rounds;
    tr_phase list[TR_PHASES];
} tr_phases;

void tr_phases_add(tr_phases *phases, int64_t units, void (*run)(const void *work, int thread, int64_t unit),
                   const void *work);

/* Repeats the phases from `first` to the last one added. The numbers of units continue from round to round. */
void tr_phases_repeat(tr_phases *phases, int first, int64_t rounds);

/* Runs the phases on a team of threads (util/team.h). TR_ERROR_MEMORY if the system gives fewer threads. */
tr_status tr_phases_run(const tr_phases *phases, int threads, tr_thread_backend backend, tr_error *error);

/* Returns the threads for a call: the number requested; 0 means all usable cores, but one if the work is too small to share.
 * work: multiply-adds; units: maximum threads that can have work. */
int tr_phases_threads(int requested, double work, int64_t units);

#endif
