/* Decoding units on all threads: the threads of a team form groups, each group decodes one batch at a time together.
 * Results do not depend on the number of threads, the groups, or which units share a batch. */
#ifndef TR_PIPELINE_SCHEDULER_H
#define TR_PIPELINE_SCHEDULER_H

#include "decoding/decoding.h"
#include "pipeline/batch.h"
#include "util/team.h"

typedef struct tr_scheduler tr_scheduler;

tr_status tr_scheduler_create(const tr_network *network, int threads, tr_threads backend, int batch_size,
                              tr_scheduler **scheduler, tr_error *error);
void tr_scheduler_destroy(tr_scheduler *scheduler); /* NULL is allowed */
tr_team *tr_scheduler_team(tr_scheduler *scheduler);
/* profiles [threads]: group g of the runs to come adds its times to profiles[g]. NULL: nothing is measured. */
void tr_scheduler_profile(tr_scheduler *scheduler, tr_profile *profiles);

/* One call's work. */
typedef struct tr_job {
    tr_unit *units;
    size_t count;
    tr_decode_options options;
    /* Called as a batch is done, from any thread, one call at a time; false cancels. May be NULL. */
    bool (*done)(void *argument, const tr_unit *units, const size_t *indices, int count);
    void *argument;
    tr_batches batches; /* out: order and the memory of the targets; the caller frees it with tr_batches_free */
} tr_job;

/* Fills target, target_length and finished of all units. On failure some may be filled. */
tr_status tr_scheduler_run(tr_scheduler *scheduler, tr_job *job, tr_error *error);

/* How many groups of how many members: groups * members = threads. A group that shares one batch is for one sentence in
 * flight (batch_size 1) and for fewer units than threads; independent members are for all else. */
typedef struct tr_shape {
    int groups, members;
} tr_shape;

tr_shape tr_scheduler_shape(int threads, int batch_size, size_t units);

#endif
