#include "text/join.h"

#include <stdlib.h>

#include "text/links.h"
#include "api/result.h"

void tr_joiner_free(tr_joiner *joiner)
{
    tr_buffer_free(&joiner->scratch);
    tr_buffer_free(&joiner->spans);
}

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "translation: out of memory");
}

/* ---------------------------------------------------------------------------------------------------------------- text */

/* Room for the spans of count tokens more; NULL: memory is short. */
static tr_span *more_spans(tr_buffer *spans, size_t count)
{
    const size_t size = count * sizeof(tr_span);
    if (!tr_buffer_reserve(spans, size))
        return NULL;
    spans->size += size;
    return (tr_span *)(void *)(spans->data + spans->size - size);
}

/* Appends what tokens stand for. Spans count from the text's beginning; before is where it ends if nothing comes. */
static tr_status append_tokens(tr_joiner *joiner, const tr_hypothesis *h, size_t before, tr_error *error)
{
    tr_buffer *out = &joiner->scratch;
    const size_t start = out->size;
    tr_span *spans = NULL;
    if (joiner->align && !(spans = more_spans(&joiner->spans, h->count)))
        return out_of_memory(error);
    const tr_status status = tr_tokenizer_decode_spans(joiner->tokenizer, h->ids, h->count, out, spans, error);
    const size_t shift = out->size == start ? before : start;
    for (size_t i = 0; status == TR_OK && spans && i < h->count; i++)
        spans[i] = (tr_span){spans[i].begin + shift, spans[i].end + shift};
    return status;
}

/* Appends the translation of one chunk, with a space before it where the text has none between two sentences. */
static tr_status append_chunk(const tr_joining *j, size_t chunk, size_t rank, bool space, tr_error *error)
{
    tr_buffer *out = &j->joiner->scratch;
    const size_t before = out->size;
    const tr_text_chunk *c = j->chunks[chunk];
    const tr_request *request = tr_joining_unit(j, chunk);
    tr_status status = TR_OK;
    if (space && !tr_buffer_string(out, " "))
        return out_of_memory(error);
    const size_t start = out->size;
    if (!request) {
        if (!tr_buffer_append(out, j->text->data + c->begin, c->end - c->begin))
            return out_of_memory(error);
    } else {
        status = append_tokens(j->joiner, tr_request_hypothesis(request, rank), before, error);
    }
    if (out->size == start)
        out->size = before; /* nothing came: no space either */
    return status;
}

/* Whether a space is put before a chunk if it is not empty; at: where the one before ends. */
static bool wants_space(const tr_joining *j, size_t chunk, size_t at)
{
    return !j->text->unspaced && chunk && j->chunks[chunk]->begin == at;
}

/* Appends chunks [first, last) with the text's white space before each, from *at on. */
static tr_status append_chunks(const tr_joining *j, size_t first, size_t last, size_t rank, size_t *at, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t s = first; status == TR_OK && s < last; s++) {
        const tr_text_chunk *chunk = j->chunks[s];
        if (!tr_buffer_append(&j->joiner->scratch, j->text->data + *at, chunk->begin - *at))
            return out_of_memory(error);
        status = append_chunk(j, s, rank, wants_space(j, s, *at), error);
        *at = chunk->end;
    }
    return status;
}

tr_status tr_join_front(tr_joiner *joiner, const tr_text *text, tr_text_chunk *const *chunks, size_t chunk, bool *space,
                        tr_error *error)
{
    const tr_joining j = {joiner, text, chunks};
    size_t first = chunk;
    while (first && !tr_joining_unit(&j, first - 1))
        first--;
    size_t at = first ? chunks[first - 1]->end : text->begin;
    tr_buffer_clear(&joiner->scratch);
    const tr_status status = append_chunks(&j, first, chunk, 0, &at, error);
    *space = wants_space(&j, chunk, at);
    if (status == TR_OK && !tr_buffer_append(&joiner->scratch, text->data + at, chunks[chunk]->begin - at))
        return out_of_memory(error);
    return status;
}

/* One translation of a text: its chunks, with the text's own white space around and between them. */
static tr_status join_text(const tr_joining *j, size_t rank, tr_error *error)
{
    const tr_text *text = j->text;
    tr_buffer *out = &j->joiner->scratch;
    size_t at = text->begin;
    tr_buffer_clear(out);
    tr_buffer_clear(&j->joiner->spans);
    const tr_status status = append_chunks(j, 0, text->count, rank, &at, error);
    if (status != TR_OK)
        return status;
    return tr_buffer_append(out, text->data + at, text->size - at) ? TR_OK : out_of_memory(error);
}

/* --------------------------------------------------------------------------------------------------------------- scores */

/* Each token's log-probability, and what follows from them. */
static void add_scores(const tr_joiner *joiner, const tr_request *request, tr_result *result)
{
    const tr_hypothesis *h = &request->found.items[0];
    const size_t count = h->log_probabilities ? h->count + h->finished : 0;
    const size_t given = (size_t)(joiner->given + request->prefix_length);
    for (size_t t = 0; t < count; t++) {
        const float p = h->log_probabilities[t];
        result->scored[result->scored_count++] = (tr_scored_token){t < h->count ? h->ids[t] : joiner->end_id, p};
        result->min_log_probability = t >= given && p < result->min_log_probability ? p : result->min_log_probability;
    }
    result->score += h->log_probability;
}

static tr_status score_text(const tr_joining *j, tr_result *result, tr_error *error)
{
    size_t count = 0, given = 0;
    for (size_t s = 0; s < j->text->count; s++) {
        const tr_request *request = tr_joining_unit(j, s);
        if (!request)
            continue;
        const size_t tokens = request->found.items[0].count + request->found.items[0].finished;
        const size_t own = (size_t)(j->joiner->given + request->prefix_length);
        count += tokens;
        given += own < tokens ? own : tokens;
    }
    result->scored = calloc(count + 1, sizeof *result->scored);
    if (!result->scored)
        return out_of_memory(error);
    for (size_t s = 0; s < j->text->count; s++)
        if (tr_joining_unit(j, s))
            add_scores(j->joiner, tr_joining_unit(j, s), result);
    result->mean_log_probability = count > given ? result->score / (float)(count - given) : 0;
    return TR_OK;
}

/* ----------------------------------------------------------------------------------------------------------- hypotheses */

static size_t count_ranks(const tr_joining *j)
{
    size_t ranks = 1;
    for (size_t s = 0; s < j->text->count; s++) {
        const tr_request *request = tr_joining_unit(j, s);
        ranks = request && request->found.count > ranks ? request->found.count : ranks;
    }
    return ranks;
}

/* What is in the scratch becomes a hypothesis. */
static tr_status take_hypothesis(const tr_joining *j, size_t rank, tr_translation *to, tr_error *error)
{
    const tr_result view = {.text = j->joiner->scratch.data, .size = j->joiner->scratch.size};
    tr_result kept;
    tr_status status = tr_result_copy(&view, &kept, error);
    *to = (tr_translation){.text = kept.text, .size = kept.size};
    for (size_t s = 0; s < j->text->count; s++) {
        const tr_request *request = tr_joining_unit(j, s);
        if (!request)
            continue;
        const tr_hypothesis *h = tr_request_hypothesis(request, rank);
        to->tokens += (int)h->count;
        to->score += h->score;
        to->log_probability += h->log_probability;
    }
    if (status == TR_OK && j->joiner->align)
        status = tr_links_target(j, rank, &to->target, &to->target_spans, &to->alignment, error);
    return status;
}

static tr_status join_hypotheses(const tr_joining *j, tr_result *result, tr_error *error)
{
    const size_t ranks = count_ranks(j);
    result->hypotheses = calloc(ranks, sizeof *result->hypotheses);
    if (!result->hypotheses)
        return out_of_memory(error);
    tr_status status = TR_OK;
    for (; status == TR_OK && result->hypothesis_count < ranks; result->hypothesis_count++) {
        status = join_text(j, result->hypothesis_count, error);
        if (status != TR_OK)
            break;
        status = take_hypothesis(j, result->hypothesis_count, &result->hypotheses[result->hypothesis_count], error);
    }
    return status;
}

/* --------------------------------------------------------------------------------------------------------------- result */

static void count_text(const tr_joining *j, tr_result *result)
{
    result->sentences = j->text->sentences;
    result->flags = j->text->flags;
    for (size_t s = 0; s < j->text->count; s++) {
        const tr_request *request = tr_joining_unit(j, s);
        result->source_tokens += j->chunks[s]->tokens;
        if (!request)
            continue;
        result->target_tokens += request->target_length;
        result->flags |= request->looped ? TR_FLAG_LOOP : request->finished ? 0 : TR_FLAG_MAX_LENGTH;
    }
}

tr_status tr_join(tr_joiner *joiner, const tr_text *text, tr_text_chunk *const *chunks, tr_result *result, tr_error *error)
{
    const tr_joining j = {joiner, text, chunks};
    tr_status status = join_text(&j, 0, error);
    const tr_result view = {.text = joiner->scratch.data, .size = joiner->scratch.size};
    if (status == TR_OK)
        status = tr_result_copy(&view, result, error);
    if (status != TR_OK)
        return status;
    count_text(&j, result);
    if (joiner->scores)
        status = score_text(&j, result, error);
    if (status == TR_OK && joiner->align)
        status = tr_links_source(&j, result, error);
    if (status == TR_OK && joiner->align)
        status = tr_links_target(&j, 0, &result->target, &result->target_spans, &result->alignment, error);
    if (status == TR_OK && joiner->hypotheses)
        status = join_hypotheses(&j, result, error);
    return status;
}
