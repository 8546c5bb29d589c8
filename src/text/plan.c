#include "text/plan.h"

#include <stdlib.h>

#include "util/utf8.h"
#include "text/sentences.h"

void tr_plan_clear(tr_plan *plan)
{
    plan->ids.size = 0;
    plan->count = 0;
}

void tr_plan_free(tr_plan *plan)
{
    tr_ids_free(&plan->ids);
    free(plan->chunks);
    *plan = (tr_plan){0};
}

void tr_text_free(tr_text *text)
{
    free(text->clean);
    *text = (tr_text){0};
}

/* ------------------------------------------------------------------------------------------------------------- cutting */

/* Bytes a token for which a text is tokenised whole before it is known to be too long. Above, it is first cut into windows
 * whatever they hold: the tokenizer's memory stays small, and a megabyte is not tokenised again and again. */
enum { WINDOW_BYTES = 64, MIN_WINDOW = 4096 };

/* How good a cut between two characters is. */
static int cut_rank(int32_t before, int32_t after)
{
    if (tr_is_clause_mark(before) || tr_is_strong_mark(before)) {
        /* 1,000 and 10:30 are no clauses, but Chinese text may use ASCII marks without white space */
        return before >= 0x80 || tr_is_space(after) || tr_is_cjk(after) ? 3 : 0;
    }
    return tr_is_space(after) ? 2 : tr_is_space(before) ? 1 : 0;
}

/* The best place to cut text[span) near its byte ideal, at most reach bytes away, on a character boundary within the span;
 * span.end if the span is a single character. */
static size_t find_cut(const char *text, tr_span span, size_t ideal, size_t reach)
{
    const size_t low = ideal > span.begin + reach ? ideal - reach : span.begin;
    const size_t high = span.end - ideal > reach ? ideal + reach : span.end;
    size_t at = low, best = span.end, best_distance = SIZE_MAX, length;
    int best_rank = -1;
    while (at > span.begin && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    int32_t before = at > span.begin ? tr_character(text, span.end, tr_character_before(text, at), &length) : 0;
    /* goes on beyond high if nothing was found: a character may be wider than the reach */
    for (; at < span.end && (at <= high || best_rank < 0); at += length) {
        const int32_t c = tr_character(text, span.end, at, &length);
        const int rank = cut_rank(before, c);
        const size_t distance = at > ideal ? at - ideal : ideal - at;
        if (at > span.begin && (rank > best_rank || (rank == best_rank && distance < best_distance))) {
            best = at;
            best_rank = rank;
            best_distance = distance;
        }
        before = c;
    }
    return best;
}

/* Appends the tokens before a chunk's own. */
static tr_status begin_chunk(tr_plan *plan, const tr_language_pair *pair, tr_error *error)
{
    const size_t count = (size_t)pair->prefix_count;
    return tr_ids_append(&plan->ids, pair->prefix, count) ? TR_OK : tr_fail_memory(error, "sentence");
}

/* Makes a chunk of the ids from index ids on, and appends the tokens after them. */
static tr_status add_chunk(tr_plan *plan, const tr_language_pair *pair, size_t first, size_t last, size_t ids,
                           tr_error *error)
{
    const int32_t end = pair->eos_id;
    const int tokens = (int)(plan->ids.size - ids) - pair->prefix_count;
    if (plan->count == plan->capacity) {
        const size_t larger = plan->capacity ? plan->capacity * 2 : 64;
        tr_text_chunk *moved = larger > SIZE_MAX / sizeof *moved ? NULL : realloc(plan->chunks, larger * sizeof *moved);
        if (!moved)
            return tr_fail_memory(error, "sentence");
        plan->chunks = moved;
        plan->capacity = larger;
    }
    if ((end >= 0 && !tr_ids_append(&plan->ids, &end, 1)) ||
        (pair->has_suffix && !tr_ids_append(&plan->ids, &pair->suffix, 1)))
        return tr_fail_memory(error, "sentence");
    plan->chunks[plan->count++] =
        (tr_text_chunk){.begin = first, .end = last, .ids = ids, .length = (int)(plan->ids.size - ids), .tokens = tokens};
    return TR_OK;
}

/* A single character with more tokens than the network takes: several chunks share its tokens, which are the end of
 * plan->ids from index ids on, where its chunk was begun. */
static tr_status add_character(tr_plan *plan, const tr_language_pair *pair, tr_span span, size_t ids, tr_error *error)
{
    const size_t before = (size_t)pair->prefix_count, total = plan->ids.size - ids - before;
    const size_t limit = (size_t)pair->limit;
    int32_t *tokens = malloc(total * sizeof *tokens);
    if (!tokens)
        return tr_fail_memory(error, "sentence");
    for (size_t i = 0; i < total; i++)
        tokens[i] = plan->ids.data[ids + before + i];
    plan->ids.size = ids;
    tr_status status = TR_OK;
    for (size_t i = 0; i < total && status == TR_OK; i += limit) {
        const size_t n = total - i < limit ? total - i : limit, start = plan->ids.size;
        status = begin_chunk(plan, pair, error);
        if (status == TR_OK && !tr_ids_append(&plan->ids, tokens + i, n))
            status = tr_fail_memory(error, "sentence");
        if (status == TR_OK)
            status = add_chunk(plan, pair, i ? span.end : span.begin, span.end, start, error);
    }
    free(tokens);
    return status;
}

static size_t divide_up(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

/* Appends text[span) as one chunk if it has at most limit tokens, else as parts of at most TR_PIECE_TOKENS. A part has at
 * most 7/8 of its span's bytes (single characters aside), which bounds the depth of the recursion. */
static tr_status add_span(tr_plan *plan, const tr_language_pair *pair, const char *text, tr_span span, size_t limit,
                          tr_error *error)
{
    span.begin = tr_skip_space(text, span.end, span.begin);
    span.end = tr_trim_space(text, span.begin, span.end);
    const size_t size = span.end - span.begin;
    if (!size)
        return TR_OK;
    size_t window = (size_t)pair->limit * WINDOW_BYTES, parts = 0;
    window = window < MIN_WINDOW ? MIN_WINDOW : window;
    const size_t piece = pair->limit < TR_PIECE_TOKENS ? (size_t)pair->limit : TR_PIECE_TOKENS;
    if (size > window) {
        parts = divide_up(size, window / 2);
    } else {
        const size_t ids = plan->ids.size;
        tr_status status = begin_chunk(plan, pair, error);
        if (status == TR_OK)
            status = tr_tokenizer_encode(pair->tokenizer, text + span.begin, size, &plan->ids, error);
        if (status != TR_OK)
            return status;
        const size_t tokens = plan->ids.size - ids - (size_t)pair->prefix_count;
        if (tokens <= limit)
            return add_chunk(plan, pair, span.begin, span.end, ids, error);
        if (find_cut(text, span, span.begin + size / 2, size / 4) == span.end)
            return add_character(plan, pair, span, ids, error);
        plan->ids.size = ids;
        parts = divide_up(tokens, piece - piece / 4);
        parts = parts < 2 ? 2 : parts;
    }
    for (size_t at = span.begin; at < span.end; parts--) {
        const size_t left = span.end - at, share = parts > 1 ? left / parts : left;
        const tr_span rest = {at, span.end};
        const size_t cut = parts > 1 ? find_cut(text, rest, at + share, share / 4) : span.end;
        const tr_status status = add_span(plan, pair, text, (tr_span){at, cut}, piece, error);
        if (status != TR_OK)
            return status;
        at = cut;
    }
    return TR_OK;
}

/* -------------------------------------------------------------------------------------------------------------- a text */

static tr_status clean_text(tr_text *text, tr_error *error)
{
    if (tr_utf8_valid(text->data, text->size))
        return TR_OK;
    tr_buffer clean = {0};
    if (!tr_utf8_clean(text->data, text->size, &clean)) {
        tr_buffer_free(&clean);
        return tr_fail_memory(error, "text");
    }
    text->flags |= TR_FLAG_INVALID_UTF8;
    text->data = text->clean = clean.data;
    text->size = clean.size;
    return TR_OK;
}

static tr_status plan_sentence(tr_plan *plan, const tr_language_pair *pair, tr_text *text, tr_span span, tr_error *error)
{
    const size_t before = plan->count;
    const tr_status status = add_span(plan, pair, text->data, span, (size_t)pair->limit, error);
    if (plan->count > before + 1)
        text->flags |= TR_FLAG_CUT;
    for (size_t i = before; i < plan->count; i++)
        plan->chunks[i].piece = plan->count > before + 1;
    text->sentences++;
    return status;
}

tr_status tr_plan_text(tr_plan *plan, const tr_language_pair *pair, tr_split split, const char *data, size_t size,
                       tr_text *text, tr_error *error)
{
    *text = (tr_text){.data = data, .size = size, .first = plan->count};
    tr_status status = clean_text(text, error);
    tr_language_pair typed;
    tr_span span;
    text->begin = tr_language_pair_typed(pair, text->data, text->size, &typed);
    if (text->begin) {
        pair = &typed;
        text->begin = tr_skip_space(text->data, text->size, text->begin);
    }
    text->unspaced = pair->unspaced;
    if (split == TR_SPLIT_NEVER) {
        span.begin = tr_skip_space(text->data, text->size, text->begin);
        span.end = tr_trim_space(text->data, span.begin, text->size);
        if (status == TR_OK && span.begin < span.end)
            status = plan_sentence(plan, pair, text, span, error);
    } else {
        tr_sentences sentences = {.text = text->data, .size = text->size, .at = text->begin};
        while (status == TR_OK && tr_sentences_next(&sentences, &span))
            status = plan_sentence(plan, pair, text, span, error);
    }
    text->count = plan->count - text->first;
    return status;
}
