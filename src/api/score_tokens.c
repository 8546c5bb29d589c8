/* tr_score_tokens: pairs of tokens to what forced decoding says of them. */
#include <stdlib.h>

#include "run/score.h"
#include "text/sources.h"

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "scores: out of memory");
}

static tr_status check_target(const tr_config *config, const tr_tokens *target, size_t index, bool end, tr_error *error)
{
    const int most = config->max_positions - end;
    if (!target->ids && target->count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "target %zu: its ids are NULL", index);
    if (target->count > (size_t)most)
        return tr_fail(error, TR_ERROR_ARGUMENT, "target %zu: %zu tokens%s, but the model takes %d", index, target->count,
                       end ? " and the end mark" : "", config->max_positions);
    for (size_t i = 0; i < target->count; i++)
        if (target->ids[i] < 0 || target->ids[i] >= config->target_vocabulary)
            return tr_fail(error, TR_ERROR_ARGUMENT, "target %zu: token %zu is %d, not an id below %d", index, i,
                           (int)target->ids[i], config->target_vocabulary);
    return TR_OK;
}

tr_status tr_pairs_lay_out(const tr_config *config, const tr_pair *languages, const tr_tokens *sources,
                           const tr_tokens *targets, size_t count, const tr_score_options *options, tr_scored_pair **pairs,
                           int32_t **memory, tr_error *error)
{
    const bool end = !options->no_end;
    size_t total = 1;
    for (size_t i = 0; i < count; i++) {
        const size_t number = options->first_number + i;
        tr_status status = tr_source_check(config, languages, &sources[i], number, error);
        if (status == TR_OK)
            status = check_target(config, &targets[i], number, end, error);
        if (status != TR_OK)
            return status;
        total += sources[i].count + (size_t)tr_source_marks(config, languages) + 1;
    }
    *pairs = calloc(count ? count : 1, sizeof **pairs);
    *memory = calloc(total, sizeof **memory);
    if (!*pairs || !*memory)
        return out_of_memory(error);
    int32_t *to = *memory;
    for (size_t i = 0; i < count; i++) {
        const int length = tr_source_lay_out(config, languages, &sources[i], to);
        (*pairs)[i] = (tr_scored_pair){.source = to,
                                       .source_length = length,
                                       .first = languages->prefix_count,
                                       .tokens = (int)sources[i].count,
                                       .target = targets[i].ids,
                                       .target_length = (int)targets[i].count,
                                       .finished = end};
        to += length;
    }
    return TR_OK;
}

tr_status tr_score_tokens(tr_context *context, const tr_tokens *sources, const tr_tokens *targets, size_t count,
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
    tr_pair languages;
    tr_status status = tr_score_resolve(context->model, options, &resolved, error);
    if (status == TR_OK)
        status =
            tr_pair_choose(context->model, resolved.source_language, resolved.target_language, false, &languages, error);
    if (status != TR_OK)
        return status;
    tr_scored_pair *pairs = NULL;
    int32_t *memory = NULL;
    tr_score *made = calloc(count ? count : 1, sizeof *made);
    status = made
                 ? tr_pairs_lay_out(&context->config, &languages, sources, targets, count, &resolved, &pairs, &memory, error)
                 : out_of_memory(error);
    if (status == TR_OK)
        status = tr_score_pairs(context, pairs, count, &languages.start, &resolved, made, error);
    free(pairs);
    free(memory);
    if (status == TR_OK)
        *scores = made;
    else
        tr_scores_free(made, count);
    return status;
}
