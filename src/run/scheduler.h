/* Decoding units on all threads: the threads of a team form groups, each group decodes a batch together, and takes the next
 * units as sentences of its batch are complete. Results do not depend on the number of threads, the groups, or which units
 * share a batch. */
#ifndef TR_RUN_SCHEDULER_H
#define TR_RUN_SCHEDULER_H

#include "decoding/forced.h"
#include "run/requests.h"
#include "util/team.h"

typedef struct tr_scheduler tr_scheduler;

tr_status tr_scheduler_create(const tr_ensemble *models, int threads, tr_thread_backend backend, int batch_size,
                              tr_scheduler **scheduler, tr_error *error);
void tr_scheduler_destroy(tr_scheduler *scheduler); /* NULL is allowed */
tr_team *tr_scheduler_team(tr_scheduler *scheduler);
int tr_scheduler_batch_size(const tr_scheduler *scheduler);
/* Before the first run; see tr_worker_set_shortlist. NULL: any token can come. */
void tr_scheduler_set_shortlist(tr_scheduler *scheduler, const tr_shortlist *shortlist);
/* profiles [threads]: group g of the runs to come adds its times to profiles[g]. NULL: nothing is measured. */
void tr_scheduler_profile(tr_scheduler *scheduler, tr_profile *profiles);

/* One call's work. */
typedef struct tr_job {
    tr_request *requests; /* about in the order in which their results are wanted */
    size_t first, count;  /* units[first, first + count) are to be decoded */
    int max_length, min_length;
    const tr_search_options *search; /* NULL: the default */
    bool scores;                     /* log-probabilities where the search does not need them */
    bool loop_guard;                 /* sentences that run in a circle are searched again (guard.h) */
    const tr_decoder_start *start;   /* NULL: the model's own */
    /* [count] of forced decoding, in place of a search: each unit's. begin is called as a unit is taken, and may say what is
     * asked of it; end as it is complete; both from any thread, for several units at a time, and with argument. NULL: a
     * search. */
    tr_forced *forced;
    tr_status (*begin)(void *argument, size_t unit, tr_error *error);
    tr_status (*end)(void *argument, size_t unit, tr_error *error);
    /* Gets units that are complete, linked by next, each once; from any thread that decodes, one call at a time. A status
     * other than TR_OK ends the run with it. May be NULL. */
    tr_status (*done)(void *argument, const tr_request *list, tr_error *error);
    /* Gets each token as it is found, of a search for one hypothesis at a time; again: of a second search, which begins
     * anew. As done, and never while that is called. stop, false at first: true ends the sentence there. May be NULL. */
    tr_status (*token)(void *argument, const tr_request *request, const tr_decoded_token *step, bool again, bool *stop,
                       tr_error *error);
    void *argument;
} tr_job;

/* Fills found, target, target_length and finished of these units. On failure some may be filled. */
tr_status tr_scheduler_run(tr_scheduler *scheduler, tr_job *job, tr_error *error);

/* The threads of a run as groups: every thread belongs to one, and the first ones have a member more than the last where the
 * division leaves a rest. */
typedef struct tr_worker_layout {
    int workers, threads; /* members of the last group, the smallest */
} tr_worker_layout;

/* How threads are divided for units in their order; see scheduler.c for the rule. */
tr_worker_layout tr_scheduler_layout(int threads, int batch_size, const tr_request *requests, const size_t *order,
                                     size_t count);

#endif
