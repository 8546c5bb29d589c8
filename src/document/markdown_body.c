/* Markdown: a translation as text with marks, with as few backslashes as possible. */
#include "document/markdown_write.h"

#include <stdlib.h>
#include <string.h>

enum { OUTSIDE = 0, SPACE = ' ', WORD = 'a', SIGN = '.' }; /* what a character is for marks beside it */

#define ZERO_WIDTH "\xE2\x80\x8B"

static void append(tr_markdown_writer *w, const char *text, size_t size)
{
    tr_markdown_failed(w, tr_buffer_append(&w->body, text, size));
}

/* ----------------------------------------------------------------------------------------------------------------- marks */

/* What a mark is: two marks that are the same to a reader have the same. */
static char mark_class(const char *text, size_t size)
{
    switch (*text) {
    case '_':
    case '*': return size == 2 ? 'S' : '*';
    case ' ':
    case '\t':
    case '\r':
    case '\n':
    case '\\': return 'B';
    case '&':
    case '{':
    case ':':
    case '$': return 'w';
    default: return tr_is_ascii_word(*text) ? 'w' : *text;
    }
}

static char part_class(const tr_markdown_writer *w, const tr_markdown_part *p)
{
    return mark_class(w->document->data + p->piece->begin, p->piece->end - p->piece->begin);
}

static bool is_pair(const tr_markdown_part *p)
{
    return p->kind == TR_PIECE_OPEN || p->kind == TR_PIECE_CLOSE;
}

static bool is_emphasis(const tr_markdown_writer *w, const tr_markdown_part *p)
{
    const char c = is_pair(p) ? part_class(w, p) : 0;
    return c == '*' || c == 'S' || c == '~';
}

static bool is_link(const tr_markdown_writer *w, const tr_markdown_part *p)
{
    const char c = is_pair(p) ? part_class(w, p) : 0;
    return c == '[' || c == '!' || c == ']';
}

/* ----------------------------------------------------------------------------------------------------- characters beside */

static int class_of(int32_t c)
{
    static const tr_char_range punctuation[] = {
        {0x00A1, 0x00A9}, {0x00AB, 0x00B1}, {0x00B4, 0x00B4},  {0x00B6, 0x00B8}, {0x00BB, 0x00BB}, {0x00BF, 0x00BF},
        {0x00D7, 0x00D7}, {0x00F7, 0x00F7}, {0x2010, 0x2027},  {0x2030, 0x205E}, {0x20A0, 0x20C0}, {0x2100, 0x214F},
        {0x2190, 0x2BFF}, {0x2E00, 0x2E5D}, {0x3001, 0x3004},  {0x3008, 0x3020}, {0x3030, 0x3030}, {0x303D, 0x303F},
        {0x30A0, 0x30A0}, {0x30FB, 0x30FB}, {0xFE10, 0xFE6B},  {0xFF01, 0xFF0F}, {0xFF1A, 0xFF20}, {0xFF3B, 0xFF40},
        {0xFF5B, 0xFF65}, {0xFFE0, 0xFFEE}, {0x1F000, 0x1FAFF}};
    if (c <= 0)
        return OUTSIDE;
    if (c <= ' ' || (c >= 128 && tr_is_space(c) && c != 0x200B && c != 0xFEFF))
        return SPACE;
    return c < 128 ? (tr_is_ascii_word(c) ? WORD : SIGN) : TR_IN(c, punctuation) ? SIGN : WORD;
}

static int class_at(const char *text, size_t size, size_t at)
{
    size_t length;
    if (at >= size)
        return OUTSIDE;
    const int32_t c = tr_utf8_decode(text + at, size - at, &length);
    return c < 0 ? WORD : class_of(c);
}

static size_t before(const char *text, size_t at)
{
    const size_t from = at;
    do
        at--;
    while (at && (text[at] & 0xC0) == 0x80 && from - at < 4);
    return at;
}

static int class_before(const char *text, size_t at)
{
    return at ? class_at(text, at, before(text, at)) : OUTSIDE;
}

/* What stands before the part that is written next. */
static int class_written(const tr_markdown_writer *w)
{
    const tr_document *d = w->document;
    if (w->body.size)
        return class_before(w->body.data, w->body.size);
    return w->unit->begin > w->place->begin && !*w->lead ? class_before(d->data, w->unit->begin)
           : *w->lead && !w->line_start                  ? SIGN
                                                         : OUTSIDE;
}

/* The first byte that stands after part number i. */
static char next_byte(const tr_markdown_writer *w, size_t i)
{
    for (i++; i < w->count; i++) {
        const tr_markdown_part *p = &w->parts[i];
        if ((p->space || p->moved_begin < p->moved_end) && p->kind == TR_PIECE_OPEN)
            return p->space ? ' ' : w->text.data[p->moved_begin];
        if (p->kind == TR_PIECE_TEXT && p->begin < p->end)
            return w->text.data[p->begin];
        if (p->kind != TR_PIECE_TEXT)
            return w->document->data[p->piece->begin];
    }
    const uint32_t end = w->unit->end;
    return w->place->label ? ']' : end < w->place->end ? w->document->data[end] : 0;
}

/* The class of what stands after part number i. */
static int class_after(const tr_markdown_writer *w, size_t i)
{
    for (size_t k = i + 1; k < w->count; k++) {
        const tr_markdown_part *p = &w->parts[k];
        if (p->kind == TR_PIECE_TEXT && p->begin < p->end)
            return class_at(w->text.data, p->end, p->begin);
        if (p->kind == TR_PIECE_OPEN && p->moved_begin < p->moved_end)
            return class_at(w->text.data, p->moved_end, p->moved_begin);
        if (p->kind != TR_PIECE_TEXT)
            break;
    }
    return class_of((unsigned char)next_byte(w, i));
}

/* ----------------------------------------------------------------------------------------------------------- preparation */

bool tr_markdown_take_parts(tr_markdown_writer *w, const tr_rendering *rendering)
{
    bool space = true;
    w->parts = calloc(rendering->count + 1, sizeof *w->parts);
    if (!w->parts || !tr_buffer_append(&w->text, "", 0))
        return false;
    for (size_t i = 0; i < rendering->count; i++) {
        const tr_part *from = &rendering->parts[i];
        tr_markdown_part *p = &w->parts[w->count++];
        *p = (tr_markdown_part){.piece = from->piece, .begin = w->text.size, .kind = (uint8_t)from->kind};
        if (from->kind != TR_PIECE_TEXT)
            space = false;
        for (size_t k = 0; from->kind == TR_PIECE_TEXT && k < from->size; k++) {
            const bool white = tr_is_ascii_space(from->text[k]);
            if (!(white && space) && !(from->text[k] ? tr_buffer_append(&w->text, white ? " " : from->text + k, 1)
                                                     : tr_buffer_string(&w->text, "\xEF\xBF\xBD")))
                return false;
            space = white;
        }
        p->end = w->text.size;
        if (p->kind == TR_PIECE_OPEN && !tr_buffer_append(&w->stack, &(size_t){i}, sizeof(size_t)))
            return false;
        if (p->kind == TR_PIECE_CLOSE) {
            w->stack.size -= sizeof(size_t);
            p->partner = *(const size_t *)(const void *)(w->stack.data + w->stack.size);
            w->parts[p->partner].partner = i;
        }
    }
    if (w->count && w->parts[w->count - 1].kind == TR_PIECE_TEXT && space && w->text.size)
        w->parts[w->count - 1].end -= w->parts[w->count - 1].end > w->parts[w->count - 1].begin;
    return true;
}

/* Moves white space out of pairs, where it would end them: "** a**" is no emphasis. */
static void move_space(tr_markdown_writer *w)
{
    for (size_t i = w->count; i-- > 1;) {
        tr_markdown_part *p = &w->parts[i - 1], *next = &w->parts[i];
        if (p->kind != TR_PIECE_OPEN || part_class(w, p) == '<')
            continue;
        if (next->kind == TR_PIECE_OPEN && next->space) {
            next->space = false;
            p->space = true;
        } else if (next->kind == TR_PIECE_TEXT && next->begin < next->end && w->text.data[next->begin] == ' ') {
            next->begin++;
            p->space = true;
        }
    }
    for (size_t i = 1; i < w->count; i++) {
        tr_markdown_part *p = &w->parts[i], *last = &w->parts[i - 1];
        if (p->kind != TR_PIECE_CLOSE || part_class(w, p) == '<')
            continue;
        if (last->kind == TR_PIECE_CLOSE && last->space) {
            last->space = false;
            p->space = true;
        } else if (last->kind == TR_PIECE_TEXT && last->begin < last->end && w->text.data[last->end - 1] == ' ') {
            last->end--;
            p->space = true;
        }
    }
}

/* The class of what stands before part number i. */
static int class_left(const tr_markdown_writer *w, size_t i)
{
    for (; i > 0; i--) {
        const tr_markdown_part *p = &w->parts[i - 1];
        if (p->kind == TR_PIECE_CLOSE && p->space)
            return SPACE;
        if (p->kind == TR_PIECE_TEXT && p->begin == p->end)
            continue;
        if (p->kind == TR_PIECE_TEXT)
            return class_before(w->text.data, p->end);
        return class_of((unsigned char)w->document->data[p->piece->end - 1]);
    }
    return w->unit->begin > w->place->begin ? class_before(w->document->data, w->unit->begin) : OUTSIDE;
}

/* Whether a look beyond emphasis marks passes a part: a mark with nothing moved beside it, or empty text. */
static bool is_passed(const tr_markdown_writer *w, const tr_markdown_part *p)
{
    if (p->kind == TR_PIECE_TEXT)
        return p->begin == p->end;
    return is_emphasis(w, p) && !p->space && p->moved_begin == p->moved_end;
}

/* "**注意：**请" is no emphasis: a mark between punctuation and a letter is taken for one of the other kind. The punctuation
 * moves to the other side of the mark; if there is nothing else inside, a space stands outside. */
static void move_signs(tr_markdown_writer *w)
{
    int left = OUTSIDE; /* what stands before part number i and the emphasis marks there */
    for (size_t i = w->count; i-- > 0;) {
        const bool passed = i + 1 < w->count && is_passed(w, &w->parts[i + 1]);
        w->parts[i].beyond = passed ? w->parts[i + 1].beyond : (uint8_t)class_after(w, i);
    }
    for (size_t i = 0; i < w->count; i++) {
        tr_markdown_part *p = &w->parts[i];
        left = i && is_passed(w, p - 1) ? left : class_left(w, i);
        if (!is_emphasis(w, p) || p->space)
            continue;
        const bool opens = p->kind == TR_PIECE_OPEN;
        const int outside = opens ? left : p->beyond, inside = opens ? p->beyond : left;
        if (outside != WORD || inside != SIGN)
            continue;
        tr_markdown_part *text = opens ? p + 1 : p - 1;
        p->space = true;
        if (text->kind != TR_PIECE_TEXT)
            continue;
        size_t at = opens ? text->begin : text->end;
        while (opens && at < text->end && class_at(w->text.data, text->end, at) == SIGN)
            for (at++; at < text->end && (w->text.data[at] & 0xC0) == 0x80;)
                at++;
        while (!opens && at > text->begin && class_before(w->text.data, at) == SIGN)
            at = before(w->text.data, at);
        at = at < text->begin ? text->begin : at; /* invalid UTF-8 */
        if (at == (opens ? text->end : text->begin) || class_at(w->text.data, text->end, at) == SPACE)
            continue;
        if (!opens && class_before(w->text.data, at) == SPACE)
            continue;
        p->space = false;
        p->moved_begin = opens ? text->begin : at;
        p->moved_end = opens ? at : text->end;
        *(opens ? &text->begin : &text->end) = at;
    }
}

/* Whether no run of c closes what one before it opens, and there is no mark of it: it is no mark then. */
static bool is_inert(const tr_markdown_writer *w, char c)
{
    bool opened = false;
    if (!w->place->alone || w->unit->begin > w->place->begin || w->unit->end < w->place->end)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const tr_markdown_part *p = &w->parts[i];
        if (p->kind != TR_PIECE_TEXT && strchr(c == '~' ? "~" : "*_", w->document->data[p->piece->begin]))
            return false;
        for (size_t k = p->begin; p->kind == TR_PIECE_TEXT && k < p->end; k++) {
            const size_t begin = k;
            if (w->text.data[k] != c)
                continue;
            while (k + 1 < p->end && w->text.data[k + 1] == c)
                k++;
            if (opened && !(begin > p->begin && w->text.data[begin - 1] == ' '))
                return false;
            opened |= !(k + 1 < p->end && w->text.data[k + 1] == ' ');
        }
    }
    return true;
}

void tr_markdown_move_out(tr_markdown_writer *w)
{
    move_space(w);
    move_signs(w);
}

/* -------------------------------------------------------------------------------------------------------------- escaping */

/* Text that is written: [size] of part number `part`. */
typedef struct piece_of_text {
    const char *text;
    size_t size, part;
    bool balanced; /* its brackets are pairs */
} piece_of_text;

static bool is_balanced(const char *text, size_t size)
{
    size_t depth = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == ']' && (!depth || (i + 1 < size && (text[i + 1] == '(' || text[i + 1] == '['))))
            return false; /* such a one is escaped */
        depth += text[i] == '[';
        depth -= text[i] == ']';
    }
    return !depth;
}

static bool only_has(const piece_of_text *t, const char *characters)
{
    for (size_t i = 0; i < t->size; i++)
        if (!strchr(characters, t->text[i]))
            return false;
    return true;
}

/* The byte after t[at], which may be that of a mark; 0: the line ends. */
static char byte_after(const tr_markdown_writer *w, const piece_of_text *t, size_t at)
{
    return at + 1 < t->size ? t->text[at + 1] : next_byte(w, t->part);
}

/* Whether the text after this one still matters to what a line begins with. */
static bool space_after(const tr_markdown_writer *w, const piece_of_text *t, size_t at)
{
    const char c = byte_after(w, t, at);
    return !c || c == ' ';
}

/* Where a backslash keeps text from beginning a block; SIZE_MAX: it does not. */
static size_t find_block(const tr_markdown_writer *w, const piece_of_text *t)
{
    const char *text = t->text, c = *text;
    const tr_document *d = w->document;
    size_t i = 0;
    if ((w->place->kind == TR_MARKDOWN_CELL && !w->place->bare) ||
        (w->place->kind == TR_MARKDOWN_HEADING && !w->place->setext))
        return SIZE_MAX;
    if (c == '>' || (strchr("-+*", c) && space_after(w, t, 0)) || only_has(t, "-:|= ") || only_has(t, "- ") ||
        only_has(t, "* ") || only_has(t, "_ "))
        return 0;
    if (t->size > 2 && (memcmp(text, ":::", 3) == 0 || memcmp(text, "~~~", 3) == 0 || memcmp(text, "+++", 3) == 0))
        return 0;
    if (c == '$' && only_has(t, "$ "))
        return 0;
    if (c == '[' && t->size > 2) {
        const char *end = memchr(text, ']', t->size);
        return (end && (end == text + 2 || end[1] == ':')) || text[1] == '^' || text[1] == '!' ? 0 : SIZE_MAX;
    }
    if (strchr("\"'(", c)) {
        /* The title of a link reference definition in the line above. */
        size_t end = w->place->begin;
        while (end && d->data[end - 1] != '\n')
            end--;
        size_t begin = end ? end - 1 : 0;
        while (begin && d->data[begin - 1] != '\n')
            begin--;
        return w->references && memchr(d->data + begin, ']', end - begin) ? 0 : SIZE_MAX;
    }
    while (i < t->size && text[i] == '#')
        i++;
    if (i && i <= 6 && space_after(w, t, i - 1))
        return 0;
    for (i = 0; i < t->size && tr_is_ascii_digit(text[i]);)
        i++;
    return i && i < 10 && i < t->size && (text[i] == '.' || text[i] == ')') && space_after(w, t, i) ? i : SIZE_MAX;
}

/* Whether a run of * _ ~ must be escaped. */
static bool run_acts(const tr_markdown_writer *w, const piece_of_text *t, size_t begin, size_t end)
{
    const char c = t->text[begin];
    const int left = begin ? class_before(t->text, begin) : class_written(w);
    const int right = end < t->size ? class_at(t->text, t->size, end) : class_after(w, t->part);
    if (w->inert[c == '*' ? 0 : c == '_' ? 1 : 2])
        return false;
    if ((left == SPACE || left == OUTSIDE) && (right == SPACE || right == OUTSIDE))
        return false;
    return !(c == '_' && left == WORD && right == WORD);
}

/* Whether the bare address that begins at t[at] needs a backslash: where. */
static size_t find_bare(const piece_of_text *t, size_t at)
{
    enum { LONGEST = 4096 }; /* "http://(http://(..." is an address from each of its words on */
    const size_t end = tr_markdown_bare_end(t->text, 0, t->size - at > LONGEST ? at + LONGEST : t->size, at);
    if (end == at)
        return SIZE_MAX;
    if (!tr_is_ascii_word(t->text[at]))
        return at;
    size_t i = at;
    while (tr_is_ascii_word(t->text[i]))
        i++;
    if (t->text[i] == ':' || (i - at == 3 && memcmp(t->text + at, "www", 3) == 0))
        return i;
    return (size_t)((const char *)memchr(t->text + i, '@', end - i) - t->text);
}

/* Whether other units are in the same line. */
static bool shares_line(const tr_markdown_writer *w)
{
    const tr_markdown_place *place = w->place;
    return place->kind == TR_MARKDOWN_CELL ||
           (!place->alone && (place->at == TR_MARKDOWN_WITHIN || place->at == TR_MARKDOWN_PICTURE ||
                              (!place->last && w->document->data[place->end] == '<')));
}

/* Whether the character t[at] must be escaped, of those that are no run. */
static bool acts(const tr_markdown_writer *w, const piece_of_text *t, size_t at)
{
    const char c = t->text[at], next = byte_after(w, t, at);
    /* Brackets outside the text could be partners, even in other cells. */
    const bool inside = w->links || !w->place->alone || w->place->kind == TR_MARKDOWN_CELL;
    switch (c) {
    case '\\': return tr_markdown_is_mark(next) || !next || next == '\n' || next == '\r';
    case '`': return true;
    case '|': return w->place->kind == TR_MARKDOWN_CELL;
    case '!': return next == '[';
    case '$': /* the end of a formula that begins in another unit */
        return shares_line(w) && !tr_is_ascii_word(next) && (!at || t->text[at - 1] != ' ' || next == '$');
    case '[': return (inside && !t->balanced) || w->references || next == '^';
    case ']': return (inside && !t->balanced) || (w->links && w->references) || next == '(' || next == '[';
    case '<': return tr_is_ascii_word(next) || (next && strchr("/!?", next));
    default: return false;
    }
}

static bool is_entity(tr_markdown_writer *w, const piece_of_text *t, size_t at)
{
    tr_buffer characters = {0};
    size_t end;
    tr_markdown_failed(w, tr_markdown_entity(t->text, t->size, at, &end, &characters));
    tr_buffer_free(&characters);
    return end > at;
}

static void write_escaped(tr_markdown_writer *w, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        append(w, "\\", tr_markdown_is_mark(text[i]));
        append(w, text + i, 1);
    }
}

static bool begins_line(const tr_markdown_writer *w)
{
    size_t i = w->body.size;
    while (i && strchr(" \t>", w->body.data[i - 1]))
        i--;
    return i ? w->body.data[i - 1] == '\n' || w->body.data[i - 1] == '\r' : w->line_start;
}

/* Where the closing # of a heading would begin; SIZE_MAX: there are none. */
static size_t find_closing(const tr_markdown_writer *w, const piece_of_text *t)
{
    size_t i = t->size;
    if (w->place->kind != TR_MARKDOWN_HEADING || next_byte(w, t->part))
        return SIZE_MAX;
    while (i && t->text[i - 1] == '#')
        i--;
    return i < t->size && (!i || t->text[i - 1] == ' ') ? i : SIZE_MAX;
}

static void write_text(tr_markdown_writer *w, const char *text, size_t size, size_t index)
{
    const piece_of_text t = {text, size, index, is_balanced(text, size)};
    if (!size || w->how & ESCAPED) {
        write_escaped(w, text, size);
        return;
    }
    const size_t block = begins_line(w) ? find_block(w, &t) : SIZE_MAX, closing = find_closing(w, &t);
    size_t bare = SIZE_MAX;
    for (size_t i = 0; i < size;) {
        const char c = text[i];
        size_t end = i + 1;
        while ((c == '*' || c == '_' || c == '~') && end < size && text[end] == c)
            end++;
        if (bare == SIZE_MAX || bare < i)
            bare = find_bare(&t, i);
        if ((c == '*' || c == '_' || c == '~') && (i == block || run_acts(w, &t, i, end))) {
            write_escaped(w, text + i, end - i);
        } else if (c == '&' && is_entity(w, &t, i)) {
            append(w, "&amp;", 5);
        } else if (c == '\xC2' && i + 1 < size && text[i + 1] == '\xA0') {
            append(w, "&nbsp;", 6);
            end = i + 2;
        } else {
            append(w, "\\", i == block || i == closing || i == bare || acts(w, &t, i));
            append(w, text + i, end - i);
        }
        i = end;
    }
}

/* ----------------------------------------------------------------------------------------------------------- the meaning */

bool tr_markdown_append_meaning(tr_buffer *meaning, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char c = tr_is_ascii_space(text[i]) ? ' ' : text[i];
        const bool after_space = !meaning->size || meaning->data[meaning->size - 1] == ' ';
        if (!(c == ' ' && after_space) && !tr_buffer_append(meaning, &c, 1))
            return false;
    }
    return true;
}

bool tr_markdown_append_mark(tr_buffer *meaning, uint8_t kind, const char *text, size_t size)
{
    const char mark[] = {1, (char)('0' + kind), mark_class(text, size), 1};
    return tr_buffer_append(meaning, mark, sizeof mark);
}

void tr_markdown_end_meaning(tr_buffer *meaning)
{
    meaning->size -= meaning->size && meaning->data[meaning->size - 1] == ' ';
}

/* --------------------------------------------------------------------------------------------------------------- writing */

/* A space, unless there is one. */
static void write_space(tr_markdown_writer *w)
{
    const int class = class_written(w);
    if (class != SPACE && class != OUTSIDE) {
        append(w, " ", 1);
        tr_markdown_failed(w, tr_markdown_append_meaning(&w->meaning, " ", 1));
    }
}

static void write_nothing(tr_markdown_writer *w)
{
    append(w, "&#8203;", 7);
    tr_markdown_failed(w, tr_markdown_append_meaning(&w->meaning, ZERO_WIDTH, 3));
}

static void write_slice(tr_markdown_writer *w, size_t begin, size_t end, size_t index)
{
    write_text(w, w->text.data + begin, end - begin, index);
    tr_markdown_failed(w, tr_markdown_append_meaning(&w->meaning, w->text.data + begin, end - begin));
}

/* _ is no emphasis within words. */
static bool is_within_word(const tr_markdown_writer *w, size_t i)
{
    const tr_markdown_part *p = &w->parts[i];
    const size_t open = p->kind == TR_PIECE_OPEN ? i : p->partner, close = p->kind == TR_PIECE_OPEN ? p->partner : i;
    return (class_left(w, open) == WORD && !w->parts[open].space) ||
           (class_after(w, close) == WORD && !w->parts[close].space) || w->parts[open].moved_end ||
           w->parts[close].moved_end;
}

static void write_mark(tr_markdown_writer *w, size_t i)
{
    const tr_markdown_part *p = &w->parts[i];
    const char *mark = w->document->data + p->piece->begin;
    const size_t size = p->piece->end - p->piece->begin;
    if (*mark == '_' && is_pair(p) && (w->how & PADDED || is_within_word(w, i))) {
        append(w, "**", size);
    } else if (p->kind == TR_PIECE_CLOSE && *mark == ']' && (size == 1 || (size == 3 && memcmp(mark, "][]", 3) == 0))) {
        /* The label of the link was its text. */
        const uint32_t begin = w->parts[p->partner].piece->end;
        append(w, "][", 2);
        append(w, w->document->data + begin, p->piece->begin - begin);
        append(w, "]", 1);
    } else {
        append(w, mark, size);
    }
    tr_markdown_failed(w, tr_markdown_append_mark(&w->meaning, p->kind, mark, size));
}

static bool is_beside(const tr_markdown_writer *w, size_t i, size_t k)
{
    return k < w->count && is_emphasis(w, &w->parts[i]) && is_emphasis(w, &w->parts[k]);
}

/* A mark of a pair, with what stands around it. */
static void write_pair(tr_markdown_writer *w, size_t i)
{
    const tr_markdown_part *p = &w->parts[i];
    const bool opens = p->kind == TR_PIECE_OPEN, padded = w->how & PADDED && is_emphasis(w, p);
    if (opens) {
        write_slice(w, p->moved_begin, p->moved_end, i);
        if (p->space || (padded && !(i && is_beside(w, i, i - 1) && w->parts[i - 1].kind == TR_PIECE_OPEN)))
            write_space(w);
    } else if (is_link(w, p)) {
        w->links--;
    }
    const bool empty = !opens && p->partner + 1 == i && is_emphasis(w, p);
    if (empty || (padded && !opens && is_beside(w, i, i - 1) && w->parts[i - 1].kind == TR_PIECE_CLOSE))
        write_nothing(w);
    write_mark(w, i);
    if (opens) {
        w->links += is_link(w, p);
        if (padded && is_beside(w, i, i + 1) && w->parts[i + 1].kind == TR_PIECE_OPEN)
            write_nothing(w);
        return;
    }
    write_slice(w, p->moved_begin, p->moved_end, i);
    const int after = class_after(w, i);
    if (p->space || (padded && after != OUTSIDE && !(is_beside(w, i, i + 1) && w->parts[i + 1].kind == TR_PIECE_CLOSE)))
        write_space(w);
}

/* A bare address needs other characters beside it. */
static void write_word(tr_markdown_writer *w, size_t i)
{
    const bool bare = tr_is_ascii_word(w->document->data[w->parts[i].piece->begin]);
    const tr_markdown_part *after = i + 1 < w->count ? &w->parts[i + 1] : NULL;
    const bool text = after && (after->kind == TR_PIECE_TEXT || part_class(w, after) == 'w');
    const char next = text ? next_byte(w, i) : 0;
    if (bare && !w->own && class_written(w) == WORD && w->body.size && (unsigned char)w->body.data[w->body.size - 1] < 128)
        write_space(w);
    write_mark(w, i);
    if (bare && !w->own && next > ' ' && next < 127 && !strchr("<>\"`|\\?!.,:;*_~')", next))
        write_space(w);
}

void tr_markdown_write_body(tr_markdown_writer *w)
{
    tr_buffer_clear(&w->body);
    tr_buffer_clear(&w->meaning);
    for (size_t i = 0; i < 3; i++)
        w->inert[i] = is_inert(w, "*_~"[i]);
    w->links = w->place->at == TR_MARKDOWN_PICTURE || w->place->label;
    for (size_t i = 0; i < w->count; i++) {
        const tr_markdown_part *p = &w->parts[i];
        if (p->kind == TR_PIECE_TEXT)
            write_slice(w, p->begin, p->end, i);
        else if (is_pair(p))
            write_pair(w, i);
        else if (p->kind == TR_PIECE_WORD)
            write_word(w, i);
        else
            write_mark(w, i);
    }
    tr_markdown_end_meaning(&w->meaning);
}
