#define _GNU_SOURCE
#include "text/plan.h"

#include <stdlib.h>
#include <string.h>

#include "text/capitals.h"
#include "text/tags.h"
#include "text/sentences.h"
#include "util/utf8.h"

void tr_plan_clear(tr_plan *plan)
{
    plan->ids.size = 0;
    plan->count = 0;
    tr_buffer_clear(&plan->uses);
    tr_buffer_clear(&plan->written);
    plan->stand_ins = NULL;
}

void tr_plan_free(tr_plan *plan)
{
    tr_ids_free(&plan->ids);
    free(plan->chunks);
    tr_buffer_free(&plan->spans);
    tr_buffer_free(&plan->uses);
    tr_buffer_free(&plan->written);
    tr_buffer_free(&plan->scratch);
    tr_figures_free(&plan->figures);
    *plan = (tr_plan){0};
}

void tr_text_free(tr_text *text)
{
    free(text->clean);
    *text = (tr_text){0};
}

/* A text on its way into a plan. */
typedef struct planner {
    tr_plan *plan;
    const tr_language_pair *pair;
    const tr_protection *protection; /* NULL: none */
    tr_text *text;
    bool known;   /* no character that the vocabulary lacks is left outside of spans */
    bool cut;     /* the sentence was too long */
    bool figures; /* numbers become stand-ins */
} planner;

/* Protected spans [count] of a part of a text. */
typedef struct span_list {
    const tr_kept_span *items;
    size_t count;
} span_list;

/* Those of a list that lie between two bytes. */
static span_list spans_between(span_list all, size_t begin, size_t end)
{
    while (all.count && all.items[0].begin < begin) {
        all.items++;
        all.count--;
    }
    size_t count = 0;
    while (count < all.count && all.items[count].end <= end)
        count++;
    return (span_list){all.items, count};
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

/* A cut that lies inside a span moves to its begin, or, at the begin of the part, to its end. */
static size_t move_out_of_spans(span_list spans, size_t begin, size_t cut)
{
    for (size_t i = 0; i < spans.count && spans.items[i].begin < cut; i++)
        if (cut < spans.items[i].end)
            return spans.items[i].begin > begin ? spans.items[i].begin : spans.items[i].end;
    return cut;
}

/* Bytes that the tokenizer gets of a part. */
static size_t size_without_spans(span_list spans, size_t size)
{
    for (size_t i = 0; i < spans.count; i++)
        size -= spans.items[i].end - spans.items[i].begin;
    return size;
}

/* Appends a chunk that the network does not see: its bytes stay as they are. */
static tr_status add_plain(planner *p, size_t begin, size_t end, tr_chunk_spacing spacing, tr_error *error)
{
    const tr_status status = add_chunk(p->plan, p->pair, begin, end, p->plan->ids.size, error);
    if (status != TR_OK)
        return status;
    tr_text_chunk *chunk = &p->plan->chunks[p->plan->count - 1];
    p->plan->ids.size = chunk->ids;
    chunk->length = chunk->tokens = 0;
    chunk->plan = p->plan;
    chunk->spacing = spacing;
    return TR_OK;
}

/* Appends what a span becomes in the translation as a chunk. */
static tr_status add_span_chunk(planner *p, const tr_kept_span *span, tr_chunk_spacing spacing, tr_error *error)
{
    const tr_status status = add_plain(p, span->begin, span->end, spacing, error);
    if (status == TR_OK && span->is_written) {
        tr_text_chunk *chunk = &p->plan->chunks[p->plan->count - 1];
        chunk->written = span->written;
        chunk->written_size = span->written_size;
    }
    return status;
}

/* Tokenises a part as the network sees it. uses: out, a chunk with its stand-ins. */
static tr_status encode_part(planner *p, tr_span part, span_list spans, tr_text_chunk *uses, tr_error *error)
{
    tr_plan *plan = p->plan;
    const char *text = p->text->data;
    *uses = (tr_text_chunk){.plan = plan};
    tr_status status = begin_chunk(plan, p->pair, error);
    if (status != TR_OK)
        return status;
    uses->capitals = tr_is_in_capitals(p->protection, text, spans.items, spans.count, part.begin, part.end);
    if (!spans.count && !uses->capitals)
        return tr_tokenizer_encode(p->pair->tokenizer, text + part.begin, part.end - part.begin, &plan->ids, error);
    status = tr_uses_add(plan, p->protection, text, spans.items, spans.count, part.begin, part.end, uses, error);
    tr_buffer_clear(&plan->scratch);
    if (status == TR_OK)
        status = tr_uses_mask(uses, text, part.begin, part.end, &plan->scratch, NULL, error);
    if (status == TR_OK)
        status = tr_tokenizer_encode(p->pair->tokenizer, plan->scratch.data, plan->scratch.size, &plan->ids, error);
    return status;
}

static tr_status plan_unknown(planner *p, tr_span part, span_list spans, size_t limit, tr_error *error);
static tr_status add_part(planner *p, tr_span part, span_list spans, size_t limit, tr_error *error);
static tr_status add_protected(planner *p, tr_span part, span_list spans, size_t limit, tr_error *error);

static size_t count_tags(span_list spans)
{
    size_t count = 0;
    for (size_t i = 0; i < spans.count; i++)
        count += tr_is_aligned(&spans.items[i]);
    return count;
}

/* Appends a part of what was cut, in which tags may have lost their partners. */
static tr_status add_cut(planner *p, tr_span part, span_list spans, size_t limit, tr_error *error)
{
    return count_tags(spans) ? add_protected(p, part, spans, limit, error) : add_part(p, part, spans, limit, error);
}

/* Appends a part that is cut at one of its spans. */
static tr_status add_around(planner *p, tr_span part, span_list spans, size_t index, size_t limit, tr_error *error)
{
    const tr_kept_span *span = &spans.items[index];
    const span_list after = {span + 1, spans.count - index - 1};
    tr_status status = add_cut(p, (tr_span){part.begin, span->begin}, (span_list){spans.items, index}, limit, error);
    if (status == TR_OK)
        status = add_span_chunk(p, span, TR_SPACING_MARK, error);
    return status == TR_OK ? add_cut(p, (tr_span){span->end, part.end}, after, limit, error) : status;
}

/* Whether a token stands for a character, or a byte of one, that the vocabulary lacks. */
static bool is_unknown(const tr_language_pair *pair, int32_t id)
{
    const tr_vocabulary *v = &pair->package->source;
    if (id == pair->package->config.unk_id)
        return true;
    return (size_t)id < v->size && v->pieces[id].size == 6 && memcmp(v->pieces[id].data, "<0x", 3) == 0;
}

static bool has_unknown(const planner *p, size_t first)
{
    for (size_t i = first; i < p->plan->ids.size; i++)
        if (is_unknown(p->pair, p->plan->ids.data[i]))
            return true;
    return false;
}

/* Cuts a part into about so many, and appends these. A part has at most 7/8 of the bytes of the whole (single characters and
 * spans aside), which bounds the depth of the recursion. */
static tr_status cut_part(planner *p, tr_span part, span_list spans, size_t parts, size_t limit, tr_error *error)
{
    for (size_t at = part.begin; at<part.end; parts = parts> 1 ? parts - 1 : 1) {
        const size_t left = part.end - at, share = parts > 1 ? left / parts : left;
        const tr_span rest = {at, part.end};
        size_t cut = parts > 1 ? find_cut(p->text->data, rest, at + share, share / 4) : part.end;
        cut = move_out_of_spans(spans, at, cut);
        const tr_status status = add_cut(p, (tr_span){at, cut}, spans_between(spans, at, cut), limit, error);
        if (status != TR_OK)
            return status;
        at = cut;
    }
    return TR_OK;
}

/* A chunk is checked if it has stand-ins, or figures that a translation must say. */
static tr_status note_figures(planner *p, tr_text_chunk *chunk, tr_error *error)
{
    tr_figures *figures = &p->plan->figures;
    chunk->checked = chunk->use_count > 0;
    if (chunk->checked)
        return TR_OK;
    const tr_status status =
        tr_figures_find(p->protection->from, p->text->data + chunk->begin, chunk->end - chunk->begin, figures, error);
    for (size_t i = 0; status == TR_OK && i < figures->count && !chunk->checked; i++)
        chunk->checked = !figures->items[i].optional;
    return status;
}

/* Appends a part of a sentence as one chunk if it has at most limit tokens, else as several of at most TR_PIECE_TOKENS. */
static tr_status add_part(planner *p, tr_span part, span_list spans, size_t limit, tr_error *error)
{
    const tr_language_pair *pair = p->pair;
    tr_plan *plan = p->plan;
    const char *text = p->text->data;
    /* a span may begin or end with white space */
    part.begin = tr_skip_space(text, spans.count ? spans.items[0].begin : part.end, part.begin);
    part.end = tr_trim_space(text, spans.count ? spans.items[spans.count - 1].end : part.begin, part.end);
    const size_t size = part.end - part.begin, shown = size_without_spans(spans, size);
    if (!size)
        return TR_OK;
    size_t window = (size_t)pair->limit * WINDOW_BYTES;
    window = window < MIN_WINDOW ? MIN_WINDOW : window;
    const size_t piece = pair->limit < TR_PIECE_TOKENS ? (size_t)pair->limit : TR_PIECE_TOKENS;
    const size_t tags = count_tags(spans);
    if (spans.count > TR_CHUNK_SPANS || spans.count - tags > TR_CHUNK_WORDS) {
        const size_t middle = spans.items[spans.count / 2].begin;
        const tr_span halves[] = {{part.begin, middle}, {middle, part.end}};
        tr_status status = TR_OK;
        for (int i = 0; i < 2 && status == TR_OK; i++)
            status = add_cut(p, halves[i], spans_between(spans, halves[i].begin, halves[i].end), limit, error);
        return status;
    }
    p->cut = p->cut || shown > window;
    if (shown > window)
        return cut_part(p, part, spans, divide_up(shown, window / 2), piece, error);
    const size_t ids = plan->ids.size, first_use = plan->uses.size;
    tr_text_chunk uses;
    tr_status status = encode_part(p, part, spans, &uses, error);
    if (status != TR_OK)
        return status;
    const size_t tokens = plan->ids.size - ids - (size_t)pair->prefix_count;
    const bool is_span = spans.count == 1 && spans.items[0].begin == part.begin && spans.items[0].end == part.end;
    const bool lacks = p->protection && !p->known && has_unknown(p, ids + (size_t)pair->prefix_count);
    if (tokens <= limit && !lacks && (size_t)uses.use_count == spans.count) {
        status = add_chunk(plan, pair, part.begin, part.end, ids, error);
        if (status == TR_OK) {
            tr_text_chunk *chunk = &plan->chunks[plan->count - 1];
            chunk->plan = plan;
            chunk->first_use = uses.first_use;
            chunk->use_count = uses.use_count;
            chunk->capitals = uses.capitals;
            chunk->tagged = tags > 0;
            if (p->protection)
                status = note_figures(p, chunk, error);
        }
        return status;
    }
    const bool single = !spans.count && find_cut(text, part, part.begin + size / 2, size / 4) == part.end;
    if (!lacks && single) {
        p->cut = true;
        return add_character(plan, pair, part, ids, error);
    }
    plan->ids.size = ids;
    plan->uses.size = first_use;
    if (lacks)
        return plan_unknown(p, part, spans, limit, error);
    if (is_span)
        return add_span_chunk(p, &spans.items[0], TR_SPACING_MARK, error);
    if ((size_t)uses.use_count < spans.count) /* not enough stand-ins */
        return add_around(p, part, spans, (size_t)uses.use_count, limit, error);
    const size_t parts = divide_up(tokens, piece - piece / 4);
    p->cut = true;
    return cut_part(p, part, spans, parts < 2 ? 2 : parts, piece, error);
}

/* ------------------------------------------------------------------------------------------------------ protected spans */

/* Whether the text between two bytes has a letter of the source's language outside of the spans. */
static bool has_letters(const planner *p, span_list spans, size_t begin, size_t end)
{
    size_t at = begin;
    for (size_t i = 0; i < spans.count; i++) {
        const tr_kept_span *span = &spans.items[i]; /* digits may be Chinese ones */
        if (span->kind == TR_SPAN_DIGITS &&
            tr_has_letter_of(p->protection->source, p->text->data + span->begin, span->end - span->begin))
            return true;
        if (tr_has_letter_of(p->protection->source, p->text->data + at, spans.items[i].begin - at))
            return true;
        at = spans.items[i].end;
    }
    return tr_has_letter_of(p->protection->source, p->text->data + at, end - at);
}

/* Whether a sentence is Japanese, where the source's language is Chinese: not one that has a の in a name. */
static bool is_japanese(const planner *p, size_t begin, size_t end)
{
    const tr_scripts kana = tr_script_bit(TR_HIRAGANA) | tr_script_bit(TR_KATAKANA), source = p->protection->source;
    size_t kanas = 0, letters = 0, length;
    if (!(source & tr_script_bit(TR_HAN)) || source & kana)
        return false;
    for (size_t at = begin; at < end; at += length) {
        const int32_t c = tr_character(p->text->data, end, at, &length);
        const tr_scripts script = c < 0x3040 ? 0 : tr_script_bit(tr_script_of(c));
        kanas += (script & kana) != 0;
        letters += (script & (kana | tr_script_bit(TR_HAN))) != 0;
    }
    return kanas >= 3 && kanas * 4 >= letters;
}

/* Whether a sentence is in the target's language already: it has the target's letters, and of the source's, which must be
 * Latin ones, few words. Small words weigh as much as four letters, names with a capital as much as one. */
static bool is_in_target(const planner *p, size_t begin, size_t end)
{
    const tr_protection *protection = p->protection;
    const char *text = p->text->data;
    size_t own = 0, words = 0, length;
    if (!protection->source || !protection->target)
        return false;
    for (size_t at = begin; at < end; at += length) {
        const int32_t c = tr_character(text, end, at, &length);
        if (!tr_is_letter_of(protection->source, c)) {
            own += tr_is_letter_of(protection->target, c);
            continue;
        }
        if (c >= 0x250) /* not Latin: each letter may be a word */
            return false;
        bool capital = false;
        for (size_t next; at < end; at += next) {
            const int32_t letter = tr_character(text, end, at, &next);
            if (!tr_is_letter_of(protection->source, letter))
                break;
            capital = capital || tr_is_ascii_capital(letter);
        }
        words += capital ? 1 : 4;
        length = 0;
    }
    return own > words;
}

/* Marks that stand alone between two spans, in the target's way of writing; NULL: as they are. */
static const char *western_mark(int32_t c)
{
    switch (c) {
    case 0xff0c:
    case 0x3001: return ",";
    case 0x3002: return ".";
    case 0xff01: return "!";
    case 0xff1f: return "?";
    case 0xff1a: return ":";
    case 0xff1b: return ";";
    case 0xff08: return "(";
    case 0xff09: return ")";
    default: return NULL;
    }
}

/* The same for single marks of a Western text in Chinese or Japanese, before white space or the end; not of 1. and ... */
static const char *eastern_mark(const char *text, size_t begin, size_t end, size_t at)
{
    if (text[at] == '!')
        return "！";
    if (text[at] == '?')
        return "？";
    if ((at + 1 < end && text[at + 1] != ' ') || (at > begin && text[at - 1] > ' '))
        return NULL;
    switch (text[at]) {
    case ',': return "，";
    case '.': return "。";
    case ':': return "：";
    case ';': return "；";
    default: return NULL;
    }
}

/* Appends a part without letters: its marks as the target language writes them. */
static tr_status add_marks(planner *p, size_t begin, size_t end, tr_error *error)
{
    const char *text = p->text->data;
    size_t length;
    begin = tr_skip_space(text, end, begin);
    end = tr_trim_space(text, begin, end);
    if (begin == end)
        return TR_OK;
    const tr_status status = add_plain(p, begin, end, TR_SPACING_MARK, error);
    if (status != TR_OK || (p->pair->unspaced && p->pair->source_unspaced))
        return status;
    tr_buffer *written = &p->plan->written;
    tr_text_chunk *chunk = &p->plan->chunks[p->plan->count - 1];
    chunk->written = written->size;
    for (size_t at = begin; at < end; at += length) {
        const int32_t c = tr_character(text, end, at, &length);
        const char *mark = p->pair->unspaced ? eastern_mark(text, begin, end, at) : western_mark(c);
        if (!(mark ? tr_buffer_string(written, mark) : tr_buffer_append(written, text + at, length)))
            return tr_fail_memory(error, "sentence");
    }
    chunk->written_size = written->size - chunk->written;
    return TR_OK;
}

/* A part without the marks and tags around all of it: <p>…</p>. */
static tr_span strip_outer_tags(const planner *p, tr_span part, span_list spans)
{
    const char *text = p->text->data;
    for (bool shorter = true; shorter && spans.count;) {
        const tr_kept_span *first = &spans.items[0], *last = &spans.items[spans.count - 1];
        part.begin = tr_skip_space(text, part.end, part.begin);
        part.end = tr_trim_space(text, part.begin, part.end);
        const bool begins = first->begin == part.begin, ends = last->end == part.end;
        const bool pair = begins && ends && tr_is_tag(first) && first->partner == last->begin;
        shorter = false;
        if (pair || (begins && (first->kind == TR_SPAN_MARK || first->kind == TR_SPAN_EMPTY))) {
            part.begin = first->end;
            spans.items++;
            spans.count--;
            shorter = true;
        }
        if (pair || (ends && spans.count && (last->kind == TR_SPAN_MARK || last->kind == TR_SPAN_EMPTY))) {
            part.end = last->begin;
            spans.count--;
            shorter = true;
        }
    }
    return part;
}

/* Whether a span stands between chunks; others stand in a sentence as words, or, pairs of tags, around its words. inner: the
 * part of a sentence in which a pair must lie. */
static bool is_apart(const planner *p, tr_span inner, const tr_kept_span *span)
{
    if (span->kind == TR_SPAN_DIGITS)
        return false;
    if (p->protection->attempt == TR_ATTEMPTS - 1)
        return true;
    if (span->kind == TR_SPAN_MARK)
        return !span->inside || span->begin <= inner.begin || span->end >= inner.end;
    if (!tr_is_tag(span))
        return span->kind == TR_SPAN_EMPTY;
    return span->partner == SIZE_MAX || span->begin < inner.begin || span->begin >= inner.end ||
           span->partner < inner.begin || span->partner >= inner.end;
}

static tr_chunk_spacing spacing_of(const planner *p, const tr_kept_span *span)
{
    const char *name = p->text->data + span->begin + 1;
    switch (span->kind) {
    case TR_SPAN_OPEN: return TR_SPACING_OPEN;
    case TR_SPAN_CLOSE: return TR_SPACING_CLOSE;
    case TR_SPAN_EMPTY:
        return span->end - span->begin > 3 && (name[0] | 0x20) != 'i' ? TR_SPACING_TIGHT : TR_SPACING_MARK; /* <br>; <img> */
    case TR_SPAN_MARK:
    case TR_SPAN_WORD:
    case TR_SPAN_PRINTF:
    case TR_SPAN_DIGITS: break;
    }
    return p->text->data[span->begin] == '\\' || p->text->data[span->begin] == '&' ? TR_SPACING_TIGHT : TR_SPACING_MARK;
}

/* The end of the marks of a sentence from begin on. */
static size_t skip_marks(const char *text, size_t begin, size_t end)
{
    size_t length;
    for (; begin < end; begin += length) {
        const int32_t c = tr_character(text, end, begin, &length);
        if (!tr_is_space(c) && !tr_is_clause_mark(c) && !tr_is_strong_mark(c) && !tr_is_bang(c) && !tr_is_full_stop(c))
            break;
    }
    return begin;
}

/* Appends a part with the spans that stand in it as words. */
static tr_status add_between(planner *p, size_t begin, size_t end, bool begins_sentence, span_list spans, size_t limit,
                             tr_error *error)
{
    tr_status status = TR_OK;
    if (has_letters(p, spans, begin, end)) {
        const size_t marks_end = spans.count ? spans.items[0].begin : end;
        const size_t first = begins_sentence ? begin : skip_marks(p->text->data, begin, marks_end);
        status = add_marks(p, begin, first, error);
        return status == TR_OK ? add_part(p, (tr_span){first, end}, spans, limit, error) : status;
    }
    for (size_t i = 0; i < spans.count && status == TR_OK; i++) {
        status = add_marks(p, begin, spans.items[i].begin, error);
        if (status == TR_OK)
            status = add_span_chunk(p, &spans.items[i],
                                    tr_is_tag(&spans.items[i]) ? spacing_of(p, &spans.items[i]) : TR_SPACING_MARK, error);
        begin = spans.items[i].end;
    }
    return status == TR_OK ? add_marks(p, begin, end, error) : status;
}

/* Appends a sentence, or a part of one, cut at the spans that stand between words. */
static tr_status add_protected(planner *p, tr_span part, span_list spans, size_t limit, tr_error *error)
{
    const tr_span inner = strip_outer_tags(p, part, spans);
    size_t begin = part.begin, first = 0;
    tr_status status = TR_OK;
    for (size_t i = 0; i < spans.count && status == TR_OK; i++) {
        const tr_kept_span *span = &spans.items[i];
        if (!is_apart(p, inner, span))
            continue;
        status = add_between(p, begin, span->begin, begin == part.begin, (span_list){spans.items + first, i - first}, limit,
                             error);
        if (status == TR_OK)
            status = add_span_chunk(p, span, spacing_of(p, span), error);
        begin = span->end;
        first = i + 1;
    }
    if (status == TR_OK)
        status = add_between(p, begin, part.end, begin == part.begin, (span_list){spans.items + first, spans.count - first},
                             limit, error);
    return status;
}

/* ---------------------------------------------------------------------------------- characters that the vocabulary lacks */

/* What is written in bytes is lacking as well, but for letters of the source's language: networks learn these. */
static tr_status lacks_character(planner *p, const char *bytes, size_t length, int32_t c, bool *lacks, tr_error *error)
{
    tr_ids *ids = &p->plan->ids;
    const size_t first = ids->size;
    const bool is_own = tr_is_letter_of(p->protection->source, c);
    const tr_status status = tr_tokenizer_encode(p->pair->tokenizer, bytes, length, ids, error);
    *lacks = false;
    for (size_t i = first; status == TR_OK && i < ids->size; i++)
        *lacks = *lacks || (is_own ? ids->data[i] == p->pair->package->config.unk_id : is_unknown(p->pair, ids->data[i]));
    ids->size = first;
    return status;
}

static bool append_span(tr_buffer *spans, tr_kept_span span)
{
    tr_kept_span *last = (tr_kept_span *)(void *)(spans->size ? spans->data + spans->size - sizeof span : NULL);
    if (last && last->end >= span.begin && last->kind == span.kind && span.kind == TR_SPAN_WORD && !last->is_written) {
        last->end = span.end > last->end ? span.end : last->end;
        return true;
    }
    return tr_buffer_append(spans, &span, sizeof span);
}

/* Appends the characters between two bytes that the vocabulary lacks as spans: letters stand as words, and so do marks that
 * are glued to ASCII letters or digits, with these; other marks stand apart. */
static tr_status find_unknown(planner *p, size_t begin, size_t end, tr_buffer *spans, tr_error *error)
{
    const char *text = p->text->data;
    size_t length;
    for (size_t at = begin; at < end; at += length) {
        const int32_t c = tr_character(text, end, at, &length);
        bool lacks = false;
        tr_status status =
            tr_is_ascii_word(c) || tr_is_space(c) ? TR_OK : lacks_character(p, text + at, length, c, &lacks, error);
        if (status == TR_OK && !lacks && c >= 0x3008 && c <= 0x301b) { /* 『 where the vocabulary has it, but not 』 */
            char partner[4];
            const size_t size = tr_utf8_encode((uint32_t)c ^ 1, partner);
            status = lacks_character(p, partner, size, c ^ 1, &lacks, error);
        }
        if (status != TR_OK)
            return status;
        if (!lacks)
            continue;
        tr_kept_span span = {.begin = at, .end = at + length, .kind = TR_SPAN_WORD};
        if (!tr_is_any_letter(c)) {
            while (span.begin > begin && tr_is_ascii_word(text[span.begin - 1]))
                span.begin--;
            while (span.end < end && tr_is_ascii_word(text[span.end]))
                span.end++;
            if (tr_has_number_unit(text, end, span.end)) /* €1200万 */
                span.begin = at, span.end = at + length;
            span.kind = span.end - span.begin > length ? TR_SPAN_WORD : TR_SPAN_MARK;
            length = span.end - at;
        }
        if (!append_span(spans, span))
            return tr_fail_memory(error, "sentence");
    }
    return TR_OK;
}

/* Appends a part in which the vocabulary lacks characters. */
static tr_status plan_unknown(planner *p, tr_span part, span_list spans, size_t limit, tr_error *error)
{
    tr_buffer all = {0};
    tr_status status = TR_OK;
    size_t at = part.begin;
    for (size_t i = 0; i < spans.count && status == TR_OK; i++) {
        status = find_unknown(p, at, spans.items[i].begin, &all, error);
        if (status == TR_OK && !tr_buffer_append(&all, &spans.items[i], sizeof spans.items[i]))
            status = tr_fail_memory(error, "sentence");
        at = spans.items[i].end;
    }
    if (status == TR_OK)
        status = find_unknown(p, at, part.end, &all, error);
    tr_kept_span *items = (tr_kept_span *)(void *)all.data;
    const span_list found = {items, all.size / sizeof *items};
    tr_tags_pair(p->text->data, p->text->size, items, found.count);
    p->known = true;
    if (status == TR_OK)
        status = add_protected(p, part, found, limit, error);
    p->known = false;
    tr_buffer_free(&all);
    return status;
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

/* Whether something else takes the place of one of the spans: a term, a number. */
static bool has_written(span_list spans)
{
    for (size_t i = 0; i < spans.count; i++)
        if (spans.items[i].is_written)
            return true;
    return false;
}

/* A sentence that is not translated. What is Chinese in it, outside of its spans, gets traditional characters where the
 * translations have them; Japanese does not. */
static tr_status add_passed(planner *p, tr_span sentence, span_list spans, tr_error *error)
{
    const tr_scripts kana = tr_script_bit(TR_HIRAGANA) | tr_script_bit(TR_KATAKANA);
    const size_t size = sentence.end - sentence.begin;
    size_t at = sentence.begin;
    tr_status status = TR_OK;
    if (!p->pair->traditional.size || tr_has_letter_of(kana, p->text->data + at, size) ||
        !tr_has_letter_of(tr_script_bit(TR_HAN), p->text->data + at, size)) {
        p->text->passed++;
        return add_plain(p, sentence.begin, sentence.end, TR_SPACING_TEXT, error);
    }
    for (size_t i = 0; status == TR_OK && i <= spans.count; i++) {
        const tr_kept_span *span = i < spans.count ? &spans.items[i] : NULL;
        if (span && span->is_target)
            continue;
        const size_t end = span ? span->begin : sentence.end;
        if (end > at) {
            status = add_plain(p, at, end, TR_SPACING_TEXT, error);
            if (status == TR_OK)
                p->plan->chunks[p->plan->count - 1].chinese = true;
        }
        if (span && status == TR_OK) {
            status = add_plain(p, span->begin, span->end, TR_SPACING_TIGHT, error);
            at = span->end;
        }
    }
    return status;
}

static tr_status plan_sentence(planner *p, tr_span sentence, span_list spans, tr_error *error)
{
    tr_text *text = p->text;
    const size_t before = p->plan->count, limit = (size_t)p->pair->limit;
    tr_status status;
    text->sentences++;
    if (!p->protection) {
        status = add_part(p, sentence, spans, limit, error);
    } else if ((!has_letters(p, spans, sentence.begin, sentence.end) && !has_written(spans)) ||
               is_in_target(p, sentence.begin, sentence.end) || is_japanese(p, sentence.begin, sentence.end)) {
        status = add_passed(p, sentence, spans, error);
    } else {
        status = add_protected(p, sentence, spans, limit, error);
    }
    if (p->cut)
        text->flags |= TR_FLAG_CUT;
    for (size_t i = before; i < p->plan->count; i++) {
        p->plan->chunks[i].text = text->data;
        p->plan->chunks[i].sentence = text->sentences - 1;
        p->plan->chunks[i].piece = p->cut && p->plan->chunks[i].tokens;
    }
    p->cut = false;
    return status;
}

/* The next sentence; one that ends inside a span goes on to the end of the sentence in which the span ends, and tags that
 * close belong to the sentence before them. */
static bool next_sentence(const planner *p, tr_split split, tr_sentences *sentences, span_list spans, tr_span *sentence)
{
    const tr_text *text = p->text;
    if (split == TR_SPLIT_NEVER) {
        sentence->begin = tr_skip_space(text->data, text->size, sentences->at);
        sentence->end = tr_trim_space(text->data, sentence->begin, text->size);
        sentences->at = text->size;
        return sentence->begin < sentence->end;
    }
    if (!tr_sentences_next(sentences, sentence))
        return false;
    tr_span more;
    for (size_t i = 0; i < spans.count && spans.items[i].begin <= sentence->end; i++) {
        const tr_kept_span *span = &spans.items[i];
        while (span->begin < sentence->end && span->end > sentence->end && tr_sentences_next(sentences, &more))
            sentence->end = more.end;
        if (span->begin == sentence->end && span->kind == TR_SPAN_CLOSE)
            sentence->end = sentences->at = span->end;
    }
    return true;
}

/* Plans the text from its begin on. */
static tr_status plan_sentences(planner *p, tr_split split, tr_error *error)
{
    tr_plan *plan = p->plan;
    tr_text *text = p->text;
    tr_status status = TR_OK;
    tr_span sentence;
    tr_buffer_clear(&plan->spans);
    if (p->protection)
        status = tr_spans_find(text->data + text->begin, text->size - text->begin, &plan->spans, error);
    tr_kept_span *found = (tr_kept_span *)(void *)plan->spans.data;
    span_list spans = {found, plan->spans.size / sizeof *found};
    for (size_t i = 0; i < spans.count; i++) {
        found[i].begin += text->begin;
        found[i].end += text->begin;
    }
    tr_tags_pair(text->data, text->size, found, spans.count);
    if (status == TR_OK && p->protection)
        status = tr_add_language_spans(plan, p->protection, text->data, text->begin, text->size, p->figures, error);
    spans = (span_list){(const tr_kept_span *)(const void *)plan->spans.data, plan->spans.size / sizeof *found};
    tr_sentences sentences = {.text = text->data, .size = text->size, .at = text->begin};
    while (status == TR_OK && next_sentence(p, split, &sentences, spans, &sentence)) {
        const span_list own = spans_between(spans, sentence.begin, sentence.end);
        status = plan_sentence(p, sentence, own, error);
        spans.count -= (size_t)(own.items + own.count - spans.items);
        spans.items = own.items + own.count;
    }
    text->count = plan->count - text->first;
    return status;
}

tr_status tr_plan_text(tr_plan *plan, const tr_language_pair *pair, const tr_protection *protection, tr_split split,
                       const char *data, size_t size, tr_text *text, tr_error *error)
{
    *text = (tr_text){.data = data, .size = size, .first = plan->count};
    const tr_status status = clean_text(text, error);
    planner p = {.plan = plan, .pair = pair, .protection = protection, .text = text};
    tr_language_pair typed;
    if (status != TR_OK)
        return status;
    text->begin = tr_language_pair_typed(pair, text->data, text->size, &typed);
    if (text->begin) {
        p.pair = &typed;
        text->begin = tr_skip_space(text->data, text->size, text->begin);
    }
    text->unspaced = p.pair->unspaced;
    return plan_sentences(&p, split, error);
}

tr_status tr_plan_again(tr_plan *plan, const tr_language_pair *pair, const tr_protection *protection, const tr_text *text,
                        size_t begin, size_t end, bool figures, tr_text *part, tr_error *error)
{
    planner p = {.plan = plan, .pair = pair, .protection = protection, .text = part, .figures = figures};
    tr_language_pair typed;
    if (tr_language_pair_typed(pair, text->data, text->size, &typed))
        p.pair = &typed;
    *part = (tr_text){.data = text->data, .size = end, .begin = begin, .first = plan->count, .unspaced = text->unspaced};
    return plan_sentences(&p, TR_SPLIT_NEVER, error);
}
