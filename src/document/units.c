/* Building the units of a document. */
#include "document/format.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tr_status no_memory(const tr_document *d, tr_error *error)
{
    return tr_fail_memory(error, d->name);
}

static tr_unit *current_unit(tr_document *d)
{
    return (tr_unit *)(d->units.data + d->units.size) - 1;
}

static tr_piece *current_pieces(tr_document *d)
{
    return (tr_piece *)d->pieces.data + current_unit(d)->first;
}

tr_status tr_unit_begin(tr_document *d, uint32_t style, tr_error *error)
{
    if (d->in_unit)
        tr_unit_drop(d);
    const tr_status status = tr_document_check_text(d, d->text_size, error);
    if (status != TR_OK)
        return status;
    const tr_unit unit = {.first = d->pieces.size / sizeof(tr_piece), .style = style};
    if (!tr_buffer_reserve(&d->pieces, sizeof(tr_piece)) || !tr_buffer_append(&d->units, &unit, sizeof unit))
        return no_memory(d, error);
    d->in_unit = true;
    return TR_OK;
}

void tr_unit_drop(tr_document *d)
{
    if (!d->in_unit)
        return;
    d->pieces.size = current_unit(d)->first * sizeof(tr_piece);
    d->units.size -= sizeof(tr_unit);
    d->in_unit = false;
}

tr_status tr_unit_piece(tr_document *d, tr_piece_kind kind, size_t begin, size_t end, tr_error *error)
{
    tr_unit *unit = current_unit(d);
    if (begin == end)
        return TR_OK;
    tr_piece *last = unit->count ? current_pieces(d) + unit->count - 1 : NULL;
    if (last && last->kind == kind && last->end == begin && kind == TR_PIECE_TEXT) {
        last->end = (uint32_t)end;
        return TR_OK;
    }
    const tr_piece piece = {(uint32_t)begin, (uint32_t)end, UINT32_MAX, (uint8_t)kind};
    if (unit->count == UINT32_MAX - 1 || !tr_buffer_append(&d->pieces, &piece, sizeof piece))
        return no_memory(d, error);
    unit->count++;
    return TR_OK;
}

static void count_text(tr_document *d)
{
    const tr_piece *pieces = current_pieces(d);
    for (uint32_t i = 0; i < current_unit(d)->count; i++)
        if (pieces[i].kind == TR_PIECE_TEXT)
            d->text_size += pieces[i].end - pieces[i].begin;
}

/* Sets partners: a closing mark's is the last opening one that is still open. Others become empty. */
static void pair_marks(tr_document *d)
{
    const tr_unit *unit = current_unit(d);
    tr_piece *pieces = current_pieces(d);
    /* While a mark is open, its partner is the open mark around it. */
    uint32_t open = UINT32_MAX;
    for (uint32_t i = 0; i < unit->count; i++) {
        tr_piece *piece = &pieces[i];
        if (piece->kind == TR_PIECE_OPEN) {
            piece->partner = open;
            open = i;
        } else if (piece->kind == TR_PIECE_CLOSE && open == UINT32_MAX) {
            piece->kind = TR_PIECE_EMPTY;
        } else if (piece->kind == TR_PIECE_CLOSE) {
            const uint32_t around = pieces[open].partner;
            piece->partner = open;
            pieces[open].partner = i;
            open = around;
        }
    }
    while (open != UINT32_MAX) {
        const uint32_t around = pieces[open].partner;
        pieces[open].kind = TR_PIECE_EMPTY;
        pieces[open].partner = UINT32_MAX;
        open = around;
    }
}

/* The size of the white space at an end of a piece. */
static size_t blank_size(const tr_document *d, const tr_piece *piece, bool back)
{
    if (piece->begin == piece->end)
        return 0;
    if (d->format->blank)
        return d->format->blank(d, piece->begin, piece->end, back);
    return tr_is_ascii_space(d->data[back ? piece->end - 1 : piece->begin]);
}

/* Cuts off white space on both sides; false: nothing else is there. */
static bool trim_piece(const tr_document *d, tr_piece *piece, bool front, bool back)
{
    for (size_t size; front && (size = blank_size(d, piece, false)) > 0;)
        piece->begin += (uint32_t)size;
    for (size_t size; back && (size = blank_size(d, piece, true)) > 0;)
        piece->end -= (uint32_t)size;
    return piece->begin < piece->end;
}

static bool has_words(const tr_document *d, const tr_piece *piece)
{
    tr_piece copy = *piece;
    return piece->kind == TR_PIECE_TEXT && trim_piece(d, &copy, true, false);
}

/* The pieces of a unit that are left, from .. to, and its first and last words. */
typedef struct trimming {
    const tr_piece *pieces;
    uint32_t from, to, first_word, last_word;
} trimming;

/* A mark beside the words, a pair without words, or a pair around all words, is not part of the unit. True: one is gone. */
static bool strip_mark(trimming *t)
{
    const tr_piece *first = &t->pieces[t->from], *last = &t->pieces[t->to - 1];
    const bool around = first->kind == TR_PIECE_OPEN && first->partner == t->to - 1;
    const uint32_t from = t->from, to = t->to;
    if (around || first->kind == TR_PIECE_EMPTY || first->kind == TR_PIECE_SKIP)
        t->from++;
    else if (first->kind == TR_PIECE_OPEN && first->partner < t->first_word)
        t->from = first->partner + 1;
    if (around || last->kind == TR_PIECE_EMPTY || last->kind == TR_PIECE_SKIP)
        t->to--;
    else if (last->kind == TR_PIECE_CLOSE && last->partner > t->last_word && last->partner >= t->from)
        t->to = last->partner;
    return t->from > from || t->to < to;
}

void tr_unit_end(tr_document *d)
{
    tr_unit *unit = current_unit(d);
    tr_piece *pieces = current_pieces(d);
    trimming t = {.pieces = pieces, .to = unit->count, .first_word = UINT32_MAX};
    bool words = false;
    pair_marks(d);
    for (uint32_t i = 0; i < unit->count; i++) {
        const bool text = has_words(d, &pieces[i]);
        words |= text;
        if (!text && pieces[i].kind != TR_PIECE_WORD)
            continue;
        t.first_word = t.first_word == UINT32_MAX ? i : t.first_word;
        t.last_word = i;
    }
    if (!words) {
        tr_unit_drop(d);
        return;
    }
    for (bool shorter = true; shorter;) {
        tr_piece *first = &pieces[t.from], *last = &pieces[t.to - 1];
        shorter = true;
        if (first->kind == TR_PIECE_TEXT && !trim_piece(d, first, true, false))
            t.from++;
        else if (last->kind == TR_PIECE_TEXT && !trim_piece(d, last, false, true))
            t.to--;
        else
            shorter = strip_mark(&t);
    }
    unit->count = t.to - t.from;
    unit->begin = pieces[t.from].begin;
    unit->end = pieces[t.to - 1].end;
    memmove(pieces, pieces + t.from, unit->count * sizeof *pieces);
    for (uint32_t i = 0; i < unit->count; i++)
        if (pieces[i].partner != UINT32_MAX)
            pieces[i].partner -= t.from;
    d->pieces.size = (unit->first + unit->count) * sizeof(tr_piece);
    count_text(d);
    d->in_unit = false;
}

void tr_unit_end_at(tr_document *d, size_t begin, size_t end)
{
    tr_unit *unit = current_unit(d);
    const tr_piece *pieces = current_pieces(d);
    bool words = false;
    for (uint32_t i = 0; i < unit->count && !words; i++)
        words = has_words(d, &pieces[i]);
    if (!words) {
        tr_unit_drop(d);
        return;
    }
    unit->begin = (uint32_t)begin;
    unit->end = (uint32_t)end;
    pair_marks(d);
    count_text(d);
    d->in_unit = false;
}

tr_status tr_unit_text(tr_document *d, uint32_t style, size_t begin, size_t end, tr_error *error)
{
    tr_status status = tr_unit_begin(d, style, error);
    if (status == TR_OK)
        status = tr_unit_piece(d, TR_PIECE_TEXT, begin, end, error);
    if (status == TR_OK)
        tr_unit_end(d);
    return status;
}

/* By their ends, then by their begins, then as they came. */
static int compare_units(const void *a, const void *b)
{
    const tr_unit *x = a, *y = b;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

void tr_units_sort(tr_document *d)
{
    tr_unit *units = (tr_unit *)d->units.data;
    const size_t count = d->units.size / sizeof *units;
    uint32_t later = UINT32_MAX; /* the least begin of later units */
    for (size_t i = 1; i < count; i++)
        if (compare_units(&units[i - 1], &units[i]) > 0) {
            qsort(units, count, sizeof *units, compare_units);
            break;
        }
    for (size_t i = count; i-- > 0;) {
        if (later < units[i].end)
            units[i].style |= TR_UNIT_INSIDE;
        later = units[i].begin < later ? units[i].begin : later;
    }
}

tr_status tr_edit_add(tr_document *d, size_t begin, size_t end, const char *text, size_t size, tr_error *error)
{
    const tr_edit edit = {(uint32_t)begin, (uint32_t)end, d->edited.size, size};
    if (!tr_buffer_append(&d->edited, text, size) || !tr_buffer_append(&d->edits, &edit, sizeof edit))
        return no_memory(d, error);
    return TR_OK;
}

tr_status tr_document_fail(const tr_document *d, size_t at, tr_error *error, const char *format, ...)
{
    char why[TR_MESSAGE_SIZE];
    size_t line = 1, begin = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    if (at > d->size)
        at = d->size;
    for (const char *next; (next = memchr(d->data + begin, '\n', at - begin)) != NULL; line++)
        begin = (size_t)(next - d->data) + 1;
    size_t column = 1;
    for (size_t i = begin; i < at; i++)
        column += (d->data[i] & 0xC0) != 0x80;
    return tr_fail(error, TR_ERROR_FORMAT, "%s: line %zu, column %zu: %s", d->name, line, column, why);
}

tr_status tr_document_check_content(const tr_document *d, uint64_t size, tr_error *error)
{
    const uint64_t most = d->settings.max_content;
    if (size <= most)
        return TR_OK;
    return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: %llu bytes of content; at most %llu, unless max_content is larger",
                   d->name, (unsigned long long)size, (unsigned long long)most);
}

tr_status tr_document_check_text(const tr_document *d, uint64_t size, tr_error *error)
{
    const uint64_t most = d->settings.max_text;
    if (!most || size <= most)
        return TR_OK;
    return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: more than %llu bytes of text", d->name, (unsigned long long)most);
}
