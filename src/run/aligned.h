/* Translating with alignments: what a search finds goes through the network once more (score.h), which gives what the
 * decoder looked at. */
#ifndef TR_RUN_ALIGNED_H
#define TR_RUN_ALIGNED_H

#include "api/model.h"

/* What tr_scheduler_run does, and all hypotheses get their alignments. job->done gets units once they have them; until then
 * options->progress is called with counts, and what has been computed since. options: resolved. counts: of what was done
 * before; NULL: nothing. Units are taken in rounds of some batches: one is searched, then aligned, then reported. */
tr_status tr_run_aligned(tr_context *context, const tr_pair *languages, tr_job *job, const tr_translate_options *options,
                         const tr_progress *counts, tr_error *error);

#endif
