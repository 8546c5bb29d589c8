/* The text of units with their marks, and translations as parts between these marks. */
#include "document/marks.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------------- text of units */

bool tr_render_piece(const tr_document *d, const tr_piece *piece, tr_buffer *out)
{
    return tr_buffer_append(out, d->data + piece->begin, piece->end - piece->begin);
}

/* The letter of marks: one that follows no <, </ or { of the text before a digit. 0: there is none. */
static char choose_letter(const char *text, size_t size)
{
    bool used[256] = {false};
    for (size_t i = 0; i + 2 < size; i++) {
        if (text[i] != '<' && text[i] != '{')
            continue;
        const size_t at = i + 1 + (text[i + 1] == '/');
        used[(unsigned char)text[at]] = true;
    }
    for (const char *c = "xyzwvutsrqponmlkjihgfedcba"; *c; c++)
        if (!used[(unsigned char)*c])
            return *c;
    return 0;
}

/* The text of a unit's pieces without its marks. A word is a character, so that white space on its sides is not one run. */
typedef struct plain_text {
    tr_buffer text;
    tr_buffer ends; /* of size_t: where the text of each piece ends */
} plain_text;

static void free_plain(plain_text *plain)
{
    tr_buffer_free(&plain->text);
    tr_buffer_free(&plain->ends);
}

static bool decode_pieces(const tr_document *d, const tr_unit *unit, plain_text *plain)
{
    const tr_piece *pieces = tr_unit_pieces(d, unit);
    bool good = tr_buffer_append(&plain->text, "", 0);
    for (uint32_t i = 0; i < unit->count && good; i++) {
        const tr_piece *piece = &pieces[i];
        if (piece->kind == TR_PIECE_TEXT)
            good = d->format->decode ? d->format->decode(d, unit, piece->begin, piece->end, &plain->text)
                                     : tr_render_piece(d, piece, &plain->text);
        else if (piece->kind == TR_PIECE_WORD)
            good = tr_buffer_append(&plain->text, "x", 1);
        good = good && tr_buffer_append(&plain->ends, &plain->text.size, sizeof plain->text.size);
    }
    return good;
}

/* Whether the white space text[begin .. end) stands for nothing: a line break between two Chinese or Japanese characters. */
static bool is_nothing(const tr_buffer *text, size_t begin, size_t end)
{
    size_t length;
    if (!begin || end == text->size || !memchr(text->data + begin, '\n', end - begin))
        return false;
    return tr_is_cjk(tr_character(text->data, text->size, tr_character_before(text->data, begin), &length)) &&
           tr_is_cjk(tr_character(text->data, text->size, end, &length));
}

/* Appends plain text from .. to with its white space collapsed. A run of white space that marks divide stands where it
 * begins. */
static bool append_collapsed(const tr_buffer *plain, size_t from, size_t to, tr_buffer *out)
{
    const char *text = plain->data;
    if (!tr_buffer_reserve(out, to - from))
        return false;
    for (size_t i = from; i < to; i++) {
        if (!tr_is_ascii_space(text[i])) {
            out->data[out->size++] = text[i];
            continue;
        }
        if (i && tr_is_ascii_space(text[i - 1]))
            continue;
        size_t end = i;
        while (end < plain->size && tr_is_ascii_space(text[end]))
            end++;
        if (!is_nothing(plain, i, end))
            out->data[out->size++] = ' ';
    }
    out->data[out->size] = 0;
    return true;
}

static bool append_mark(tr_buffer *text, const char *before, char letter, uint32_t number, const char *after)
{
    char digits[16], *at = digits + sizeof digits;
    *--at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    return tr_buffer_string(text, before) && tr_buffer_append(text, &letter, 1) && tr_buffer_string(text, at) &&
           tr_buffer_string(text, after);
}

/* Sets *numbers, of uint32_t, to those of the pieces: marks and texts are counted, from 1 on. Texts that follow each other
 * are one, and white space that may become nothing is none, so that a unit that is written anew has the same numbers. */
static bool number_pieces(const tr_document *d, const tr_unit *unit, const plain_text *plain, tr_buffer *numbers)
{
    const tr_piece *pieces = tr_unit_pieces(d, unit);
    uint32_t number = 0;
    bool in_text = false;
    size_t at = 0;
    for (uint32_t i = 0; i < unit->count; i++) {
        const size_t end = ((const size_t *)(const void *)plain->ends.data)[i];
        const bool is_mark = pieces[i].kind != TR_PIECE_TEXT && pieces[i].kind != TR_PIECE_SKIP;
        while (unit->style & TR_UNIT_COLLAPSES && at < end && tr_is_ascii_space(plain->text.data[at]))
            at++;
        const bool is_text = !is_mark && at < end;
        number += is_mark || (is_text && !in_text);
        in_text = !is_mark && (in_text || is_text);
        if (!tr_buffer_append(numbers, &number, sizeof number))
            return false;
        at = end;
    }
    return true;
}

/* A closing mark has the number of its partner. */
static bool append_piece_mark(tr_buffer *text, const tr_piece *piece, uint32_t number, uint32_t partner, char letter)
{
    switch ((tr_piece_kind)piece->kind) {
    case TR_PIECE_OPEN: return append_mark(text, "<", letter, number, ">");
    case TR_PIECE_CLOSE: return append_mark(text, "</", letter, partner, ">");
    case TR_PIECE_EMPTY: return append_mark(text, "<", letter, number, ">") && append_mark(text, "</", letter, number, ">");
    case TR_PIECE_WORD: return append_mark(text, "{", letter, number, "}");
    case TR_PIECE_TEXT:
    case TR_PIECE_SKIP: break;
    }
    return true;
}

bool tr_unit_marked_text(const tr_document *d, const tr_unit *unit, tr_marked_text *marked)
{
    tr_buffer *text = &marked->text, *numbers = &marked->numbers;
    char *letter = &marked->letter;
    const tr_piece *pieces = tr_unit_pieces(d, unit);
    plain_text plain = {0};
    tr_buffer_clear(text);
    tr_buffer_clear(numbers);
    bool good = tr_buffer_append(text, "", 0) && decode_pieces(d, unit, &plain) && number_pieces(d, unit, &plain, numbers),
         has_marks = false;
    const uint32_t *number = (const uint32_t *)(const void *)numbers->data;
    size_t from = 0;
    for (uint32_t i = 0; i < unit->count; i++)
        has_marks |= pieces[i].kind != TR_PIECE_TEXT && pieces[i].kind != TR_PIECE_SKIP;
    *letter = good && has_marks ? choose_letter(plain.text.data, plain.text.size) : 0;
    for (uint32_t i = 0; i < unit->count && good; i++) {
        const size_t to = ((const size_t *)(const void *)plain.ends.data)[i];
        if (pieces[i].kind != TR_PIECE_TEXT)
            good = !*letter || append_piece_mark(text, &pieces[i], number[i],
                                                 pieces[i].kind == TR_PIECE_CLOSE ? number[pieces[i].partner] : 0, *letter);
        else if (unit->style & TR_UNIT_COLLAPSES)
            good = append_collapsed(&plain.text, from, to, text);
        else
            good = tr_buffer_append(text, plain.text.data + from, to - from);
        from = to;
    }
    free_plain(&plain);
    return good;
}

/* --------------------------------------------------------------------------------------------------- parts of translations
 */

/* Reads the mark at text[i]: its number and kind. Returns its end, or i. */
static size_t scan_mark(const char *text, size_t size, size_t i, char letter, uint32_t *mark, tr_piece_kind *kind)
{
    const bool word = text[i] == '{';
    size_t k = i + 1;
    uint64_t number = 0;
    const bool close = !word && k < size && text[k] == '/';
    k += close;
    if (k >= size || text[k] != letter)
        return i;
    const size_t digits = ++k;
    for (; k < size && k - digits < 10 && tr_is_ascii_digit(text[k]); k++)
        number = number * 10 + (uint64_t)(text[k] - '0');
    if (k == digits || k >= size || text[k] != (word ? '}' : '>') || !number || number > UINT32_MAX)
        return i;
    *mark = (uint32_t)number;
    *kind = word ? TR_PIECE_WORD : close ? TR_PIECE_CLOSE : TR_PIECE_OPEN;
    return k + 1;
}

/* The parts of a translation while they are found. */
typedef struct splitter {
    const tr_unit *unit;
    const tr_piece *pieces;
    const uint32_t *numbers; /* [count] of the pieces */
    tr_buffer *parts;        /* of tr_part */
    unsigned char *seen;     /* [count] of marks that have come */
    uint32_t *open;          /* [count] marks that are open */
    uint32_t depth;
} splitter;

static bool add_part(splitter *s, tr_piece_kind kind, const tr_piece *piece, const char *text, size_t size)
{
    const tr_part part = {kind, piece, text, size};
    return (kind == TR_PIECE_TEXT && !size) || tr_buffer_append(s->parts, &part, sizeof part);
}

/* A mark that comes twice, or across others, is left out. An empty mark comes where its pair closes: after the words that
 * it may have been put around. */
static bool add_mark(splitter *s, uint32_t index, tr_piece_kind kind)
{
    if (index == UINT32_MAX)
        return true;
    const tr_piece *piece = &s->pieces[index];
    if (piece->kind == TR_PIECE_EMPTY && kind != TR_PIECE_WORD)
        kind = kind == TR_PIECE_CLOSE ? TR_PIECE_EMPTY : TR_PIECE_SKIP;
    if (kind == TR_PIECE_SKIP)
        return true;
    if (kind == TR_PIECE_CLOSE) {
        if (piece->kind != TR_PIECE_OPEN || !s->depth || s->open[s->depth - 1] != index)
            return true;
        s->depth--;
        return add_part(s, kind, &s->pieces[piece->partner], NULL, 0);
    }
    if (piece->kind != kind || s->seen[index])
        return true;
    s->seen[index] = 1;
    if (kind == TR_PIECE_OPEN)
        s->open[s->depth++] = index;
    return add_part(s, kind, piece, NULL, 0);
}

/* What is still open is closed, and what did not come stands at the end. */
static bool complete_marks(splitter *s)
{
    while (s->depth)
        if (!add_mark(s, s->open[s->depth - 1], TR_PIECE_CLOSE))
            return false;
    for (uint32_t i = 0; i < s->unit->count; i++) {
        const tr_piece_kind kind = (tr_piece_kind)s->pieces[i].kind;
        if (s->seen[i] || kind == TR_PIECE_TEXT || kind == TR_PIECE_SKIP || kind == TR_PIECE_CLOSE)
            continue;
        if (!add_part(s, kind, &s->pieces[i], NULL, 0))
            return false;
        if (kind == TR_PIECE_OPEN && !add_part(s, TR_PIECE_CLOSE, &s->pieces[s->pieces[i].partner], NULL, 0))
            return false;
    }
    return true;
}

/* The index of the mark that has a number; UINT32_MAX: none. */
static uint32_t find_mark(const splitter *s, uint32_t number)
{
    uint32_t low = 0, high = s->unit->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (s->numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->unit->count && s->numbers[low] == number ? low : UINT32_MAX;
}

static bool split_translation(splitter *s, const char *text, size_t size, char letter)
{
    size_t begin = 0;
    for (size_t i = 0; i < size && letter;) {
        uint32_t number = 0;
        tr_piece_kind kind = TR_PIECE_TEXT;
        const size_t end = text[i] == '<' || text[i] == '{' ? scan_mark(text, size, i, letter, &number, &kind) : i;
        if (end == i) {
            i++;
            continue;
        }
        if (!add_part(s, TR_PIECE_TEXT, NULL, text + begin, i - begin) || !add_mark(s, find_mark(s, number), kind))
            return false;
        begin = i = end;
    }
    return add_part(s, TR_PIECE_TEXT, NULL, text + begin, size - begin) && complete_marks(s);
}

bool tr_unit_parts(const tr_document *d, const tr_unit *unit, const tr_marked_text *marked, const char *text, size_t size,
                   tr_buffer *parts)
{
    splitter s = {.unit = unit,
                  .pieces = tr_unit_pieces(d, unit),
                  .numbers = (const uint32_t *)(const void *)marked->numbers.data,
                  .parts = parts,
                  .seen = calloc(unit->count, 1),
                  .open = malloc(unit->count * sizeof *s.open)};
    tr_buffer_clear(parts);
    const bool good = s.seen && s.open && split_translation(&s, text, size, marked->letter);
    free(s.seen);
    free(s.open);
    return good;
}

void tr_marked_text_free(tr_marked_text *marked)
{
    tr_buffer_free(&marked->text);
    tr_buffer_free(&marked->numbers);
}

bool tr_translation_clean(tr_document_translation *translation, tr_buffer *clean)
{
    if (tr_utf8_valid(translation->text, translation->size))
        return true;
    tr_buffer_clear(clean);
    if (!tr_utf8_clean(translation->text, translation->size, clean))
        return false;
    translation->text = clean->data;
    translation->size = clean->size;
    return true;
}
