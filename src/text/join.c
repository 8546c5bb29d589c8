#include "text/join.h"

#include <stdlib.h>
#include <string.h>

/* A text on its way back. */
typedef struct joined_text {
    tr_joiner *joiner;
    const tr_text *text;
    tr_text_chunk *const *chunks; /* [text->count] */
} joined_text;

void tr_joiner_free(tr_joiner *joiner)
{
    tr_buffer_free(&joiner->scratch);
    tr_buffer_free(&joiner->spans);
}

/* The request's hypothesis of that rank, or its last one. */
static const tr_hypothesis *hypothesis_of(const tr_request *request, size_t rank)
{
    return &request->found.items[rank < request->found.count ? rank : request->found.count - 1];
}

/* ---------------------------------------------------------------------------------------------------------------- text */

/* Appends count uninitialised spans; NULL: memory is short. */
static tr_span *append_spans(tr_buffer *spans, size_t count)
{
    const size_t size = count * sizeof(tr_span);
    if (!tr_buffer_reserve(spans, size))
        return NULL;
    spans->size += size;
    return (tr_span *)(void *)(spans->data + spans->size - size);
}

/* Appends the text of a hypothesis. before: where the text ended before the space in front of it, for the spans if nothing
 * is appended. */
static tr_status append_tokens(tr_joiner *joiner, const tr_hypothesis *h, size_t before, tr_error *error)
{
    tr_buffer *out = &joiner->scratch;
    const size_t start = out->size;
    tr_span *spans = NULL;
    if (joiner->align && !(spans = append_spans(&joiner->spans, h->count)))
        return tr_fail_memory(error, "translation");
    const tr_status status = tr_tokenizer_decode_spans(joiner->tokenizer, h->ids, h->count, out, spans, error);
    const size_t shift = out->size == start ? before : start;
    for (size_t i = 0; status == TR_OK && spans && i < h->count; i++)
        spans[i] = (tr_span){spans[i].begin + shift, spans[i].end + shift};
    return status;
}

/* Appends the translation of one chunk, with a space before it where the text has none between two sentences. */
static tr_status append_chunk(const joined_text *j, size_t chunk, size_t rank, bool space, tr_error *error)
{
    tr_buffer *out = &j->joiner->scratch;
    const size_t before = out->size;
    const tr_text_chunk *c = j->chunks[chunk];
    const tr_request *request = j->chunks[chunk]->request;
    tr_status status = TR_OK;
    if (space && !tr_buffer_string(out, " "))
        return tr_fail_memory(error, "translation");
    const size_t start = out->size;
    if (!request) {
        if (!tr_buffer_append(out, j->text->data + c->begin, c->end - c->begin))
            return tr_fail_memory(error, "translation");
    } else {
        status = append_tokens(j->joiner, hypothesis_of(request, rank), before, error);
    }
    if (out->size == start)
        out->size = before; /* nothing was appended: no space either */
    return status;
}

/* Whether a space is put before a chunk if it is not empty; at: where the one before ends. */
static bool wants_space(const joined_text *j, size_t chunk, size_t at)
{
    return !j->text->unspaced && chunk && j->chunks[chunk]->begin == at;
}

/* Appends chunks first .. last (exclusive) with the text's white space before each, from *at on. */
static tr_status append_chunks(const joined_text *j, size_t first, size_t last, size_t rank, size_t *at, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t s = first; status == TR_OK && s < last; s++) {
        const tr_text_chunk *chunk = j->chunks[s];
        if (!tr_buffer_append(&j->joiner->scratch, j->text->data + *at, chunk->begin - *at))
            return tr_fail_memory(error, "translation");
        status = append_chunk(j, s, rank, wants_space(j, s, *at), error);
        *at = chunk->end;
    }
    return status;
}

tr_status tr_join_front(tr_joiner *joiner, const tr_text *text, tr_text_chunk *const *chunks, size_t chunk, bool *space,
                        tr_error *error)
{
    const joined_text j = {joiner, text, chunks};
    size_t first = chunk;
    while (first && !chunks[first - 1]->request)
        first--;
    size_t at = first ? chunks[first - 1]->end : text->begin;
    tr_buffer_clear(&joiner->scratch);
    const tr_status status = append_chunks(&j, first, chunk, 0, &at, error);
    *space = wants_space(&j, chunk, at);
    if (status == TR_OK && !tr_buffer_append(&joiner->scratch, text->data + at, chunks[chunk]->begin - at))
        return tr_fail_memory(error, "translation");
    return status;
}

/* One translation of a text: its chunks, with the text's own white space around and between them. */
static tr_status join_text(const joined_text *j, size_t rank, tr_error *error)
{
    const tr_text *text = j->text;
    tr_buffer *out = &j->joiner->scratch;
    size_t at = text->begin;
    tr_buffer_clear(out);
    tr_buffer_clear(&j->joiner->spans);
    const tr_status status = append_chunks(j, 0, text->count, rank, &at, error);
    if (status != TR_OK)
        return status;
    return tr_buffer_append(out, text->data + at, text->size - at) ? TR_OK : tr_fail_memory(error, "translation");
}

/* A copy of the scratch, with a NUL after it. */
static tr_status copy_text(const tr_joiner *joiner, char **text, size_t *size, tr_error *error)
{
    *text = malloc(joiner->scratch.size + 1);
    if (!*text)
        return tr_fail_memory(error, "translation");
    if (joiner->scratch.size)
        memcpy(*text, joiner->scratch.data, joiner->scratch.size);
    (*text)[joiner->scratch.size] = 0;
    *size = joiner->scratch.size;
    return TR_OK;
}

/* --------------------------------------------------------------------------------------------------------------- scores */

/* Adds the log-probabilities of a request's tokens, their sum, and the smallest. */
static void add_scores(const tr_joiner *joiner, const tr_request *request, tr_result *result)
{
    const tr_hypothesis *h = &request->found.items[0];
    const size_t count = h->log_probabilities ? h->count + h->finished : 0;
    const size_t given = (size_t)(joiner->given + request->prefix_length);
    for (size_t t = 0; t < count; t++) {
        const float p = h->log_probabilities[t];
        result->scored[result->scored_count++] = (tr_scored_token){t < h->count ? h->ids[t] : joiner->eos_id, p};
        result->min_log_probability = t >= given && p < result->min_log_probability ? p : result->min_log_probability;
    }
    result->score += h->log_probability;
}

static tr_status score_text(const joined_text *j, tr_result *result, tr_error *error)
{
    size_t count = 0, given = 0;
    for (size_t s = 0; s < j->text->count; s++) {
        const tr_request *request = j->chunks[s]->request;
        if (!request)
            continue;
        const size_t tokens = request->found.items[0].count + request->found.items[0].finished;
        const size_t own = (size_t)(j->joiner->given + request->prefix_length);
        count += tokens;
        given += own < tokens ? own : tokens;
    }
    result->scored = calloc(count + 1, sizeof *result->scored);
    if (!result->scored)
        return tr_fail_memory(error, "translation");
    for (size_t s = 0; s < j->text->count; s++)
        if (j->chunks[s]->request)
            add_scores(j->joiner, j->chunks[s]->request, result);
    result->mean_log_probability = count > given ? result->score / (float)(count - given) : 0;
    return TR_OK;
}

/* ---------------------------------------------------------------------------------------------------------- alignments */

/* The bytes of a chunk. If a single character had more tokens than the network takes, its later pieces are empty: they get
 * those of the first. */
static tr_span bytes_of_chunk(const joined_text *j, size_t chunk)
{
    while (chunk && j->chunks[chunk]->begin == j->chunks[chunk]->end)
        chunk--;
    return (tr_span){j->chunks[chunk]->begin, j->chunks[chunk]->end};
}

/* The bytes of each token of a chunk: tokenises it once more, this time with spans. */
static tr_status find_token_spans(const joined_text *j, size_t chunk, tr_span *spans, tr_error *error)
{
    const tr_text_chunk *c = j->chunks[chunk];
    const tr_span bytes = bytes_of_chunk(j, chunk);
    tr_ids ids = {0};
    tr_span *found;
    const tr_status status = tr_tokenizer_encode_spans(j->joiner->tokenizer, j->text->data + bytes.begin,
                                                       bytes.end - bytes.begin, &ids, &found, error);
    for (size_t i = 0; status == TR_OK && i < (size_t)c->tokens; i++)
        spans[i] = ids.size == (size_t)c->tokens ? (tr_span){bytes.begin + found[i].begin, bytes.begin + found[i].end}
                                                 : bytes; /* a piece of that one character */
    tr_ids_free(&ids);
    free(found);
    return status;
}

/* Concatenates the source tokens of all chunks, and their spans. */
static tr_status link_source(const joined_text *j, tr_result *result, tr_error *error)
{
    size_t count = 0;
    for (size_t s = 0; s < j->text->count; s++)
        count += (size_t)j->chunks[s]->tokens;
    result->source.ids = calloc(count + 1, sizeof *result->source.ids);
    result->source_spans = calloc(count + 1, sizeof *result->source_spans);
    if (!result->source.ids || !result->source_spans)
        return tr_fail_memory(error, "alignment");
    for (size_t s = 0; s < j->text->count; s++) {
        const tr_request *request = j->chunks[s]->request;
        if (!request)
            continue;
        const size_t tokens = (size_t)request->source_tokens, at = result->source.count;
        const int first = request->source_length - request->source_tokens - j->joiner->after;
        memcpy(result->source.ids + at, request->source + first, tokens * sizeof *request->source);
        result->source.count += tokens;
        const tr_status status = find_token_spans(j, s, result->source_spans + at, error);
        if (status != TR_OK)
            return status;
    }
    return TR_OK;
}

static void count_target(const joined_text *j, size_t rank, size_t *tokens, size_t *links)
{
    *tokens = *links = 0;
    for (size_t s = 0; s < j->text->count; s++) {
        const tr_request *request = j->chunks[s]->request;
        const tr_hypothesis *h = request ? hypothesis_of(request, rank) : NULL;
        *tokens += h ? h->count : 0;
        *links += h ? h->alignment.count : 0;
    }
}

/* The target tokens of the translation of that rank, which was joined last; a copy of the joiner's spans; and the links of
 * all chunks, counted in the concatenated tokens. On failure some may be made. */
static tr_status link_target(const joined_text *j, size_t rank, tr_tokens *target, tr_span **spans, tr_alignment *alignment,
                             tr_error *error)
{
    size_t tokens, links;
    count_target(j, rank, &tokens, &links);
    target->ids = calloc(tokens + 1, sizeof *target->ids);
    *spans = calloc(tokens + 1, sizeof **spans);
    alignment->links = calloc(links + 1, sizeof *alignment->links);
    if (!target->ids || !*spans || !alignment->links)
        return tr_fail_memory(error, "alignment");
    memcpy(*spans, j->joiner->spans.data ? j->joiner->spans.data : "", tokens * sizeof **spans);
    int32_t source = 0;
    for (size_t s = 0; s < j->text->count; s++) {
        const tr_request *request = j->chunks[s]->request;
        if (!request)
            continue;
        const tr_hypothesis *h = hypothesis_of(request, rank);
        for (size_t i = 0; i < h->alignment.count; i++) {
            const tr_link link = h->alignment.links[i];
            alignment->links[alignment->count++] =
                (tr_link){source + link.source, (int32_t)target->count + link.target, link.weight};
        }
        memcpy(target->ids + target->count, h->ids, h->count * sizeof *h->ids);
        target->count += h->count;
        source += request->source_tokens;
    }
    return TR_OK;
}

/* ----------------------------------------------------------------------------------------------------------- hypotheses */

static size_t count_ranks(const joined_text *j)
{
    size_t ranks = 1;
    for (size_t s = 0; s < j->text->count; s++) {
        const tr_request *request = j->chunks[s]->request;
        ranks = request && request->found.count > ranks ? request->found.count : ranks;
    }
    return ranks;
}

/* Makes a hypothesis of the text in the scratch. */
static tr_status take_hypothesis(const joined_text *j, size_t rank, tr_translation *to, tr_error *error)
{
    *to = (tr_translation){0};
    tr_status status = copy_text(j->joiner, &to->text, &to->size, error);
    for (size_t s = 0; s < j->text->count; s++) {
        const tr_request *request = j->chunks[s]->request;
        if (!request)
            continue;
        const tr_hypothesis *h = hypothesis_of(request, rank);
        to->tokens += (int)h->count;
        to->score += h->score;
        to->log_probability += h->log_probability;
    }
    if (status == TR_OK && j->joiner->align)
        status = link_target(j, rank, &to->target, &to->target_spans, &to->alignment, error);
    return status;
}

static tr_status join_hypotheses(const joined_text *j, tr_result *result, tr_error *error)
{
    const size_t ranks = count_ranks(j);
    result->hypotheses = calloc(ranks, sizeof *result->hypotheses);
    if (!result->hypotheses)
        return tr_fail_memory(error, "translation");
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

static void count_result(const joined_text *j, tr_result *result)
{
    result->sentences = j->text->sentences;
    result->flags = j->text->flags;
    for (size_t s = 0; s < j->text->count; s++) {
        const tr_request *request = j->chunks[s]->request;
        result->source_tokens += j->chunks[s]->tokens;
        if (!request)
            continue;
        result->target_tokens += request->target_length;
        result->flags |= request->looped ? TR_FLAG_LOOP : request->finished ? 0 : TR_FLAG_MAX_LENGTH;
    }
}

tr_status tr_join(tr_joiner *joiner, const tr_text *text, tr_text_chunk *const *chunks, tr_result *result, tr_error *error)
{
    const joined_text j = {joiner, text, chunks};
    tr_status status = join_text(&j, 0, error);
    if (status == TR_OK)
        status = copy_text(joiner, &result->text, &result->size, error);
    if (status != TR_OK)
        return status;
    count_result(&j, result);
    if (joiner->scores)
        status = score_text(&j, result, error);
    if (status == TR_OK && joiner->align)
        status = link_source(&j, result, error);
    if (status == TR_OK && joiner->align)
        status = link_target(&j, 0, &result->target, &result->target_spans, &result->alignment, error);
    if (status == TR_OK && joiner->hypotheses)
        status = join_hypotheses(&j, result, error);
    return status;
}
