/* Translating with alignments: the hypotheses that a search finds go through the network once more (score.h), for the
 * weights of its cross-attention. */
#ifndef TR_RUN_ALIGNED_H
#define TR_RUN_ALIGNED_H

#include "run/scheduler.h"

/* Whether requests need alignments: all do that options ask for, else those with tags. */
bool tr_needs_alignments(const tr_translate_options *options, const tr_request *requests, size_t request_count);

/* As tr_scheduler_run, but job->rank ranks hypotheses, and they get their alignments, before job->done gets their requests.
 * Requests are taken in rounds of some batches: a round is searched, ranked, aligned, then reported; while it is searched,
 * options->on_progress is called with counts and what was found since. options: resolved. counts: of what was done before;
 * NULL: nothing. */
tr_status tr_run_aligned(tr_scheduler *scheduler, const tr_language_pair *languages, const tr_job *job,
                         const tr_translate_options *options, const tr_progress *counts, tr_error *error);

/* Gives the hypotheses of requests that have been decoded their alignments: those of requests with tags links of all tokens
 * (as with a threshold of 0); the others, if all is true, those that the options ask for. options: resolved, with align and
 * no_scores. */
tr_status tr_align_requests(tr_scheduler *scheduler, const tr_language_pair *languages, tr_request *requests,
                            size_t request_count, bool all, const tr_score_options *options, tr_error *error);

#endif
