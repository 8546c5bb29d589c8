#include "text/cut.h"

#include <stdlib.h>

#include "text/characters.h"

/* Bytes a token for which a text is tokenised whole before it is known to be too long. Above, it is first cut into windows
 * blindly: the tokenizer's memory stays small, and a megabyte is not tokenised again and again. */
enum { WINDOW_BYTES = 64, MIN_WINDOW = 4096 };

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "sentence: out of memory");
}

/* What a cut behind character before and ahead of character after is worth. */
static int cut_rank(int32_t before, int32_t after)
{
    if (tr_is_clause_mark(before) || tr_is_strong_mark(before)) {
        /* 1,000 and 10:30 are no clauses, but Chinese text may use ASCII marks without white space */
        return before >= 0x80 || tr_is_space(after) || tr_is_cjk(after) ? 3 : 0;
    }
    return tr_is_space(after) ? 2 : tr_is_space(before) ? 1 : 0;
}

size_t tr_cut_place(const char *text, tr_span span, size_t ideal, size_t reach)
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

/* What comes before a chunk's own tokens. */
static tr_status begin_chunk(tr_plan *plan, const tr_source_template *encoder, tr_error *error)
{
    const size_t count = (size_t)encoder->prefix_count;
    return tr_ids_append(&plan->ids, encoder->prefix, count) ? TR_OK : out_of_memory(error);
}

/* A chunk of the ids from ids on, and what comes behind them. */
static tr_status add_chunk(tr_plan *plan, const tr_source_template *encoder, size_t first, size_t last, size_t ids,
                           tr_error *error)
{
    const int32_t end = encoder->eos_id;
    const int tokens = (int)(plan->ids.size - ids) - encoder->prefix_count;
    if (plan->count == plan->capacity) {
        const size_t larger = plan->capacity ? plan->capacity * 2 : 64;
        tr_text_chunk *moved = larger > SIZE_MAX / sizeof *moved ? NULL : realloc(plan->chunks, larger * sizeof *moved);
        if (!moved)
            return out_of_memory(error);
        plan->chunks = moved;
        plan->capacity = larger;
    }
    if ((end >= 0 && !tr_ids_append(&plan->ids, &end, 1)) ||
        (encoder->has_suffix && !tr_ids_append(&plan->ids, &encoder->suffix, 1)))
        return out_of_memory(error);
    plan->chunks[plan->count++] =
        (tr_text_chunk){.begin = first, .end = last, .ids = ids, .length = (int)(plan->ids.size - ids), .tokens = tokens};
    return TR_OK;
}

/* One character with more tokens than the network takes: its tokens in portions. They lie at the end of plan->ids, from ids
 * on, where the chunk was begun. */
static tr_status add_portions(tr_plan *plan, const tr_source_template *encoder, tr_span span, size_t ids, tr_error *error)
{
    const size_t before = (size_t)encoder->prefix_count, total = plan->ids.size - ids - before;
    const size_t limit = (size_t)encoder->limit;
    int32_t *tokens = malloc(total * sizeof *tokens);
    if (!tokens)
        return out_of_memory(error);
    for (size_t i = 0; i < total; i++)
        tokens[i] = plan->ids.data[ids + before + i];
    plan->ids.size = ids;
    tr_status status = TR_OK;
    for (size_t i = 0; i < total && status == TR_OK; i += limit) {
        const size_t n = total - i < limit ? total - i : limit, start = plan->ids.size;
        status = begin_chunk(plan, encoder, error);
        if (status == TR_OK && !tr_ids_append(&plan->ids, tokens + i, n))
            status = out_of_memory(error);
        if (status == TR_OK)
            status = add_chunk(plan, encoder, i ? span.end : span.begin, span.end, start, error);
    }
    free(tokens);
    return status;
}

static size_t divide_up(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

/* The span as one chunk if it has at most limit tokens, else in parts of at most TR_PIECE_TOKENS. A part has at most 7/8 of
 * its span's bytes (single characters aside), which bounds the depth of the recursion. */
static tr_status add_span(tr_plan *plan, const tr_source_template *encoder, const char *text, tr_span span, size_t limit,
                          tr_error *error)
{
    span.begin = tr_skip_space(text, span.end, span.begin);
    span.end = tr_trim_space(text, span.begin, span.end);
    const size_t size = span.end - span.begin;
    if (!size)
        return TR_OK;
    size_t window = (size_t)encoder->limit * WINDOW_BYTES, parts = 0;
    window = window < MIN_WINDOW ? MIN_WINDOW : window;
    const size_t piece = encoder->limit < TR_PIECE_TOKENS ? (size_t)encoder->limit : TR_PIECE_TOKENS;
    if (size > window) {
        parts = divide_up(size, window / 2);
    } else {
        const size_t ids = plan->ids.size;
        tr_status status = begin_chunk(plan, encoder, error);
        if (status == TR_OK)
            status = encoder->encode(encoder->argument, text + span.begin, size, &plan->ids, error);
        if (status != TR_OK)
            return status;
        const size_t tokens = plan->ids.size - ids - (size_t)encoder->prefix_count;
        if (tokens <= limit)
            return add_chunk(plan, encoder, span.begin, span.end, ids, error);
        if (tr_cut_place(text, span, span.begin + size / 2, size / 4) == span.end)
            return add_portions(plan, encoder, span, ids, error);
        plan->ids.size = ids;
        parts = divide_up(tokens, piece - piece / 4);
        parts = parts < 2 ? 2 : parts;
    }
    for (size_t at = span.begin; at < span.end; parts--) {
        const size_t left = span.end - at, share = parts > 1 ? left / parts : left;
        const tr_span rest = {at, span.end};
        const size_t cut = parts > 1 ? tr_cut_place(text, rest, at + share, share / 4) : span.end;
        const tr_status status = add_span(plan, encoder, text, (tr_span){at, cut}, piece, error);
        if (status != TR_OK)
            return status;
        at = cut;
    }
    return TR_OK;
}

tr_status tr_cut_sentence(tr_plan *plan, const tr_source_template *encoder, const char *text, tr_span span, tr_error *error)
{
    return add_span(plan, encoder, text, span, (size_t)encoder->limit, error);
}
