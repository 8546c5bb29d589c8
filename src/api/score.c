/* The public calls that score given targets by forced decoding. */
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "api/options.h"
#include "api/tokens.h"
#include "run/score.h"

/* -------------------------------------------------------------------------------------------------------------- tokens */

static tr_status check_target(const tr_config *config, const tr_tokens *target, size_t index, bool end, tr_error *error)
{
    const int limit = config->max_positions - end;
    if (!target->ids && target->count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "target %zu: its ids are NULL", index);
    if (target->count > (size_t)limit)
        return tr_fail(error, TR_ERROR_ARGUMENT, "target %zu: %zu tokens%s, but the model takes %d", index, target->count,
                       end ? " and EOS" : "", config->max_positions);
    for (size_t i = 0; i < target->count; i++)
        if (target->ids[i] < 0 || target->ids[i] >= config->target_vocabulary)
            return tr_fail(error, TR_ERROR_ARGUMENT, "target %zu: token %zu is %d, not an id below %d", index, i,
                           (int)target->ids[i], config->target_vocabulary);
    return TR_OK;
}

/* Makes the pairs of sources and targets: they point into targets and *ids; both are to be freed, on failure as well. */
static tr_status lay_out_pairs(const tr_config *config, const tr_language_pair *languages, const tr_tokens *sources,
                               const tr_tokens *targets, size_t count, const tr_score_options *options,
                               tr_scored_pair **pairs, int32_t **ids, tr_error *error)
{
    const bool end = !options->no_end;
    size_t total = 1;
    for (size_t i = 0; i < count; i++) {
        const size_t number = options->first_number + i;
        tr_status status = tr_source_check(languages, &sources[i], number, error);
        if (status == TR_OK)
            status = check_target(config, &targets[i], number, end, error);
        if (status != TR_OK)
            return status;
        total += sources[i].count + (size_t)tr_source_added(languages) + 1;
    }
    *pairs = calloc(count ? count : 1, sizeof **pairs);
    *ids = calloc(total, sizeof **ids);
    if (!*pairs || !*ids)
        return tr_fail_memory(error, "scores");
    int32_t *at = *ids;
    for (size_t i = 0; i < count; i++) {
        const int length = tr_source_lay_out(languages, &sources[i], at);
        (*pairs)[i] = (tr_scored_pair){.source = at,
                                       .source_length = length,
                                       .first = languages->prefix_count,
                                       .tokens = (int)sources[i].count,
                                       .target = targets[i].ids,
                                       .target_length = (int)targets[i].count,
                                       .finished = end};
        at += length;
    }
    return TR_OK;
}

/* scores: [count], zeroed; on failure some may be made. */
static tr_status score_sources(tr_context *context, const tr_language_pair *languages, const tr_tokens *sources,
                               const tr_tokens *targets, size_t count, const tr_score_options *options, tr_score *scores,
                               tr_error *error)
{
    tr_scored_pair *pairs = NULL;
    int32_t *ids = NULL;
    tr_status status = lay_out_pairs(&context->config, languages, sources, targets, count, options, &pairs, &ids, error);
    if (status == TR_OK)
        status = tr_score_pairs(context->scheduler, pairs, count, &languages->start, options, scores, error);
    free(pairs);
    free(ids);
    return status;
}

tr_status tr_score_ids(tr_context *context, const tr_tokens *sources, const tr_tokens *targets, size_t count,
                       const tr_score_options *options, tr_score **scores, tr_error *error)
{
    if (!scores)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_score_tokens: scores is NULL");
    *scores = NULL;
    if (!context || ((!sources || !targets) && count))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_score_tokens: %s is NULL",
                       !context   ? "context"
                       : !sources ? "sources"
                                  : "targets");
    tr_score_options resolved;
    tr_language_pair languages;
    tr_status status = tr_score_options_resolve(&context->model->package.config, options, &resolved, error);
    if (status == TR_OK)
        status = tr_context_languages(context, resolved.source_language, resolved.target_language, false, &languages, error);
    if (status != TR_OK)
        return status;
    tr_scheduler_begin(context->scheduler);
    tr_score *made = calloc(count ? count : 1, sizeof *made);
    status = made ? score_sources(context, &languages, sources, targets, count, &resolved, made, error)
                  : tr_fail_memory(error, "scores");
    if (status == TR_OK)
        *scores = made;
    else
        tr_score_array_free(made, count);
    return status;
}

void tr_score_array_free(tr_score *scores, size_t count)
{
    tr_scores_clear(scores, count);
    free(scores);
}

/* --------------------------------------------------------------------------------------------------------------- texts */

typedef struct texts_call {
    tr_context *context;
    tr_score_options options;
    tr_language_pair languages;
    size_t count;
    tr_text_score *results;       /* [count] */
    tr_tokens *sources, *targets; /* [count] owned by results */
    tr_score *scores;             /* [count] */
} texts_call;

static tr_status tokenize_text(texts_call *w, size_t index, bool target, const char *text, const size_t *sizes,
                               tr_tokens *tokens, tr_span **spans, tr_error *error)
{
    tr_text_score *result = &w->results[index];
    if (!text && !(sizes && !sizes[index]))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_score_texts: %s %zu is NULL", target ? "target" : "source",
                       w->options.first_number + index);
    const size_t size = sizes ? sizes[index] : strlen(text);
    const int32_t language = target ? w->languages.start.first_id : -1;
    return tr_text_tokens(w->context->model, target, text, size, language, tokens, spans, &result->flags, error);
}

static tr_status tokenize_texts(texts_call *w, const char *const *sources, const size_t *source_sizes,
                                const char *const *targets, const size_t *target_sizes, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; i < w->count && status == TR_OK; i++) {
        tr_text_score *r = &w->results[i];
        status = tokenize_text(w, i, false, sources[i], source_sizes, &r->source, &r->source_spans, error);
        if (status == TR_OK)
            status = tokenize_text(w, i, true, targets[i], target_sizes, &r->target, &r->target_spans, error);
        w->sources[i] = r->source;
        w->targets[i] = r->target;
    }
    return status;
}

static tr_status score_texts(texts_call *w, const char *const *sources, const size_t *source_sizes,
                             const char *const *targets, const size_t *target_sizes, tr_error *error)
{
    const size_t allocated = w->count ? w->count : 1;
    w->results = calloc(allocated, sizeof *w->results);
    w->sources = calloc(allocated, sizeof *w->sources);
    w->targets = calloc(allocated, sizeof *w->targets);
    w->scores = calloc(allocated, sizeof *w->scores);
    if (!w->results || !w->sources || !w->targets || !w->scores)
        return tr_fail_memory(error, "scores");
    tr_status status = tokenize_texts(w, sources, source_sizes, targets, target_sizes, error);
    if (status == TR_OK)
        status = score_sources(w->context, &w->languages, w->sources, w->targets, w->count, &w->options, w->scores, error);
    for (size_t i = 0; i < w->count; i++)
        w->results[i].score = w->scores[i];
    return status;
}

tr_status tr_score_text_pairs(tr_context *context, const char *const *sources, const size_t *source_sizes,
                              const char *const *targets, const size_t *target_sizes, size_t count,
                              const tr_score_options *options, tr_text_score **scores, tr_error *error)
{
    if (!scores)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_score_texts: scores is NULL");
    *scores = NULL;
    if (!context || ((!sources || !targets) && count))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_score_texts: %s is NULL",
                       !context   ? "context"
                       : !sources ? "sources"
                                  : "targets");
    texts_call w = {.context = context, .count = count};
    tr_status status = tr_score_options_resolve(&context->model->package.config, options, &w.options, error);
    if (status == TR_OK)
        status =
            tr_context_languages(context, w.options.source_language, w.options.target_language, true, &w.languages, error);
    tr_scheduler_begin(context->scheduler);
    if (status == TR_OK)
        status = score_texts(&w, sources, source_sizes, targets, target_sizes, error);
    free(w.sources);
    free(w.targets);
    free(w.scores); /* the results own their arrays */
    if (status == TR_OK)
        *scores = w.results;
    else
        tr_text_scores_free(w.results, count);
    return status;
}

void tr_text_scores_free(tr_text_score *scores, size_t count)
{
    for (size_t i = 0; scores && i < count; i++) {
        free(scores[i].source.ids);
        free(scores[i].target.ids);
        free(scores[i].source_spans);
        free(scores[i].target_spans);
        tr_scores_clear(&scores[i].score, 1);
    }
    free(scores);
}
