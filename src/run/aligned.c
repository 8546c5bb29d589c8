#include "run/aligned.h"

#include <stdlib.h>

#include "run/score.h"

/* Batches of each thread in a round: searching and aligning take turns on the same working memory. The more, the less often
 * threads wait for a round's last sentences; the fewer, the sooner results come: ranking takes as long as several rounds. */
enum { ROUND_BATCHES = 4, RANKED_ROUND_BATCHES = 1 };

typedef struct aligned_run {
    tr_scheduler *scheduler;
    const tr_language_pair *languages;
    const tr_translate_options *options;
    const tr_job *job; /* the caller's */
    tr_job round;      /* the part of it that is searched and aligned now */
    tr_progress since; /* the caller's counts, and the tokens of this round */
} aligned_run;

/* ------------------------------------------------------------------------------------------------------------- progress */

static tr_status count_requests(void *argument, const tr_request *list, tr_error *error)
{
    aligned_run *a = argument;
    for (; list; list = list->next)
        tr_progress_add(&a->since, list, 0);
    return tr_progress_report(&a->since, a->options->on_progress, a->options->on_progress_argument, error);
}

static tr_status take_token(void *argument, const tr_request *request, const tr_decoded_token *step, bool again, bool *stop,
                            tr_error *error)
{
    const tr_job *job = ((aligned_run *)argument)->job;
    return job->token(job->argument, request, step, again, stop, error);
}

/* While requests are ranked and aligned the counts do not change, but the call can be cancelled. */
static int report_again(void *argument, const tr_progress *progress)
{
    aligned_run *a = argument;
    (void)progress;
    return a->options->on_progress(a->options->on_progress_argument, &a->since);
}

/* ------------------------------------------------------------------------------------------------------------ alignments */

bool tr_needs_alignments(const tr_translate_options *options, const tr_request *requests, size_t request_count)
{
    bool any = options->align && request_count;
    for (size_t u = 0; u < request_count && !any; u++)
        any = requests[u].tagged;
    return any;
}

/* Requests of one kind: those with tags, whose links all matter, or the others. */
typedef struct request_kind {
    tr_request *requests; /* [count] */
    size_t count;
    bool tagged;
} request_kind;

static size_t count_hypotheses(const request_kind *kind)
{
    size_t count = 0;
    for (size_t u = 0; u < kind->count; u++)
        count += kind->requests[u].tagged == kind->tagged ? kind->requests[u].found.count : 0;
    return count;
}

/* EOS is left out: nothing is linked with it, and a target of max_length tokens leaves no position for it. */
static void list_pairs(const tr_language_pair *languages, const request_kind *kind, tr_scored_pair *pairs)
{
    const int after = tr_source_added_after(languages);
    for (size_t u = 0; u < kind->count; u++) {
        const tr_request *request = &kind->requests[u];
        for (size_t h = 0; h < request->found.count && request->tagged == kind->tagged; h++) {
            const tr_hypothesis *found = &request->found.items[h];
            *pairs++ = (tr_scored_pair){.source = request->source,
                                        .source_length = request->source_length,
                                        .first = request->source_length - request->source_tokens - after,
                                        .tokens = request->source_tokens,
                                        .target = found->ids,
                                        .target_length = (int)found->count};
        }
    }
}

static void take_alignments(const request_kind *kind, tr_score *scores)
{
    for (size_t u = 0; u < kind->count; u++) {
        tr_request *request = &kind->requests[u];
        for (size_t h = 0; h < request->found.count && request->tagged == kind->tagged; h++, scores++) {
            request->found.items[h].alignment = scores->alignment;
            scores->alignment = (tr_alignment){0};
        }
    }
}

static tr_status align_kind(tr_scheduler *scheduler, const tr_language_pair *languages, const request_kind *kind,
                            const tr_score_options *options, tr_error *error)
{
    const size_t count = count_hypotheses(kind);
    if (!count)
        return TR_OK;
    tr_score_options o = *options;
    tr_scored_pair *pairs = calloc(count, sizeof *pairs);
    tr_score *scores = calloc(count, sizeof *scores);
    tr_status status = pairs && scores ? TR_OK : tr_fail_memory(error, "alignment");
    if (kind->tagged)
        o.alignment.threshold = 0;
    if (status == TR_OK) {
        list_pairs(languages, kind, pairs);
        status = tr_score_pairs(scheduler, pairs, count, &languages->start, &o, scores, error);
    }
    if (status == TR_OK)
        take_alignments(kind, scores);
    tr_scores_clear(scores, count);
    free(scores);
    free(pairs);
    return status;
}

tr_status tr_align_requests(tr_scheduler *scheduler, const tr_language_pair *languages, tr_request *requests,
                            size_t request_count, bool all, const tr_score_options *options, tr_error *error)
{
    const request_kind tagged = {requests, request_count, true}, others = {requests, request_count, false};
    const tr_status status = align_kind(scheduler, languages, &tagged, options, error);
    return status == TR_OK && all ? align_kind(scheduler, languages, &others, options, error) : status;
}

/* --------------------------------------------------------------------------------------------------------------- rounds */

static tr_status align_round(aligned_run *a, tr_error *error)
{
    const tr_score_options options = {.no_scores = true,
                                      .align = true,
                                      .alignment = a->options->alignment,
                                      .on_progress = a->options->on_progress ? report_again : NULL,
                                      .on_progress_argument = a};
    return tr_align_requests(a->scheduler, a->languages, a->round.requests + a->round.first, a->round.count,
                             a->options->align, &options, error);
}

/* The requests of the round as a list. */
static const tr_request *list_requests(const tr_job *round)
{
    tr_request *requests = round->requests + round->first;
    for (size_t u = 0; u < round->count; u++)
        requests[u].next = u + 1 < round->count ? &requests[u + 1] : NULL;
    return requests;
}

tr_status tr_run_aligned(tr_scheduler *scheduler, const tr_language_pair *languages, const tr_job *job,
                         const tr_translate_options *options, const tr_progress *counts, tr_error *error)
{
    const size_t largest = tr_scheduler_capacity(scheduler) * (job->rank ? RANKED_ROUND_BATCHES : ROUND_BATCHES);
    aligned_run a = {.scheduler = scheduler, .languages = languages, .options = options, .job = job, .round = *job};
    tr_status status = TR_OK;
    a.round.done = options->on_progress ? count_requests : NULL;
    a.round.token = job->token ? take_token : NULL;
    a.round.argument = &a;
    for (size_t first = 0; first < job->count && status == TR_OK; first += largest) {
        a.round.first = first;
        a.round.count = job->count - first < largest ? job->count - first : largest;
        a.since = counts ? *counts : (tr_progress){0};
        status = tr_scheduler_run(scheduler, &a.round, error);
        if (status == TR_OK && job->rank)
            status = job->rank(job->argument, job->requests + first, a.round.count,
                               options->on_progress ? report_again : NULL, &a, error);
        if (status == TR_OK)
            status = align_round(&a, error);
        if (status == TR_OK && job->done)
            status = job->done(job->argument, list_requests(&a.round), error);
    }
    return status;
}
