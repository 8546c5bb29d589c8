#include "api/result.h"

#include <stdlib.h>
#include <string.h>

/* A copy of count elements; NULL where there are none. False: memory is short. */
static bool copy(const void *from, size_t count, size_t size, void **to)
{
    *to = NULL;
    if (!from)
        return true;
    *to = malloc(count * size + 1);
    if (*to && count)
        memcpy(*to, from, count * size);
    return *to != NULL;
}

static bool copy_tokens(const tr_tokens *from, const tr_span *spans, tr_tokens *to, tr_span **to_spans)
{
    void *ids, *places = NULL;
    const bool good =
        copy(from->ids, from->count, sizeof *from->ids, &ids) && copy(spans, from->count, sizeof *spans, &places);
    *to = (tr_tokens){ids, from->count};
    *to_spans = places;
    return good;
}

static bool copy_links(const tr_alignment *from, tr_alignment *to)
{
    void *links;
    const bool good = copy(from->links, from->count, sizeof *from->links, &links);
    *to = (tr_alignment){links, from->count};
    return good;
}

static bool copy_hypothesis(const tr_translation *from, tr_translation *to)
{
    void *text;
    const bool good = copy(from->text, from->size + 1, 1, &text);
    *to = *from;
    to->text = text;
    to->target = (tr_tokens){0};
    to->target_spans = NULL;
    to->alignment = (tr_alignment){0};
    return good && copy_tokens(&from->target, from->target_spans, &to->target, &to->target_spans) &&
           copy_links(&from->alignment, &to->alignment);
}

static bool copy_hypotheses(const tr_result *from, tr_result *to)
{
    if (!from->hypotheses)
        return true;
    to->hypotheses = calloc(from->hypothesis_count + 1, sizeof *to->hypotheses);
    bool good = to->hypotheses;
    for (size_t i = 0; good && i < from->hypothesis_count; i++)
        good = copy_hypothesis(&from->hypotheses[i], &to->hypotheses[i]);
    return good;
}

/* What a result says but for what it owns. */
static tr_result plain(const tr_result *from)
{
    tr_result to = *from;
    to.text = NULL;
    to.scored = NULL;
    to.hypotheses = NULL;
    to.source = to.target = (tr_tokens){0};
    to.source_spans = to.target_spans = NULL;
    to.alignment = (tr_alignment){0};
    return to;
}

tr_status tr_result_copy(const tr_result *from, tr_result *to, tr_error *error)
{
    void *text, *scored = NULL;
    *to = plain(from);
    bool good =
        copy(from->text, from->size + 1, 1, &text) && copy(from->scored, from->scored_count, sizeof *from->scored, &scored);
    to->text = text;
    to->scored = scored;
    good = good && copy_hypotheses(from, to) &&
           copy_tokens(&from->source, from->source_spans, &to->source, &to->source_spans) &&
           copy_tokens(&from->target, from->target_spans, &to->target, &to->target_spans) &&
           copy_links(&from->alignment, &to->alignment);
    if (good)
        return TR_OK;
    tr_result_clear(to);
    return tr_fail(error, TR_ERROR_MEMORY, "result: out of memory");
}

static void clear_hypothesis(tr_translation *hypothesis)
{
    free(hypothesis->text);
    free(hypothesis->target.ids);
    free(hypothesis->target_spans);
    free(hypothesis->alignment.links);
}

void tr_result_clear(tr_result *result)
{
    for (size_t i = 0; result->hypotheses && i < result->hypothesis_count; i++)
        clear_hypothesis(&result->hypotheses[i]);
    free(result->hypotheses);
    free(result->scored);
    free(result->text);
    free(result->source.ids);
    free(result->target.ids);
    free(result->source_spans);
    free(result->target_spans);
    free(result->alignment.links);
    *result = (tr_result){0};
}

/* Tokens with their spans, and links. */
static size_t aligned_bytes(const tr_tokens *tokens, const tr_alignment *alignment)
{
    return tokens->count * (sizeof *tokens->ids + sizeof(tr_span)) + alignment->count * sizeof *alignment->links;
}

size_t tr_result_bytes(const tr_result *result)
{
    size_t bytes = result->size + 1 + result->scored_count * sizeof *result->scored;
    bytes += aligned_bytes(&result->target, &result->alignment) + aligned_bytes(&result->source, &(tr_alignment){0});
    for (size_t i = 0; result->hypotheses && i < result->hypothesis_count; i++) {
        const tr_translation *h = &result->hypotheses[i];
        bytes += sizeof *h + h->size + 1 + aligned_bytes(&h->target, &h->alignment);
    }
    return bytes;
}

void tr_results_free(tr_result *results, size_t count)
{
    for (size_t i = 0; results && i < count; i++)
        tr_result_clear(&results[i]);
    free(results);
}
