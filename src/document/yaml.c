/* YAML (1.1, as libyaml reads it): values that are strings are units.
 *
 * libyaml's events tell where a scalar is and what it says. A unit's place is the whole of a flow scalar, so that a plain
 * one may become quoted; or a block scalar's lines from the first word to the last. ICU messages are units inside the
 * scalar. */
#include "document/formats.h"
#include "document/icu.h"
#include "document/keys.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

enum { MAX_DEPTH = 128 }; /* libyaml looks at all open levels for each token */

/* Bits of a unit's style: the scalar's, and what is around it. */
enum {
    PLAIN = 1,
    SINGLE = 2,
    DOUBLE = 4,
    LITERAL = 8,
    FOLDED = 16,
    INSIDE = 32,  /* the unit is a part of a scalar: text is decoded and encoded as it stands */
    FLOW = 64,    /* the scalar is inside [] or {} */
    ESCAPED = 128 /* what is not ASCII is written as escapes */
};

/* What a unit's scalar says. */
typedef struct value {
    size_t text;       /* of state.text */
    size_t size;       /* all of it */
    size_t begin, end; /* without white space on both sides: the text of the unit */
} value;

typedef struct state {
    tr_buffer values; /* of value, for each unit; zeroed for those that are INSIDE */
    tr_buffer text;
} state;

/* ------------------------------------------------------------------------------------------------------- text of scalars */

/* Values are in the order of units: libyaml tells scalars in the order of their places, so that these are never sorted. */
static const value *value_of(const tr_document *d, const tr_unit *unit)
{
    const state *s = d->state;
    return (const value *)(const void *)s->values.data + (unit - (const tr_unit *)d->units.data);
}

static bool decode_yaml(const tr_document *d, const tr_unit *unit, uint32_t begin, uint32_t end, tr_buffer *text)
{
    const state *s = d->state;
    if (unit->style & INSIDE)
        return tr_buffer_append(text, d->data + begin, end - begin);
    const value *v = value_of(d, unit);
    return tr_buffer_append(text, s->text.data + v->text + v->begin, v->end - v->begin);
}

static bool has_only(const char *text, size_t size, const char *characters)
{
    for (size_t i = 0; i < size; i++)
        if (!text[i] || !strchr(characters, text[i]))
            return false;
    return true;
}

/* Whether a plain scalar of this text is no string: a number, a date, a truth value (YAML 1.1 and 1.2). */
static bool is_other_than_string(const char *text, size_t size)
{
    static const char *const words[] = {"~", "null", "true", "false", "yes",  "no",    "on",    "off", "y",
                                        "n", "=",    "<<",   ".inf",  ".nan", "-.inf", "+.inf", NULL};
    char lower[8];
    if (!size)
        return true;
    for (size_t i = 0; i < size && size < sizeof lower; i++)
        lower[i] = (char)(tr_is_ascii_capital(text[i]) ? text[i] | 0x20 : text[i]);
    if (size < sizeof lower && tr_is_one_of(lower, size, words))
        return true;
    return (tr_is_ascii_digit(*text) || strchr("+-.", *text)) &&
           (has_only(text, size, "0123456789abcdefABCDEFxXoO_.:+-") || has_only(text, size, "0123456789:.+-TtZz "));
}

/* The character at text[i], and its bytes. -1: it must be escaped: what does not print, breaks lines or is no UTF-8. */
static int32_t printable_at(const char *text, size_t size, size_t i, size_t *length)
{
    const int32_t c = tr_utf8_decode(text + i, size - i, length);
    const bool bad =
        c < ' ' || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || c == 0xFEFF || c == 0xFFFE || c == 0xFFFF;
    return bad ? -1 : c;
}

static bool is_printable(const char *text, size_t size)
{
    for (size_t i = 0, length; i < size; i += length)
        if (printable_at(text, size, i, &length) < 0)
            return false;
    return true;
}

/* Whether text can stand as a plain scalar of one line. */
static bool can_be_plain(const char *text, size_t size, bool flow)
{
    if (is_other_than_string(text, size) || tr_is_ascii_space(*text) || tr_is_ascii_space(text[size - 1]) ||
        !is_printable(text, size))
        return false;
    if (strchr("-?:,[]{}#&*!|>'\"%@`", *text) || text[size - 1] == ':' || (size >= 3 && memcmp(text, "...", 3) == 0))
        return false;
    for (size_t i = 0; i < size; i++)
        if ((text[i] == ':' && text[i + 1] == ' ') || (text[i] == '#' && text[i - 1] == ' ') ||
            (flow && strchr(",[]{}:?#", text[i])))
            return false;
    return true;
}

/* ---------------------------------------------------------------------------------------------------------------- writing
 */

static bool append_double_escape(const char *text, size_t size, size_t i, size_t *length, tr_buffer *out)
{
    static const char digits[] = "0123456789ABCDEF";
    const int32_t found = tr_utf8_decode(text + i, size - i, length);
    const uint32_t code = found < 0 ? 0xFFFD : (uint32_t)found;
    if (code == '\n' || code == '\t')
        return tr_buffer_string(out, code == '\n' ? "\\n" : "\\t");
    if (code == '"' || code == '\\')
        return tr_buffer_string(out, code == '"' ? "\\\"" : "\\\\");
    const char kind = code < 0x100 ? 'x' : code < 0x10000 ? 'u' : 'U';
    const int count = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
    bool good = tr_buffer_append(out, (char[]){'\\', kind}, 2);
    for (int shift = count * 4 - 4; shift >= 0 && good; shift -= 4)
        good = tr_buffer_append(out, &digits[code >> shift & 15], 1);
    return good;
}

/* Appends what stands for text inside double quotes. */
static bool append_double(const char *text, size_t size, bool escaped, tr_buffer *out)
{
    bool good = true;
    for (size_t i = 0, length; i < size && good; i += length) {
        const int32_t c = printable_at(text, size, i, &length);
        if (c < 0 || c == '"' || c == '\\' || (escaped && c >= 0x80))
            good = append_double_escape(text, size, i, &length, out);
        else
            good = tr_buffer_append(out, text + i, length);
    }
    return good;
}

static bool append_single(const char *text, size_t size, tr_buffer *out)
{
    bool good = true;
    for (size_t i = 0; i < size && good; i++)
        good = tr_buffer_append(out, text[i] == '\'' ? "''" : &text[i], text[i] == '\'' ? 2 : 1);
    return good;
}

/* Appends text of one line; what does not print becomes a space. */
static bool append_line(const char *text, size_t size, tr_buffer *out)
{
    bool good = true;
    for (size_t i = 0, length; i < size && good; i += length) {
        const bool bad = printable_at(text, size, i, &length) < 0 && text[i] != '\t';
        good = tr_buffer_append(out, bad ? " " : text + i, bad ? 1 : length);
    }
    return good;
}

/* Appends what stands for text inside a scalar, where all is one line. */
static bool encode_yaml(const tr_document *d, const tr_unit *unit, const char *text, size_t size, tr_buffer *out)
{
    tr_buffer line = {0};
    (void)d;
    if (unit->style & DOUBLE)
        return append_double(text, size, unit->style & ESCAPED, out);
    const bool good = append_line(text, size, &line) && (unit->style & SINGLE ? append_single(line.data, line.size, out)
                                                                              : tr_buffer_append(out, line.data, line.size));
    tr_buffer_free(&line);
    return good || !size;
}

/* Appends a whole flow scalar. A plain one becomes quoted if it must. */
static bool append_flow_scalar(const char *text, size_t size, uint32_t style, tr_buffer *out)
{
    const bool printable = is_printable(text, size);
    if (style & PLAIN && can_be_plain(text, size, style & FLOW))
        return tr_buffer_append(out, text, size);
    if (printable && (style & SINGLE || (style & PLAIN && !memchr(text, '\'', size))))
        return tr_buffer_string(out, "'") && append_single(text, size, out) && tr_buffer_string(out, "'");
    return tr_buffer_string(out, "\"") && append_double(text, size, style & ESCAPED, out) && tr_buffer_string(out, "\"");
}

/* The indentation of a block scalar whose words begin at `begin`, with `before` blanks of its own before them. */
static size_t block_indentation(const tr_document *d, size_t begin, size_t before)
{
    size_t line = begin;
    while (line && d->data[line - 1] != '\n')
        line--;
    return begin - line > before ? begin - line - before : 0;
}

/* A block scalar's lines. */
typedef struct block {
    const tr_document *document;
    size_t indentation;
    const char *line_break;
    bool folded, blank; /* the line before begins with white space: the break after it is no fold */
    tr_buffer *out;
} block;

/* Appends the line breaks that stand for `count` of the text, before `line`. */
static bool append_breaks(block *b, size_t count, bool blank)
{
    bool good = true;
    for (size_t breaks = count + (b->folded && !blank && !b->blank); breaks && good; breaks--)
        good = tr_buffer_string(b->out, b->line_break);
    b->blank = blank;
    for (size_t i = 0; i < b->indentation && good; i++)
        good = tr_buffer_append(b->out, " ", 1);
    return good;
}

static bool append_block(block *b, const char *text, size_t size)
{
    bool good = true;
    for (size_t i = 0, end; i < size && good; i = end) {
        const char *newline = memchr(text + i, '\n', size - i);
        size_t next = end = newline ? (size_t)(newline - text) : size;
        good = append_line(text + i, end - i, b->out);
        while (next < size && text[next] == '\n')
            next++;
        if (next > end && good)
            good = append_breaks(b, next - end, tr_is_ascii_space(text[next]));
        end = next;
    }
    return good;
}

static bool render_block(const tr_document *d, const tr_unit *unit, const value *v, const char *text, size_t size,
                         tr_buffer *out)
{
    const state *s = d->state;
    const char *all = s->text.data + v->text;
    size_t line = v->begin;
    while (line && all[line - 1] != '\n')
        line--;
    while (size && tr_is_ascii_space(text[size - 1]))
        size--;
    while (size && tr_is_ascii_space(*text)) {
        text++;
        size--;
    }
    const size_t indentation = block_indentation(d, unit->begin, v->begin - line);
    block b = {d, indentation, tr_line_break(d, unit->begin), unit->style & FOLDED, v->begin > line, out};
    return append_block(&b, text, size);
}

static tr_status render_yaml(const tr_document *d, const tr_rendering *r, tr_buffer *out, tr_error *error)
{
    const tr_unit *unit = r->unit;
    tr_buffer text = {0};
    bool good = true;
    if (r->same)
        good = tr_buffer_append(out, d->data + unit->begin, unit->end - unit->begin);
    else if (unit->style & INSIDE)
        good = tr_render_parts(d, unit, r->parts, r->count, out);
    else {
        const value *v = value_of(d, unit);
        const char *all = ((const state *)d->state)->text.data + v->text;
        const bool flow = !(unit->style & (LITERAL | FOLDED));
        good = tr_buffer_append(&text, all, flow ? v->begin : 0);
        for (size_t i = 0; i < r->count && good; i++)
            good = tr_buffer_append(&text, r->parts[i].text, r->parts[i].size);
        good = good && tr_buffer_append(&text, all + v->end, flow ? v->size - v->end : 0);
        good = good && (flow ? append_flow_scalar(text.data, text.size, unit->style, out)
                             : render_block(d, unit, v, text.data, text.size, out));
    }
    tr_buffer_free(&text);
    return good ? TR_OK : tr_fail_memory(error, d->name);
}

/* ---------------------------------------------------------------------------------------------------------------- reading
 */

/* Where a node is. */
typedef struct place {
    tr_key_path path;
    bool key;      /* it is a key, or inside one */
    bool language; /* it may name the document's language */
    bool messages; /* its key is a language */
    bool flow;     /* it is inside [] or {} */
} place;

/* A mapping or sequence that is open. */
typedef struct level {
    place place;
    place value; /* of a mapping: where the next value is */
    bool mapping, at_value;
    size_t members;
} level;

typedef struct reader {
    tr_document *d;
    yaml_parser_t yaml;
    yaml_event_t event;
    size_t first;              /* the byte after a byte order mark, which libyaml would take for a column */
    size_t character, byte;    /* the same place, as libyaml counts and as we do */
    tr_buffer levels;          /* of level */
    size_t key_begin, key_end; /* the first key at the root */
    bool messages;             /* it is a language with a mapping */
    uint32_t style;            /* ESCAPED */
    tr_error *error;
} reader;

/* The byte at a mark. Marks come nearly in order. */
static size_t byte_of(reader *r, size_t character)
{
    const char *data = r->d->data;
    for (; r->character < character && r->byte < r->d->size; r->character++)
        do
            r->byte++;
        while (r->byte < r->d->size && (data[r->byte] & 0xC0) == 0x80);
    for (; r->character > character; r->character--)
        do
            r->byte--;
        while ((data[r->byte] & 0xC0) == 0x80);
    return r->byte;
}

static tr_status fail_parser(reader *r)
{
    const yaml_parser_t *y = &r->yaml;
    const char *context = y->context ? y->context : "";
    if (y->error == YAML_MEMORY_ERROR)
        return tr_fail_memory(r->error, r->d->name);
    const size_t at = y->error == YAML_READER_ERROR ? y->problem_offset + r->first : byte_of(r, y->problem_mark.index);
    return tr_document_fail(r->d, at, r->error, "%s%s%s", y->problem, *context ? " " : "", context);
}

/* Where the scalar itself begins, after its anchor and tag, and comments between these. */
static size_t skip_properties(const tr_document *d, size_t at, size_t end)
{
    while (at < end && (d->data[at] == '&' || d->data[at] == '!')) {
        const bool anchor = d->data[at++] == '&';
        while (at < end && (anchor ? tr_is_identifier(d->data[at]) || d->data[at] == '-' : !tr_is_ascii_space(d->data[at])))
            at++;
        for (bool comment = false; at < end && (comment || tr_is_ascii_space(d->data[at]) || d->data[at] == '#'); at++)
            comment = d->data[at] != '\n' && d->data[at] != '\r' && (comment || d->data[at] == '#');
    }
    return at;
}

static uint32_t style_of(const yaml_event_t *event)
{
    switch (event->data.scalar.style) {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE: return SINGLE;
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE: return DOUBLE;
    case YAML_LITERAL_SCALAR_STYLE: return LITERAL;
    case YAML_FOLDED_SCALAR_STYLE: return FOLDED;
    case YAML_ANY_SCALAR_STYLE:
    case YAML_PLAIN_SCALAR_STYLE: break;
    }
    return PLAIN;
}

/* Whether the bytes have line breaks other than LF and CR LF, which libyaml takes for such, or byte order marks. */
static bool has_rare_characters(const char *text, size_t size)
{
    static const char *const rare[] = {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xEF\xBB\xBF"};
    for (size_t i = 0; i + 1 < size; i++) {
        if (text[i] == '\r' && text[i + 1] != '\n')
            return true;
        for (size_t k = 0; (unsigned char)text[i] >= 0xC2 && k < sizeof rare / sizeof *rare; k++)
            if (size - i >= strlen(rare[k]) && memcmp(text + i, rare[k], strlen(rare[k])) == 0)
                return true;
    }
    return false;
}

/* Adds a unit whose place is begin .. end, and keeps what its scalar says. */
static tr_status add_unit(reader *r, uint32_t style, size_t begin, size_t end, const value *v, const char *text)
{
    state *s = r->d->state;
    tr_status status = tr_unit_begin(r->d, style, r->error);
    if (status == TR_OK)
        status = tr_unit_piece(r->d, TR_PIECE_TEXT, begin, end, r->error);
    if (status != TR_OK)
        return status;
    tr_unit_end_at(r->d, begin, end);
    if (s->values.size / sizeof(value) == r->d->units.size / sizeof(tr_unit))
        return TR_OK; /* it has no words */
    value kept = *v;
    kept.text = s->text.size;
    return tr_buffer_append(&s->text, text, v->size) && tr_buffer_append(&s->values, &kept, sizeof kept)
               ? TR_OK
               : tr_fail_memory(r->error, r->d->name);
}

/* Adds the units of an ICU message, if what stands between begin and end can be divided. */
static tr_status add_message(reader *r, uint32_t style, size_t begin, size_t end, const char *text, size_t size)
{
    state *s = r->d->state;
    const bool quoted = style & (SINGLE | DOUBLE), bare = end - begin == size && is_printable(text, size);
    if (style & PLAIN || (quoted && (!bare || memcmp(r->d->data + begin, text, size) != 0)))
        return TR_OK;
    tr_status status = tr_icu_units(r->d, style | INSIDE | TR_UNIT_COLLAPSES, begin, end, false, r->error);
    while (status == TR_OK && s->values.size / sizeof(value) < r->d->units.size / sizeof(tr_unit))
        if (!tr_buffer_append(&s->values, &(value){0}, sizeof(value)))
            status = tr_fail_memory(r->error, r->d->name);
    return status;
}

/* The place of a block scalar: its lines without white space on both sides. */
static void find_lines(const tr_document *d, size_t *begin, size_t *end)
{
    const char *newline = memchr(d->data + *begin, '\n', *end - *begin);
    *begin = newline ? (size_t)(newline - d->data) : *end;
    while (*begin < *end && tr_is_ascii_space(d->data[*begin]))
        ++*begin;
    while (*end > *begin && tr_is_ascii_space(d->data[*end - 1]))
        --*end;
}

static tr_status read_text(reader *r, uint32_t style, size_t begin, size_t end)
{
    const char *text = (const char *)r->event.data.scalar.value;
    value v = {.size = r->event.data.scalar.length, .end = r->event.data.scalar.length};
    while (v.end && tr_is_ascii_space(text[v.end - 1]))
        v.end--;
    while (v.begin < v.end && tr_is_ascii_space(text[v.begin]))
        v.begin++;
    if (v.begin == v.end)
        return TR_OK;
    if (style & (LITERAL | FOLDED)) {
        if (has_rare_characters(r->d->data + begin, end - begin))
            return TR_OK;
        find_lines(r->d, &begin, &end);
    }
    if (!tr_icu_is_message(text, v.size, false))
        return add_unit(r, style, begin, end, &v, text);
    const bool quoted = style & (SINGLE | DOUBLE);
    return add_message(r, style, begin + quoted, end - quoted, text, v.size);
}

/* Makes a flow scalar the name of the language translated to. A plain one may become quoted: "no", Norwegian, is false. */
static tr_status rename_language(reader *r, size_t begin, size_t end)
{
    const char first = r->d->data[begin];
    const uint32_t style = first == '"' ? DOUBLE : first == '\'' ? SINGLE : PLAIN | FLOW;
    return tr_edit_language(r->d, begin, end, append_flow_scalar, style | r->style, r->error);
}

/* Whether white space after a plain scalar could not stand after a quoted one: a line that begins with a tab. */
static bool needs_plain(const tr_document *d, size_t at)
{
    for (bool line = false; at < d->size && tr_is_ascii_space(d->data[at]); at++) {
        line |= d->data[at] == '\n' || d->data[at] == '\r';
        if (line && d->data[at] == '\t')
            return true;
    }
    return has_rare_characters(d->data + at, d->size - at < 3 ? d->size - at : 3);
}

static bool is_string_tag(const char *tag)
{
    return !tag || strcmp(tag, "!") == 0 || strcmp(tag, YAML_STR_TAG) == 0;
}

static tr_status read_value(reader *r, const place *p, size_t begin, size_t end)
{
    const char *text = (const char *)r->event.data.scalar.value, *tag = (const char *)r->event.data.scalar.tag;
    const size_t size = r->event.data.scalar.length;
    const uint32_t style = style_of(&r->event);
    if (p->key || begin == end || (style & PLAIN && !tag && is_other_than_string(text, size)))
        return TR_OK;
    if (p->language && tr_is_source_language(r->d, text, size) && end - begin <= size + 2)
        return rename_language(r, begin, end);
    if ((!is_string_tag(tag) && !p->path.selected) || !tr_keys_translate(r->d, &p->path, text, size))
        return TR_OK;
    if (style & PLAIN && needs_plain(r->d, end))
        return TR_OK;
    return read_text(r, style | r->style | (p->flow ? FLOW : 0), begin, end);
}

static level *innermost(reader *r)
{
    return r->levels.size ? (level *)(void *)(r->levels.data + r->levels.size) - 1 : NULL;
}

/* Where the value of this key is; key NULL: it is no scalar. */
static place place_of_value(reader *r, const level *l, const char *key, size_t size, size_t begin, size_t end)
{
    place p = {tr_keys_enter(r->d, &l->place.path, key, size), l->place.key, false, false, l->place.flow};
    if (!key || r->levels.size > sizeof *l)
        return p;
    p.language = tr_is_language_key(key, size);
    p.messages = l->members == 1 && end - begin <= size + 2 && tr_is_source_language(r->d, key, size);
    if (p.messages) {
        r->key_begin = begin;
        r->key_end = end;
    }
    return p;
}

/* Where the node of the event is. begin .. end: the scalar, if it is one. */
static place next_place(reader *r, size_t begin, size_t end)
{
    const bool scalar = r->event.type == YAML_SCALAR_EVENT;
    level *l = innermost(r);
    place p = {0};
    if (!l)
        return p;
    if (l->mapping && l->at_value) {
        l->at_value = false;
        return l->value;
    }
    p = l->place;
    p.language = p.messages = false;
    if (!l->mapping) {
        p.path = tr_keys_enter(r->d, &p.path, NULL, 0);
        return p;
    }
    l->at_value = true;
    l->members++;
    l->value = place_of_value(r, l, scalar ? (const char *)r->event.data.scalar.value : NULL,
                              scalar ? r->event.data.scalar.length : 0, begin, end);
    p.key = true;
    return p;
}

static tr_status open_level(reader *r, bool mapping, bool flow)
{
    level l = {.place = next_place(r, 0, 0), .mapping = mapping};
    l.place.flow |= flow;
    r->messages |= mapping && l.place.messages;
    if (r->levels.size / sizeof l >= MAX_DEPTH)
        return tr_document_fail(r->d, byte_of(r, r->event.start_mark.index), r->error, "is nested too deeply");
    return tr_buffer_append(&r->levels, &l, sizeof l) ? TR_OK : tr_fail_memory(r->error, r->d->name);
}

/* A file of messages has one key at the root, its language. */
static tr_status close_level(reader *r)
{
    const level *l = innermost(r);
    const bool rename = r->levels.size == sizeof *l && l->mapping && l->members == 1 && r->messages;
    r->levels.size -= sizeof *l;
    return rename ? rename_language(r, r->key_begin, r->key_end) : TR_OK;
}

static tr_status read_event(reader *r)
{
    const yaml_event_t *e = &r->event;
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT: r->messages = false; return TR_OK;
    case YAML_MAPPING_START_EVENT: return open_level(r, true, e->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE);
    case YAML_SEQUENCE_START_EVENT: return open_level(r, false, e->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT: return close_level(r);
    case YAML_ALIAS_EVENT: next_place(r, 0, 0); return TR_OK;
    case YAML_SCALAR_EVENT: {
        const size_t start = byte_of(r, e->start_mark.index), end = byte_of(r, e->end_mark.index);
        const size_t begin = skip_properties(r->d, start, end);
        const place p = next_place(r, begin, end);
        /* Quotes cannot follow an anchor as a plain scalar's colon can: &a:b */
        const bool unclear = begin > start && (!tr_is_ascii_space(r->d->data[begin - 1]) ||
                                               has_rare_characters(r->d->data + start, begin - start));
        return unclear ? TR_OK : read_value(r, &p, begin, end);
    }
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT: break;
    }
    return TR_OK;
}

static tr_status read_events(reader *r)
{
    tr_status status = TR_OK;
    for (bool more = true; more && status == TR_OK;) {
        if (!yaml_parser_parse(&r->yaml, &r->event))
            return fail_parser(r);
        more = r->event.type != YAML_STREAM_END_EVENT;
        status = read_event(r);
        yaml_event_delete(&r->event);
    }
    return status;
}

static tr_status read_yaml(tr_document *d, tr_error *error)
{
    reader r = {.d = d, .style = tr_is_escaped(d) ? ESCAPED : 0, .error = error};
    const size_t valid = tr_utf8_valid_prefix(d->data, d->size);
    tr_status status = tr_keys_check(d, error);
    if (status == TR_OK)
        status = tr_document_check_content(d, d->size, error);
    if (status == TR_OK && valid < d->size)
        status = tr_document_fail(d, valid, error, d->data[valid] ? "is not UTF-8" : "has a NUL byte");
    if (status != TR_OK)
        return status;
    d->state = calloc(1, sizeof(state));
    if (!d->state || !yaml_parser_initialize(&r.yaml))
        return tr_fail_memory(error, d->name);
    yaml_parser_set_encoding(&r.yaml, YAML_UTF8_ENCODING);
    r.first = r.byte = tr_document_begin(d);
    yaml_parser_set_input_string(&r.yaml, (const unsigned char *)d->data + r.first, d->size - r.first);
    status = read_events(&r);
    yaml_parser_delete(&r.yaml);
    tr_buffer_free(&r.levels);
    return status;
}

static void close_yaml(void *argument)
{
    state *s = argument;
    tr_buffer_free(&s->values);
    tr_buffer_free(&s->text);
    free(s);
}

const tr_document_format tr_format_yaml = {
    .read = read_yaml,
    .decode = decode_yaml,
    .encode = encode_yaml,
    .render = render_yaml,
    .close = close_yaml,
};
