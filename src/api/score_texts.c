/* tr_score_texts: texts are cut into tokens, and these scored. */
#include <stdlib.h>
#include <string.h>

#include "run/score.h"
#include "api/spans.h"

typedef struct work {
    tr_context *context;
    tr_score_options options;
    tr_pair languages;
    size_t count;
    tr_text_score *results;       /* [count] */
    tr_tokens *sources, *targets; /* [count] those of results */
    tr_scored_pair *pairs;
    int32_t *memory;
    tr_score *scores; /* [count] */
} work;

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "scores: out of memory");
}

/* Tokens of one text; language: what goes in front of them, -1: nothing. */
static tr_status take_text(work *w, size_t index, bool target, const char *text, const size_t *sizes, tr_tokens *tokens,
                           tr_span **spans, tr_error *error)
{
    tr_text_score *result = &w->results[index];
    if (!text && !(sizes && !sizes[index]))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_score_texts: %s %zu is NULL", target ? "target" : "source",
                       w->options.first_number + index);
    const size_t size = sizes ? sizes[index] : strlen(text);
    const int32_t language = target ? w->languages.start.first_id : -1;
    return tr_text_tokens(w->context->model, target, text, size, language, tokens, spans, &result->flags, error);
}

static tr_status take_texts(work *w, const char *const *sources, const size_t *source_sizes, const char *const *targets,
                            const size_t *target_sizes, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; i < w->count && status == TR_OK; i++) {
        tr_text_score *r = &w->results[i];
        status = take_text(w, i, false, sources[i], source_sizes, &r->source, &r->source_spans, error);
        if (status == TR_OK)
            status = take_text(w, i, true, targets[i], target_sizes, &r->target, &r->target_spans, error);
        w->sources[i] = r->source;
        w->targets[i] = r->target;
    }
    return status;
}

static tr_status score_texts(work *w, const char *const *sources, const size_t *source_sizes, const char *const *targets,
                             const size_t *target_sizes, tr_error *error)
{
    const size_t room = w->count ? w->count : 1;
    w->results = calloc(room, sizeof *w->results);
    w->sources = calloc(room, sizeof *w->sources);
    w->targets = calloc(room, sizeof *w->targets);
    w->scores = calloc(room, sizeof *w->scores);
    if (!w->results || !w->sources || !w->targets || !w->scores)
        return out_of_memory(error);
    tr_status status = take_texts(w, sources, source_sizes, targets, target_sizes, error);
    if (status == TR_OK)
        status = tr_pairs_lay_out(&w->context->config, &w->languages, w->sources, w->targets, w->count, &w->options,
                                  &w->pairs, &w->memory, error);
    if (status == TR_OK)
        status = tr_score_pairs(w->context, w->pairs, w->count, &w->languages.start, &w->options, w->scores, error);
    for (size_t i = 0; i < w->count; i++)
        w->results[i].score = w->scores[i];
    return status;
}

tr_status tr_score_texts(tr_context *context, const char *const *sources, const size_t *source_sizes,
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
    work w = {.context = context, .count = count};
    tr_status status = tr_score_resolve(context->model, options, &w.options, error);
    if (status == TR_OK)
        status =
            tr_pair_choose(context->model, w.options.source_language, w.options.target_language, true, &w.languages, error);
    if (status == TR_OK)
        status = score_texts(&w, sources, source_sizes, targets, target_sizes, error);
    free(w.sources);
    free(w.targets);
    free(w.pairs);
    free(w.memory);
    free(w.scores); /* what they hold is the results' */
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
