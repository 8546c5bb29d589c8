#include "text/join.h"

#include <stdlib.h>
#include <string.h>

#include "text/tags.h"
#include "tokenizer/traditional.h"
#include "util/utf8.h"

/* A text on its way back. */
typedef struct joined_text {
    tr_joiner *joiner;
    const tr_text *text;
    tr_text_chunk *const *chunks; /* [text->count] */
    tr_span *places;              /* NULL, or [text->count] out: the bytes of each in the joined text */
} joined_text;

void tr_joiner_free(tr_joiner *joiner)
{
    tr_buffer_free(&joiner->scratch);
    tr_buffer_free(&joiner->spans);
    tr_buffer_free(&joiner->restored);
    tr_figures_free(&joiner->said);
    tr_figures_free(&joiner->written);
}

/* Whether the hypothesis of that rank of a chunk's request is kept. */
static bool is_kept(const tr_text_chunk *chunk, size_t rank)
{
    return !chunk->kept || (rank < TR_MAX_BEAM && chunk->kept >> rank & 1);
}

static size_t count_kept(const tr_text_chunk *chunk)
{
    size_t count = 0;
    for (size_t i = 0; i < chunk->request->found.count; i++)
        count += is_kept(chunk, i);
    return count;
}

/* The hypothesis of that rank among those that a chunk keeps, or the last of these. */
static const tr_hypothesis *hypothesis_of(const tr_text_chunk *chunk, size_t rank)
{
    const tr_hypotheses *found = &chunk->request->found;
    const tr_hypothesis *last = &found->items[0];
    for (size_t i = 0, kept = 0; i < found->count && kept <= rank; i++)
        if (is_kept(chunk, i)) {
            last = &found->items[i];
            kept++;
        }
    return last;
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

/* Where a byte of a chunk as the network sees it lies in the text; what stands for a span, at its begin or end. places
 * [chunk->use_count]: see tr_uses_mask. */
static size_t byte_in_text(const tr_text_chunk *chunk, const tr_span *places, size_t byte, bool is_end)
{
    const tr_stand_in_use *uses = tr_uses_of(chunk);
    size_t from = 0, text = chunk->begin; /* where the text after the last span before the byte begins */
    for (int i = 0; i < chunk->use_count; i++) {
        if (byte < places[i].begin || (byte == places[i].begin && is_end))
            break;
        if (byte < places[i].end || (byte == places[i].end && is_end))
            return is_end ? uses[i].span.end : uses[i].span.begin;
        from = places[i].end;
        text = uses[i].span.end;
    }
    return text + (byte - from);
}

/* The bytes of each token of a chunk with stand-ins. */
static tr_status find_masked_spans(const joined_text *j, const tr_text_chunk *c, tr_span *spans, tr_error *error)
{
    tr_buffer masked = {0};
    tr_ids ids = {0};
    tr_span *found = NULL;
    tr_span places[TR_CHUNK_SPANS];
    tr_status status = tr_uses_mask(c, j->text->data, c->begin, c->end, &masked, places, error);
    if (status == TR_OK)
        status = tr_tokenizer_encode_spans(j->joiner->tokenizer, masked.data, masked.size, &ids, &found, error);
    for (size_t i = 0; status == TR_OK && i < (size_t)c->tokens && i < ids.size; i++) {
        const size_t begin = byte_in_text(c, places, found[i].begin, false);
        const size_t end = byte_in_text(c, places, found[i].end, true);
        spans[i] = (tr_span){begin, found[i].begin == found[i].end || end < begin ? begin : end};
    }
    tr_ids_free(&ids);
    tr_buffer_free(&masked);
    free(found);
    return status;
}

/* Moves a span of a translation to where its bytes are when spans of the source have taken their places. begins [count]:
 * where these begin then, ends [count]: where they end. */
static tr_span moved_span(tr_span span, const tr_use_place *places, const size_t *begins, const size_t *ends, int count)
{
    size_t begin = span.begin, end = span.end;
    for (int i = 0; i < count; i++) {
        if (span.begin >= places[i].end)
            begin = ends[i] + (span.begin - places[i].end);
        else if (span.begin >= places[i].begin)
            begin = begins[i];
    }
    for (int i = 0; i < count && span.end >= places[i].begin; i++) {
        const bool is_tag = places[i].begin == places[i].end;
        if (is_tag && span.end == places[i].begin) { /* a tag that follows the span */
            end = begins[i];
            break;
        }
        if (span.end >= places[i].end)
            end = ends[i] + (span.end - places[i].end);
        else if (span.end > places[i].begin)
            end = ends[i];
    }
    return (tr_span){begin, span.begin == span.end || end < begin ? begin : end};
}

/* Finds where the spans of a chunk go in a translation of it. target (NULL without tags): the bytes of its tokens. */
static tr_status find_places(const joined_text *j, const tr_text_chunk *chunk, const tr_hypothesis *h,
                             const char *translation, size_t size, const tr_span *target, tr_use_place *places, int *count,
                             tr_error *error)
{
    /* a translation that the caller ended may lack some */
    (void)tr_uses_find(chunk, j->text->data, translation, size, places, count);
    if (!chunk->tagged)
        return TR_OK;
    tr_span *source = calloc((size_t)chunk->tokens + 1, sizeof *source);
    if (!source)
        return tr_fail_memory(error, "translation");
    tr_status status = find_masked_spans(j, chunk, source, error);
    const tr_tagged tagged = {translation, size, source, (size_t)chunk->tokens, target, h->count, &h->alignment};
    if (status == TR_OK)
        status = tr_tags_place(chunk, j->text->data, &tagged, places, count, error);
    free(source);
    return status;
}

/* Puts the spans of a chunk into their places in the translation that begins at byte start of the scratch. spans (NULL
 * without tags and alignments, or [h->count]): the bytes of its tokens, counted from there. */
static tr_status restore_spans(const joined_text *j, const tr_text_chunk *chunk, const tr_hypothesis *h, size_t start,
                               tr_span *spans, tr_error *error)
{
    tr_joiner *joiner = j->joiner;
    tr_buffer *out = &joiner->scratch, *restored = &joiner->restored;
    tr_use_place places[TR_CHUNK_SPANS];
    size_t begins[TR_CHUNK_SPANS], ends[TR_CHUNK_SPANS], at = 0;
    const char *translation = out->data ? out->data + start : "";
    const size_t size = out->size - start;
    int count;
    const tr_status status = find_places(j, chunk, h, translation, size, spans, places, &count, error);
    if (status != TR_OK || !count)
        return status;
    tr_buffer_clear(restored);
    bool good = true;
    for (int i = 0; good && i < count; i++) {
        const tr_stand_in_use *use = &tr_uses_of(chunk)[places[i].use];
        good = tr_buffer_append(restored, translation + at, places[i].begin - at);
        const bool mark = use->span.kind == TR_SPAN_MARK && joiner->protection->spaces;
        const bool row = i && places[i - 1].begin == places[i].begin && places[i - 1].end == places[i].begin;
        if (mark && !row && restored->size && restored->data[restored->size - 1] != ' ')
            good = good && tr_buffer_string(restored, " ");
        begins[i] = restored->size;
        const bool plural = joiner->protection->to == TR_FIGURES_ENGLISH && use->span.is_term &&
                            tr_wants_plural(translation, size, places[i].begin, places[i].end);
        good = good && tr_use_append(chunk, j->text->data, use, plural, restored);
        if (use->span.is_target && restored->size > begins[i])
            tr_traditional_write(joiner->traditional, restored->data + begins[i], restored->size - begins[i]);
        ends[i] = restored->size;
        /* 2:15 p.m. at the end of a sentence: one full stop */
        if (use->span.is_written && places[i].end < size && translation[places[i].end] == '.' && ends[i] &&
            restored->data[ends[i] - 1] == '.')
            places[i].end++;
        at = places[i].end;
        if (mark && !at && size)
            good = good && tr_buffer_string(restored, " ");
    }
    good = good && tr_buffer_append(restored, translation + at, size - at);
    out->size = start;
    if (!good || !tr_buffer_append(out, restored->data, restored->size))
        return tr_fail_memory(error, "translation");
    for (size_t i = 0; spans && i < h->count; i++)
        spans[i] = moved_span(spans[i], places, begins, ends, count);
    return TR_OK;
}

/* Writes the text of a chunk without its spans to joiner->restored, and its figures to joiner->said. */
static tr_status find_source_figures(tr_joiner *joiner, const tr_text *text, const tr_text_chunk *chunk, tr_error *error)
{
    const tr_stand_in_use *uses = tr_uses_of(chunk);
    tr_buffer *out = &joiner->restored;
    size_t at = chunk->begin;
    bool good = true;
    tr_buffer_clear(out);
    for (int i = 0; i < chunk->use_count && good; i++) {
        const tr_kept_span *span = &uses[i].span;
        good = tr_buffer_append(out, text->data + at, span->begin - at) &&
               (span->kind == TR_SPAN_DIGITS ? tr_use_append(chunk, text->data, &uses[i], false, out)
                                             : tr_buffer_string(out, tr_is_tag(span) ? "" : TR_BLANK));
        at = span->end;
    }
    if (!good || !tr_buffer_append(out, text->data + at, chunk->end - at))
        return tr_fail_memory(error, "translation");
    return tr_figures_find(joiner->protection->from, joiner->restored.data, joiner->restored.size, &joiner->said, error);
}

/* Whether a translation, whose stand-ins are at places [count], says the figures in joiner->said. */
static tr_status compare_figures(tr_joiner *joiner, const tr_use_place *places, int count, bool *agree, tr_error *error)
{
    tr_buffer *translation = &joiner->scratch;
    const size_t size = translation->size;
    size_t at = 0;
    bool good = tr_buffer_reserve(translation, size + (size_t)count * strlen(TR_BLANK));
    for (int i = 0; i < count && good; i++) {
        good = tr_buffer_append(translation, translation->data + at, places[i].begin - at) &&
               tr_buffer_string(translation, TR_BLANK);
        at = places[i].end;
    }
    if (!good || !tr_buffer_append(translation, translation->data + at, size - at))
        return tr_fail_memory(error, "translation");
    const char *blanked = translation->data + size;
    const tr_status status =
        tr_figures_find(joiner->protection->to, blanked, translation->size - size, &joiner->written, error);
    *agree = status == TR_OK && tr_figures_agree(joiner->restored.data, &joiner->said, blanked, &joiner->written);
    return status;
}

tr_status tr_check_chunk(tr_joiner *joiner, const tr_text *text, tr_text_chunk *chunk, tr_error *error)
{
    tr_buffer *out = &joiner->scratch;
    tr_use_place places[TR_CHUNK_SPANS];
    uint64_t whole = 0, right = 0;
    if (!chunk->checked || !chunk->request || chunk->stopped)
        return TR_OK;
    const tr_hypotheses *found = &chunk->request->found;
    tr_status status = find_source_figures(joiner, text, chunk, error);
    for (size_t i = 0; i < found->count && i < TR_MAX_BEAM && status == TR_OK; i++) {
        bool agree = false;
        int count;
        tr_buffer_clear(out);
        status = tr_tokenizer_decode(joiner->tokenizer, found->items[i].ids, found->items[i].count, out, error);
        if (status != TR_OK || !tr_uses_find(chunk, text->data, out->data ? out->data : "", out->size, places, &count))
            continue;
        status = compare_figures(joiner, places, count, &agree, error);
        whole |= (uint64_t)1 << i;
        right |= (uint64_t)agree << i;
    }
    chunk->kept = right ? right : whole;
    chunk->check = right ? TR_CHECK_RIGHT : whole ? TR_CHECK_OTHER_NUMBERS : TR_CHECK_LOST_SPANS;
    return status;
}

/* Appends the text of a hypothesis. before: where the text ended before the space in front of it, for the spans if nothing
 * is appended. */
static tr_status append_tokens(const joined_text *j, const tr_text_chunk *chunk, size_t rank, size_t before, tr_error *error)
{
    tr_joiner *joiner = j->joiner;
    const tr_hypothesis *h = hypothesis_of(chunk, rank);
    tr_buffer *out = &joiner->scratch;
    const size_t start = out->size, first = joiner->spans.size;
    tr_span *spans = NULL;
    if ((joiner->align || chunk->tagged) && !(spans = append_spans(&joiner->spans, h->count)))
        return tr_fail_memory(error, "translation");
    tr_status status = tr_tokenizer_decode_spans(joiner->tokenizer, h->ids, h->count, out, spans, error);
    if (status == TR_OK && out->size > start)
        tr_traditional_write(joiner->traditional, out->data + start, out->size - start);
    if (status == TR_OK && chunk->use_count)
        status = restore_spans(j, chunk, h, start, spans, error);
    if (!joiner->align)
        joiner->spans.size = first;
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
        const char *bytes = c->written_size ? c->plan->written.data + c->written : j->text->data + c->begin;
        if (!tr_buffer_append(out, bytes, c->written_size ? c->written_size : c->end - c->begin))
            return tr_fail_memory(error, "translation");
        if (c->chinese && out->size > start)
            tr_traditional_write(j->joiner->traditional, out->data + start, out->size - start);
    } else {
        status = append_tokens(j, c, rank, before, error);
    }
    if (out->size == start)
        out->size = before; /* nothing was appended: no space either */
    return status;
}

/* The mark that a chunk without tokens begins or ends with. */
static int32_t mark_of(const joined_text *j, const tr_text_chunk *c, bool last)
{
    const char *bytes = c->written_size ? c->plan->written.data + c->written : j->text->data + c->begin;
    const size_t size = c->written_size ? c->written_size : c->end - c->begin;
    size_t length;
    return tr_character(bytes, size, last ? tr_character_before(bytes, size) : 0, &length);
}

static bool is_tag(tr_chunk_spacing spacing)
{
    return spacing == TR_SPACING_OPEN || spacing == TR_SPACING_CLOSE;
}

/* Whether a space separates two chunks, of which one stands between words. */
static bool wants_space_around(const joined_text *j, const tr_text_chunk *before, const tr_text_chunk *after)
{
    const tr_chunk_spacing left = before->spacing, right = after->spacing;
    if (!j->joiner->protection->spaces || left == TR_SPACING_TIGHT || right == TR_SPACING_TIGHT || left == TR_SPACING_OPEN ||
        right == TR_SPACING_CLOSE || (is_tag(left) && is_tag(right)))
        return false;
    if (right == TR_SPACING_MARK) {
        const int32_t c = mark_of(j, after, false);
        if (tr_is_closer(c) || tr_is_clause_mark(c) || tr_is_full_stop(c) || tr_is_bang(c) || tr_is_strong_mark(c))
            return false;
    }
    if (left == TR_SPACING_MARK &&
        (tr_bracket_closer(mark_of(j, before, true)) || tr_is_quote_opener(mark_of(j, before, true))))
        return false;
    return before->written_size || left == TR_SPACING_TEXT || right == TR_SPACING_TEXT; /* not within a row of emoji */
}

/* Whether a space is put before a chunk if it is not empty; at: where the one before ends. */
static bool wants_space(const joined_text *j, size_t chunk, size_t at)
{
    if (j->text->unspaced || !chunk || j->chunks[chunk]->begin != at)
        return false;
    const tr_text_chunk *before = j->chunks[chunk - 1], *after = j->chunks[chunk];
    return before->spacing == TR_SPACING_TEXT && after->spacing == TR_SPACING_TEXT ? true
                                                                                   : wants_space_around(j, before, after);
}

/* Whether a chunk continues a line in which something before it has been translated: it is no bullet or number of its line.
 */
static bool continues_line(const joined_text *j, size_t chunk)
{
    for (; chunk && !j->chunks[chunk]->request; chunk--) {
        const size_t begin = j->chunks[chunk - 1]->end, end = j->chunks[chunk]->begin;
        for (size_t i = begin; i < end; i++)
            if (j->text->data[i] == '\n' || j->text->data[i] == '\r')
                return false;
    }
    return j->chunks[chunk]->request != NULL;
}

/* Whether a chunk needs no space beside it in Chinese, after its end or before its begin: a translation, or an emoji or a
 * full-width mark; not an address or |. */
static bool is_unspaced(const joined_text *j, size_t chunk, bool after)
{
    const tr_text_chunk *c = j->chunks[chunk];
    return c->request || (c->end > c->begin && mark_of(j, c, after) >= 0x80);
}

/* How much white space of the text, from at on, stands before the translation of a chunk. A space or two between sentences
 * or beside signs are none in Chinese; more of them are a layout. */
static size_t white_space(const joined_text *j, size_t chunk, size_t at)
{
    const tr_text_chunk *after = j->chunks[chunk];
    const size_t size = after->begin - at;
    if (!j->text->unspaced || size > 2 || !chunk || (!after->request && !j->chunks[chunk - 1]->request) ||
        !is_unspaced(j, chunk - 1, true) || !is_unspaced(j, chunk, false) || !continues_line(j, chunk - 1))
        return size;
    for (size_t i = 0; i < size; i++)
        if (j->text->data[at + i] != ' ')
            return size;
    return 0;
}

/* Appends chunks first .. last (exclusive) with the text's white space before each, from *at on. */
static tr_status append_chunks(const joined_text *j, size_t first, size_t last, size_t rank, size_t *at, tr_error *error)
{
    tr_buffer *out = &j->joiner->scratch;
    tr_status status = TR_OK;
    for (size_t s = first; status == TR_OK && s < last; s++) {
        const tr_text_chunk *chunk = j->chunks[s];
        if (!tr_buffer_append(out, j->text->data + *at, white_space(j, s, *at)))
            return tr_fail_memory(error, "translation");
        const bool space = wants_space(j, s, *at);
        const size_t begin = out->size;
        status = append_chunk(j, s, rank, space, error);
        *at = chunk->end;
        if (j->places)
            j->places[s] = (tr_span){begin + (space && out->size > begin), out->size};
    }
    return status;
}

tr_status tr_join_front(tr_joiner *joiner, const tr_text *text, tr_text_chunk *const *chunks, size_t chunk, bool *space,
                        tr_error *error)
{
    const joined_text j = {joiner, text, chunks, NULL};
    size_t first = chunk;
    while (first && !chunks[first - 1]->request)
        first--;
    size_t at = first ? chunks[first - 1]->end : text->begin;
    tr_buffer_clear(&joiner->scratch);
    const tr_status status = append_chunks(&j, first, chunk, 0, &at, error);
    *space = wants_space(&j, chunk, at);
    if (status == TR_OK && !tr_buffer_append(&joiner->scratch, text->data + at, white_space(&j, chunk, at)))
        return tr_fail_memory(error, "translation");
    return status;
}

/* One translation of a text: its chunks, with the text's own white space around and, mostly, between them. */
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

tr_status tr_join_whole(tr_joiner *joiner, const tr_text *text, tr_text_chunk *const *chunks, tr_span *places,
                        tr_error *error)
{
    const joined_text j = {joiner, text, chunks, places};
    return join_text(&j, 0, error);
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
static void add_scores(const tr_joiner *joiner, const tr_text_chunk *chunk, tr_result *result)
{
    const tr_hypothesis *h = hypothesis_of(chunk, 0);
    const size_t count = h->log_probabilities ? h->count + h->finished : 0;
    const size_t given = (size_t)(joiner->given + chunk->request->prefix_length);
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
        const tr_hypothesis *h = hypothesis_of(j->chunks[s], 0);
        const size_t tokens = h->count + h->finished;
        const size_t own = (size_t)(j->joiner->given + request->prefix_length);
        count += tokens;
        given += own < tokens ? own : tokens;
    }
    result->scored = calloc(count + 1, sizeof *result->scored);
    if (!result->scored)
        return tr_fail_memory(error, "translation");
    for (size_t s = 0; s < j->text->count; s++)
        if (j->chunks[s]->request)
            add_scores(j->joiner, j->chunks[s], result);
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
    if (c->use_count || c->capitals)
        return find_masked_spans(j, c, spans, error);
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
        const tr_hypothesis *h = request ? hypothesis_of(j->chunks[s], rank) : NULL;
        *tokens += h ? h->count : 0;
        *links += h ? h->alignment.count : 0;
    }
}

/* Appends the links of a hypothesis, counted in the concatenated tokens. A request with tags has links of all tokens: those
 * of them that the options ask for, see tr_align_options. */
static tr_status append_links(const joined_text *j, const tr_request *request, const tr_hypothesis *h, int32_t source,
                              int32_t target, tr_alignment *to, tr_error *error)
{
    const tr_alignment *from = &h->alignment;
    const float threshold = j->joiner->align_threshold;
    const bool choose = request->tagged && threshold >= 1;
    const tr_link **best = choose ? calloc(h->count + 1, sizeof *best) : NULL; /* of each target token */
    if (choose && !best)
        return tr_fail_memory(error, "alignment");
    for (size_t i = 0; i < from->count && choose; i++) {
        const tr_link **other = &best[from->links[i].target];
        if (!*other || from->links[i].weight > (*other)->weight)
            *other = &from->links[i];
    }
    for (size_t i = 0; i < from->count; i++) {
        const tr_link *link = &from->links[i];
        if (!request->tagged || (choose ? best[link->target] == link : link->weight > threshold))
            to->links[to->count++] = (tr_link){source + link->source, target + link->target, link->weight};
    }
    free(best);
    return TR_OK;
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
        const tr_hypothesis *h = hypothesis_of(j->chunks[s], rank);
        const tr_status status = append_links(j, request, h, source, (int32_t)target->count, alignment, error);
        if (status != TR_OK)
            return status;
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
        const size_t kept = request ? count_kept(j->chunks[s]) : 0;
        ranks = kept > ranks ? kept : ranks;
    }
    return ranks < j->joiner->ranks ? ranks : j->joiner->ranks;
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
        const tr_hypothesis *h = hypothesis_of(j->chunks[s], rank);
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

/* The tokens of a chunk's translation that the network chose, and their log-probabilities. */
typedef struct confidence {
    double sum;
    size_t count;
} confidence;

static void add_confidence(const joined_text *j, const tr_text_chunk *chunk, confidence *to)
{
    const tr_hypothesis *h = hypothesis_of(chunk, 0);
    const size_t given = (size_t)(j->joiner->given + chunk->request->prefix_length), tokens = h->count + h->finished;
    to->sum += (double)h->log_probability;
    to->count += tokens > given ? tokens - given : 0;
}

/* Of a text or a sentence. */
static unsigned doubt(const joined_text *j, const confidence *c)
{
    const double below = (double)j->joiner->doubtful_below;
    return below < 0 && c->count && c->sum < below * (double)c->count ? TR_FLAG_DOUBTFUL : 0;
}

static unsigned flags_of(const tr_text_chunk *chunk)
{
    const tr_request *request = chunk->request;
    unsigned flags = chunk->piece ? TR_FLAG_CUT : 0;
    if (request)
        flags |= request->looped ? TR_FLAG_LOOP : hypothesis_of(chunk, 0)->finished ? 0 : TR_FLAG_MAX_LENGTH;
    return flags | (request && chunk->flagged ? TR_FLAG_NUMBER : 0);
}

static void count_result(const joined_text *j, tr_result *result)
{
    confidence all = {0};
    result->sentences = j->text->sentences;
    result->flags = j->text->flags;
    for (size_t s = 0; s < j->text->count; s++) {
        const tr_text_chunk *chunk = j->chunks[s];
        result->source_tokens += chunk->tokens;
        result->flags |= flags_of(chunk);
        if (!chunk->request)
            continue;
        result->target_tokens += (int)hypothesis_of(chunk, 0)->count;
        add_confidence(j, chunk, &all);
    }
    result->flags |= doubt(j, &all);
    result->flags |= j->text->passed && j->text->passed == j->text->sentences ? TR_FLAG_PASSED_THROUGH : 0;
}

/* Where the sentences are, from the places of the chunks in the translation. */
static tr_status find_sentences(const joined_text *j, tr_result *result, tr_error *error)
{
    const size_t count = (size_t)j->text->sentences;
    if (!count)
        return TR_OK;
    result->source_sentences = calloc(count, sizeof *result->source_sentences);
    result->target_sentences = calloc(count, sizeof *result->target_sentences);
    result->sentence_flags = calloc(count, sizeof *result->sentence_flags);
    if (!result->source_sentences || !result->target_sentences || !result->sentence_flags)
        return tr_fail_memory(error, "translation");
    for (size_t i = 0, s = 0; i < count; i++) {
        const size_t source = i ? result->source_sentences[i - 1].end : j->text->begin;
        const size_t target = i ? result->target_sentences[i - 1].end : 0;
        tr_span *const from = &result->source_sentences[i], *const to = &result->target_sentences[i];
        confidence own = {0};
        bool translated = false, any = false;
        *from = (tr_span){source, source}; /* one without chunks */
        *to = (tr_span){target, target};
        for (; s < j->text->count && j->chunks[s]->sentence == (int)i; s++, any = true) {
            const tr_text_chunk *chunk = j->chunks[s];
            *from = (tr_span){any ? from->begin : chunk->begin, chunk->end};
            *to = (tr_span){any ? to->begin : j->places[s].begin, j->places[s].end};
            result->sentence_flags[i] |= flags_of(chunk);
            translated = translated || chunk->request || chunk->chinese;
            if (chunk->request)
                add_confidence(j, chunk, &own);
        }
        result->sentence_flags[i] |= doubt(j, &own) | (translated ? 0 : TR_FLAG_PASSED_THROUGH);
    }
    return TR_OK;
}

tr_status tr_join(tr_joiner *joiner, const tr_text *text, tr_text_chunk *const *chunks, tr_result *result, tr_error *error)
{
    joined_text j = {joiner, text, chunks, calloc(text->count + 1, sizeof *j.places)};
    if (!j.places)
        return tr_fail_memory(error, "translation");
    tr_status status = join_text(&j, 0, error);
    if (status == TR_OK)
        status = copy_text(joiner, &result->text, &result->size, error);
    if (status == TR_OK) {
        count_result(&j, result);
        status = find_sentences(&j, result, error);
    }
    free(j.places);
    j.places = NULL;
    if (status == TR_OK && joiner->scores)
        status = score_text(&j, result, error);
    if (status == TR_OK && joiner->align)
        status = link_source(&j, result, error);
    if (status == TR_OK && joiner->align)
        status = link_target(&j, 0, &result->target, &result->target_spans, &result->alignment, error);
    if (status == TR_OK && joiner->ranks > 1)
        status = join_hypotheses(&j, result, error);
    return status;
}
