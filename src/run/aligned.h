/* Translating with alignments: the hypotheses that a search finds go through the network once more (score.h), for the
 * weights of its cross-attention. */
#ifndef TR_RUN_ALIGNED_H
#define TR_RUN_ALIGNED_H

#include "run/scheduler.h"

/* As tr_scheduler_run, but all hypotheses get their alignments before job->done gets their requests. Requests are taken in
 * rounds of some batches: a round is searched, then aligned, then reported; while it is searched, options->on_progress is
 * called with counts and what was found since. options: resolved. counts: of what was done before; NULL: nothing. */
tr_status tr_run_aligned(tr_scheduler *scheduler, const tr_language_pair *languages, const tr_job *job,
                         const tr_translate_options *options, const tr_progress *counts, tr_error *error);

/* Gives all hypotheses of requests that have been decoded their alignments. options: resolved, with align and no_scores. */
tr_status tr_align_requests(tr_scheduler *scheduler, const tr_language_pair *languages, tr_request *requests,
                            size_t request_count, const tr_score_options *options, tr_error *error);

#endif
