/* Work in phases: each is a number of units, which threads take one after the other; a phase begins when the one before it
 * is done. What a unit computes depends on nothing but its number. */
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
    int first, last; /* phases that are repeated one after the other, at least two; rounds 0: none are */
    int64_t rounds;
    tr_phase list[TR_PHASES];
} tr_phases;

void tr_phases_add(tr_phases *phases, int64_t units, void (*run)(const void *work, int thread, int64_t unit),
                   const void *work);

/* The phases from first on are done so many times, one after the other. Units are numbered on from round to round. */
void tr_phases_repeat(tr_phases *phases, int first, int64_t rounds);

/* Runs them on threads of OpenMP (see util/team.h). */
tr_status tr_phases_run(const tr_phases *phases, int threads, tr_error *error);

/* Threads for a call that asks for a number, 0: for the usable cores, but one alone where less than about a millisecond's
 * work is to be had by sharing. work: multiply-adds; units: what can be shared at most. */
int tr_phases_threads(int asked, double work, int64_t units);

#endif
