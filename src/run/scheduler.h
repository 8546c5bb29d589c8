/* Decoding requests on all threads. The threads of a team form workers; each worker decodes a batch of its own, and takes
 * the next requests as those of its batch are complete. Results do not depend on the number of threads, on the workers, or
 * on which requests share a batch. */
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
/* Settings of the network, in an ensemble of the first one. */
const tr_config *tr_scheduler_config(const tr_scheduler *scheduler);
/* A call of the library begins; from then on tr_scheduler_cancel, from any thread or a signal handler, makes its runs fail
 * with TR_ERROR_CANCELLED, those that come later as well. */
void tr_scheduler_begin(tr_scheduler *scheduler);
void tr_scheduler_cancel(tr_scheduler *scheduler);
/* Sequences that the batches of all threads hold together. */
size_t tr_scheduler_capacity(const tr_scheduler *scheduler);
/* Before the first run; see tr_worker_set_shortlist. NULL: any token can come. */
void tr_scheduler_set_shortlist(tr_scheduler *scheduler, const tr_shortlist *shortlist);
/* profiles [threads]: in later runs worker w adds its times to profiles[w]. NULL: nothing is measured. */
void tr_scheduler_profile(tr_scheduler *scheduler, tr_profile *profiles);

/* The work of one call. */
typedef struct tr_job {
    tr_request *requests; /* about in the order in which their results are wanted */
    size_t first, count;  /* requests[first .. first + count) are to be decoded */
    int max_length, min_length;
    const tr_search_options *search;
    bool scores;                   /* log-probabilities where the search does not need them */
    bool loop_guard;               /* see policy.h */
    const tr_decoder_start *start; /* NULL: the model's own */
    /* NULL, or gives the requests one by one, in place of requests, first and count, to a scheduler of one thread: the next
     * with at most max_tokens source tokens; NULL: none now. Called again later while others are decoded. */
    tr_request *(*next)(void *argument, int max_tokens);
    /* NULL, or called before each step; see tr_decode_callbacks. */
    bool (*step)(void *argument);
    /* Gets a list of complete requests, linked by next, each request once; from any thread that decodes, one call at a time.
     * A status other than TR_OK ends the run with it. May be NULL. */
    tr_status (*done)(void *argument, const tr_request *list, tr_error *error);
    /* Gets each token as it is found, of a search for one hypothesis at a time; again: the loop guard decodes the request
     * once more, from step 0 on. Called as done is, and never at the same time. stop, false at first: true ends the sequence
     * there. May be NULL. */
    tr_status (*token)(void *argument, const tr_request *request, const tr_decoded_token *step, bool again, bool *stop,
                       tr_error *error);
    /* Of tr_run_aligned: NULL, or puts the hypotheses of requests that were searched in another order. on_progress: NULL, or
     * to be called meanwhile, since it may cancel the run. */
    tr_status (*rank)(void *argument, tr_request *requests, size_t count,
                      int (*on_progress)(void *argument, const tr_progress *progress), void *on_progress_argument,
                      tr_error *error);
    void *argument;
} tr_job;

/* Searches for translations: fills found, target, target_length, finished and looped of the job's requests. On failure some
 * may be filled. */
tr_status tr_scheduler_run(tr_scheduler *scheduler, const tr_job *job, tr_error *error);

/* Targets that are given, for forced decoding. begin is called as a request enters a batch, and may allocate what its target
 * asks for; end as it is complete. Both are called from any thread, for several requests at a time, with job->argument. */
typedef struct tr_forced_job {
    tr_forced *targets; /* [job->count] */
    tr_status (*begin)(void *argument, size_t request, tr_error *error);
    tr_status (*end)(void *argument, size_t request, tr_error *error);
} tr_forced_job;

/* Scores the targets. Of the job, requests, count, start, done and argument count; first is 0. */
tr_status tr_scheduler_score(tr_scheduler *scheduler, const tr_job *job, const tr_forced_job *forced, tr_error *error);

#endif
