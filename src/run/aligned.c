#include "run/aligned.h"

#include <stdlib.h>

#include "run/score.h"
#include "run/completion.h"

/* Batches of each thread in a round: searching and aligning take turns on the same working memory. The more, the less often
 * threads wait for a round's last sentences; the fewer, the sooner results come. */
enum { ROUND_BATCHES = 4 };

/* A call's work, a round of it at a time. */
typedef struct aligning {
    tr_context *context;
    const tr_pair *languages;
    const tr_translate_options *options;
    const tr_job *job; /* the caller's */
    tr_job round;      /* of the call's units those of the round */
    tr_progress since; /* the caller's counts, and the tokens of this round */
} aligning;

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "alignment: out of memory");
}

/* ------------------------------------------------------------------------------------------------------------- progress */

static tr_status count_units(void *argument, const tr_request *list, tr_error *error)
{
    aligning *a = argument;
    for (; list; list = list->next)
        tr_completion_count(&a->since, list, 0);
    return tr_completion_report(&a->since, a->options, error);
}

static tr_status take_token(void *argument, const tr_request *request, const tr_decoded_token *step, bool again, bool *stop,
                            tr_error *error)
{
    const tr_job *job = ((aligning *)argument)->job;
    return job->token(job->argument, request, step, again, stop, error);
}

/* While units are aligned the counts stand still, but the call can be cancelled. */
static int report_again(void *argument, const tr_progress *progress)
{
    aligning *a = argument;
    (void)progress;
    return a->options->on_progress(a->options->on_progress_argument, &a->since);
}

/* ------------------------------------------------------------------------------------------------------------ alignments */

static size_t count_hypotheses(const tr_request *requests, size_t unit_count)
{
    size_t count = 0;
    for (size_t u = 0; u < unit_count; u++)
        count += requests[u].found.count;
    return count;
}

/* Nothing is linked with the end mark, so it is left out: a target of max_length tokens has no room for it. */
static void list_pairs(const aligning *a, const tr_request *requests, tr_scored_pair *pairs)
{
    for (size_t u = 0; u < a->round.count; u++) {
        const tr_request *request = &requests[u];
        for (size_t h = 0; h < request->found.count; h++) {
            const tr_hypothesis *found = &request->found.items[h];
            *pairs++ = tr_scored_request(a->context, a->languages, request, found->ids, (int)found->count, false);
        }
    }
}

static void take_alignments(tr_request *requests, size_t unit_count, tr_score *scores)
{
    for (size_t u = 0; u < unit_count; u++)
        for (size_t h = 0; h < requests[u].found.count; h++, scores++) {
            requests[u].found.items[h].alignment = scores->alignment;
            scores->alignment = (tr_alignment){0};
        }
}

static tr_status align_round(aligning *a, tr_error *error)
{
    tr_request *requests = a->round.requests + a->round.first;
    const size_t count = count_hypotheses(requests, a->round.count);
    tr_scored_pair *pairs = calloc(count ? count : 1, sizeof *pairs);
    tr_score *scores = calloc(count ? count : 1, sizeof *scores);
    const tr_score_options options = {.no_scores = true,
                                      .align = true,
                                      .alignment = a->options->alignment,
                                      .on_progress = a->options->on_progress ? report_again : NULL,
                                      .on_progress_argument = a};
    tr_status status = pairs && scores ? TR_OK : out_of_memory(error);
    if (status == TR_OK) {
        list_pairs(a, requests, pairs);
        status = tr_score_pairs(a->context, pairs, count, a->round.start, &options, scores, error);
    }
    if (status == TR_OK)
        take_alignments(requests, a->round.count, scores);
    tr_scores_free(scores, scores ? count : 0);
    free(pairs);
    return status;
}

/* --------------------------------------------------------------------------------------------------------------- rounds */

/* The round's units, in order. */
static const tr_request *link_units(const tr_job *round)
{
    tr_request *requests = round->requests + round->first;
    for (size_t u = 0; u < round->count; u++)
        requests[u].next = u + 1 < round->count ? &requests[u + 1] : NULL;
    return requests;
}

tr_status tr_run_aligned(tr_context *context, const tr_pair *languages, tr_job *job, const tr_translate_options *options,
                         const tr_progress *counts, tr_error *error)
{
    const size_t most = (size_t)context->threads * (size_t)tr_scheduler_batch_size(context->scheduler) * ROUND_BATCHES;
    aligning a = {.context = context, .languages = languages, .options = options, .job = job, .round = *job};
    tr_status status = TR_OK;
    a.round.done = options->on_progress ? count_units : NULL;
    a.round.token = job->token ? take_token : NULL;
    a.round.argument = &a;
    for (size_t first = 0; first < job->count && status == TR_OK; first += most) {
        a.round.first = first;
        a.round.count = job->count - first < most ? job->count - first : most;
        a.since = counts ? *counts : (tr_progress){0};
        status = tr_scheduler_run(context->scheduler, &a.round, error);
        if (status == TR_OK)
            status = align_round(&a, error);
        if (status == TR_OK && job->done)
            status = job->done(job->argument, link_units(&a.round), error);
    }
    return status;
}
