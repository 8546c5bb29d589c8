/* The text of units with their marks, and the document with translations in place of the units. */
#include "document/format.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------------- text of units */

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

static bool is_collapsible(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
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
        if (!is_collapsible(text[i])) {
            out->data[out->size++] = text[i];
            continue;
        }
        if (i && is_collapsible(text[i - 1]))
            continue;
        size_t end = i;
        while (end < plain->size && is_collapsible(text[end]))
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
        while (unit->style & TR_UNIT_COLLAPSES && at < end && is_collapsible(plain->text.data[at]))
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

/* Appends a unit's text; *letter: of its marks, 0 if it has none; *numbers, which is empty, of uint32_t: of its pieces. */
static bool append_unit(const tr_document *d, const tr_unit *unit, char *letter, tr_buffer *numbers, tr_buffer *text)
{
    const tr_piece *pieces = tr_unit_pieces(d, unit);
    plain_text plain = {0};
    bool good = decode_pieces(d, unit, &plain) && number_pieces(d, unit, &plain, numbers), marked = false;
    const uint32_t *number = (const uint32_t *)(const void *)numbers->data;
    size_t from = 0;
    for (uint32_t i = 0; i < unit->count; i++)
        marked |= pieces[i].kind != TR_PIECE_TEXT && pieces[i].kind != TR_PIECE_SKIP;
    *letter = good && marked ? choose_letter(plain.text.data, plain.text.size) : 0;
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

static const tr_unit *units_of(const tr_document *d, size_t *count)
{
    *count = d->units.size / sizeof(tr_unit);
    return (const tr_unit *)d->units.data;
}

static const tr_document *const *members_of(const tr_document *d, size_t *count)
{
    *count = d->members.size / sizeof(tr_document *);
    return (const tr_document *const *)(const void *)d->members.data;
}

size_t tr_document_count(const tr_document *d)
{
    size_t count, members;
    const tr_document *const *member = members_of(d, &members);
    units_of(d, &count);
    for (size_t i = 0; i < members; i++)
        count += tr_document_count(member[i]);
    return count;
}

tr_status tr_document_text(const tr_document *d, size_t unit, tr_buffer *text, tr_error *error)
{
    size_t count, members;
    const tr_unit *units = units_of(d, &count);
    const tr_document *const *member = members_of(d, &members);
    if (unit < count) {
        tr_buffer numbers = {0};
        char letter;
        const bool good = append_unit(d, &units[unit], &letter, &numbers, text);
        tr_buffer_free(&numbers);
        return good ? TR_OK : tr_fail_memory(error, d->name);
    }
    unit -= count;
    for (size_t i = 0; i < members; i++) {
        count = tr_document_count(member[i]);
        if (unit < count)
            return tr_document_text(member[i], unit, text, error);
        unit -= count;
    }
    return tr_fail(error, TR_ERROR_ARGUMENT, "%s: has no such unit", d->name);
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
    tr_buffer parts;         /* of tr_part */
    unsigned char *seen;     /* [count] of marks that have come */
    uint32_t *open;          /* [count] marks that are open */
    uint32_t depth;
} splitter;

static bool add_part(splitter *s, tr_piece_kind kind, const tr_piece *piece, const char *text, size_t size)
{
    const tr_part part = {kind, piece, text, size};
    return (kind == TR_PIECE_TEXT && !size) || tr_buffer_append(&s->parts, &part, sizeof part);
}

/* A mark that comes twice, or across others, is left out. An empty mark comes where its pair closes: behind the words that
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

/* ------------------------------------------------------------------------------------------------------------- rendering */

bool tr_render_piece(const tr_document *d, const tr_piece *piece, tr_buffer *out)
{
    return tr_buffer_append(out, d->data + piece->begin, piece->end - piece->begin);
}

bool tr_render_parts(const tr_document *d, const tr_unit *unit, const tr_part *parts, size_t count, tr_buffer *out)
{
    for (size_t i = 0; i < count; i++) {
        const tr_part *part = &parts[i];
        const bool plain = part->kind != TR_PIECE_TEXT || !d->format->encode;
        if (!(plain ? tr_buffer_append(out, part->text, part->size)
                    : d->format->encode(d, unit, part->text, part->size, out)))
            return false;
    }
    return true;
}

/* What stands in place of bytes begin .. end: text .. text + size of a buffer. */
typedef struct replacement {
    uint32_t begin, end;
    size_t text, size;
} replacement;

/* The places inside the marks of the next unit, in their order. */
typedef struct inner_places {
    tr_buffer list; /* of replacement */
    tr_buffer text;
} inner_places;

/* Appends bytes begin .. end with their inner places replaced. */
static bool append_replaced(const tr_document *d, const inner_places *inner, uint32_t begin, uint32_t end, tr_buffer *out)
{
    const replacement *list = (const replacement *)inner->list.data;
    size_t low = 0, high = inner->list.size / sizeof *list;
    const size_t count = high;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (list[middle].begin < begin)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && list[low].end <= end; low++) {
        if (!tr_buffer_append(out, d->data + begin, list[low].begin - begin) ||
            !tr_buffer_append(out, inner->text.data + list[low].text, list[low].size))
            return false;
        begin = list[low].end;
    }
    return tr_buffer_append(out, d->data + begin, end - begin);
}

/* Sets the bytes of the parts that are marks. marks: memory that they lie in. */
static bool set_marks(const tr_document *d, const inner_places *inner, tr_buffer *parts, tr_buffer *marks)
{
    tr_part *part = (tr_part *)parts->data;
    const size_t count = parts->size / sizeof *part;
    for (size_t i = 0; i < count; i++) {
        if (!part[i].piece)
            continue;
        const size_t from = marks->size;
        if (!append_replaced(d, inner, part[i].piece->begin, part[i].piece->end, marks))
            return false;
        part[i].size = marks->size - from;
    }
    const char *at = marks->data;
    for (size_t i = 0; i < count; i++)
        if (part[i].piece) {
            part[i].text = at;
            at += part[i].size;
        }
    return true;
}

/* Appends what stands in place of a unit. text: memory. */
static tr_status render_unit(const tr_document *d, const tr_unit *unit, const inner_places *inner,
                             const tr_document_translation *translation, tr_buffer *text, tr_buffer *out, tr_error *error)
{
    splitter s = {.unit = unit, .pieces = tr_unit_pieces(d, unit)};
    tr_buffer source = {0}, marks = {0}, numbers = {0};
    char letter;
    tr_status status = TR_OK;
    tr_buffer_clear(text);
    if (!append_unit(d, unit, &letter, &numbers, text)) {
        tr_buffer_free(&numbers);
        return tr_fail_memory(error, d->name);
    }
    s.numbers = (const uint32_t *)(const void *)numbers.data;
    const bool same = translation->size == text->size && memcmp(translation->text, text->data, text->size) == 0;
    s.seen = calloc(unit->count, 1);
    s.open = malloc(unit->count * sizeof *s.open);
    if (!s.seen || !s.open || !split_translation(&s, translation->text, translation->size, letter) ||
        !append_replaced(d, inner, unit->begin, unit->end, &source) || !set_marks(d, inner, &s.parts, &marks)) {
        status = tr_fail_memory(error, d->name);
    } else {
        const tr_rendering rendering = {.unit = unit,
                                        .translation = *translation,
                                        .text = text->data,
                                        .size = text->size,
                                        .parts = (const tr_part *)s.parts.data,
                                        .count = s.parts.size / sizeof(tr_part),
                                        .source = source.data,
                                        .source_size = source.size,
                                        .same = same && !d->settings.rewrite};
        if (d->format->render)
            status = d->format->render(d, &rendering, out, error);
        else if (rendering.same && !tr_buffer_append(out, source.data, source.size))
            status = tr_fail_memory(error, d->name);
        else if (!rendering.same && !tr_render_parts(d, unit, rendering.parts, rendering.count, out))
            status = tr_fail_memory(error, d->name);
    }
    free(s.seen);
    free(s.open);
    tr_buffer_free(&s.parts);
    tr_buffer_free(&numbers);
    tr_buffer_free(&source);
    tr_buffer_free(&marks);
    return status;
}

/* Gathers small writes. */
typedef struct writer {
    const tr_document *document;
    const tr_document_sink *sink;
    tr_buffer out;
} writer;

enum { WRITE_SIZE = 1 << 16 };

static tr_status flush(writer *w, bool all, tr_error *error)
{
    tr_status status = TR_OK;
    if (w->out.size && (all || w->out.size >= WRITE_SIZE)) {
        status = w->sink->write(w->sink->argument, w->out.data, w->out.size, error);
        tr_buffer_clear(&w->out);
    }
    return status;
}

static tr_status write_bytes(writer *w, const char *data, size_t size, tr_error *error)
{
    tr_status status = TR_OK;
    if (size >= WRITE_SIZE) {
        status = flush(w, true, error);
        return status == TR_OK ? w->sink->write(w->sink->argument, data, size, error) : status;
    }
    if (!tr_buffer_append(&w->out, data, size))
        return tr_fail_memory(error, w->document->name);
    return flush(w, false, error);
}

/* Writing what the document itself has. */
typedef struct unit_writer {
    writer w;
    const tr_document_source *source;
    inner_places inner;
    tr_buffer text;
    uint32_t at; /* all before it is written */
} unit_writer;

static tr_status translate_unit(unit_writer *u, size_t index, const tr_unit *unit, tr_buffer *out, tr_error *error)
{
    static const inner_places none = {0};
    tr_document_translation translation;
    const tr_status status = u->source->next(u->source->argument, index, &translation, error);
    if (status != TR_OK)
        return status;
    return render_unit(u->w.document, unit, unit->style & TR_UNIT_INSIDE ? &none : &u->inner, &translation, &u->text, out,
                       error);
}

/* Keeps an edit, or a unit, that is inside a mark of the unit `around`. */
static tr_status keep_inner(unit_writer *u, const tr_unit *around, const tr_edit *edit, const tr_unit *unit, size_t index,
                            tr_error *error)
{
    const tr_document *d = u->w.document;
    replacement own = {edit ? edit->begin : unit->begin, edit ? edit->end : unit->end, u->inner.text.size, 0};
    tr_status status = TR_OK;
    const size_t count = u->inner.list.size / sizeof own;
    const uint32_t last = count ? ((const replacement *)u->inner.list.data)[count - 1].end : around->begin;
    if (own.begin < last || own.end > around->end)
        return tr_document_fail(d, own.begin, error, "two places overlap");
    if (!edit)
        status = translate_unit(u, index, unit, &u->inner.text, error);
    else if (!tr_buffer_append(&u->inner.text, d->edited.data + edit->text, edit->size))
        status = tr_fail_memory(error, d->name);
    own.size = u->inner.text.size - own.text;
    if (status == TR_OK && !tr_buffer_append(&u->inner.list, &own, sizeof own))
        status = tr_fail_memory(error, d->name);
    return status;
}

/* Writes the bytes up to an edit or a unit, and what becomes of it. */
static tr_status write_place(unit_writer *u, const tr_edit *edit, const tr_unit *unit, size_t index, tr_error *error)
{
    const tr_document *d = u->w.document;
    const uint32_t begin = edit ? edit->begin : unit->begin, end = edit ? edit->end : unit->end;
    if (begin < u->at || end < begin || end > d->size)
        return tr_document_fail(d, begin, error, "two places overlap");
    tr_status status = write_bytes(&u->w, d->data + u->at, begin - u->at, error);
    u->at = end;
    if (status == TR_OK && edit)
        return write_bytes(&u->w, d->edited.data + edit->text, edit->size, error);
    if (status == TR_OK)
        status = translate_unit(u, index, unit, &u->w.out, error);
    tr_buffer_clear(&u->inner.list);
    tr_buffer_clear(&u->inner.text);
    return status == TR_OK ? flush(&u->w, false, error) : status;
}

static tr_status write_units(const tr_document *d, const tr_document_source *source, const tr_document_sink *sink,
                             tr_error *error)
{
    unit_writer u = {.w = {d, sink, {0}}, .source = source};
    size_t count, unit = 0, edit = 0, outer = 0; /* outer: the next unit that is not inside another */
    const size_t edit_count = d->edits.size / sizeof(tr_edit);
    const tr_unit *units = units_of(d, &count);
    const tr_edit *edits = (const tr_edit *)d->edits.data;
    tr_status status = TR_OK;
    while (status == TR_OK && (unit < count || edit < edit_count)) {
        const bool is_edit = edit < edit_count && (unit == count || edits[edit].begin < units[unit].end);
        const tr_edit *e = is_edit ? &edits[edit] : NULL;
        const tr_unit *own = is_edit ? NULL : &units[unit];
        outer = outer < unit ? unit : outer;
        while (outer < count && units[outer].style & TR_UNIT_INSIDE)
            outer++;
        if (e ? outer < count && e->begin >= units[outer].begin : own->style & TR_UNIT_INSIDE)
            status = keep_inner(&u, &units[outer], e, own, unit, error);
        else
            status = write_place(&u, e, own, unit, error);
        edit += is_edit;
        unit += !is_edit;
    }
    if (status == TR_OK)
        status = write_bytes(&u.w, d->data + u.at, d->size - u.at, error);
    if (status == TR_OK)
        status = flush(&u.w, true, error);
    tr_buffer_free(&u.w.out);
    tr_buffer_free(&u.inner.list);
    tr_buffer_free(&u.inner.text);
    tr_buffer_free(&u.text);
    return status;
}

/* A source whose units begin at `first` of another's. */
typedef struct shifted {
    const tr_document_source *source;
    size_t first;
} shifted;

static tr_status next_shifted(void *argument, size_t unit, tr_document_translation *translation, tr_error *error)
{
    const shifted *s = argument;
    return s->source->next(s->source->argument, s->first + unit, translation, error);
}

tr_status tr_document_write_member(const tr_document *d, size_t index, const tr_document_source *source,
                                   const tr_document_sink *sink, tr_error *error)
{
    size_t count, first;
    const tr_document *const *members = members_of(d, &count);
    units_of(d, &first);
    for (size_t i = 0; i < index; i++)
        first += tr_document_count(members[i]);
    shifted s = {source, first};
    const tr_document_source own = {next_shifted, &s};
    return tr_document_write(members[index], &own, sink, error);
}

tr_status tr_document_write(const tr_document *d, const tr_document_source *source, const tr_document_sink *sink,
                            tr_error *error)
{
    return d->format->write ? d->format->write(d, source, sink, error) : write_units(d, source, sink, error);
}
