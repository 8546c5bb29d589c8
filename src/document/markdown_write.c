/* Markdown: translations in their places, with as few backslashes as possible.
 *
 * What a translation needs depends on its neighbours. So it is written with what usually suffices and read again, in a
 * document of its own. If it is not what was meant, it is written more carefully, and at last the source stays. */
#include "document/markdown.h"

#include <stdlib.h>
#include <string.h>

enum { PADDED = 1, ESCAPED = 2, ATTEMPTS = 4 };
enum { OUTSIDE = 0, SPACE = ' ', WORD = 'a', SIGN = '.' }; /* what a character is for marks beside it */

#define ZERO_WIDTH "\xE2\x80\x8B"

/* A part of the translation, as it is written. */
typedef struct part {
    const tr_piece *piece;
    size_t begin, end;             /* TEXT: of writer.text */
    size_t moved_begin, moved_end; /* punctuation that moves out of a pair, to before OPEN or after CLOSE */
    size_t partner;                /* of a pair: the other */
    uint8_t kind;
    bool space; /* before OPEN, after CLOSE */
} part;

typedef struct writer {
    const tr_document *document;
    const tr_unit *unit;
    const tr_markdown_place *place;
    const char *lead; /* stands before the translation: the end of the source, in bilingual documents */
    part *parts;      /* [count] */
    size_t count;
    tr_buffer text;                     /* of TEXT parts, with white space collapsed */
    tr_buffer body;                     /* the translation as it is written */
    tr_buffer meaning;                  /* what reading body again has to give: see append_meaning */
    tr_buffer stack;                    /* of size_t: pairs that are open */
    size_t links;                       /* how many of these are links or pictures */
    bool line_start;                    /* body begins a line */
    bool own;                           /* the translation is the text of the unit */
    bool references, single[3], failed; /* single: there is one run at most of * _ ~ */
    unsigned how;
} writer;

static bool failed(writer *w, bool good)
{
    w->failed |= !good;
    return w->failed;
}

static void append(writer *w, const char *text, size_t size)
{
    failed(w, tr_buffer_append(&w->body, text, size));
}

/* ---------------------------------------------------------------------------------------------------------------- marks */

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

static char part_class(const writer *w, const part *p)
{
    return mark_class(w->document->data + p->piece->begin, p->piece->end - p->piece->begin);
}

static bool is_pair(const part *p)
{
    return p->kind == TR_PIECE_OPEN || p->kind == TR_PIECE_CLOSE;
}

static bool is_emphasis(const writer *w, const part *p)
{
    const char c = is_pair(p) ? part_class(w, p) : 0;
    return c == '*' || c == 'S' || c == '~';
}

static bool is_link(const writer *w, const part *p)
{
    const char c = is_pair(p) ? part_class(w, p) : 0;
    return c == '[' || c == '!' || c == ']';
}

/* --------------------------------------------------------------------------------------------------- characters beside */

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
static int class_written(const writer *w)
{
    const tr_document *d = w->document;
    if (w->body.size)
        return class_before(w->body.data, w->body.size);
    return w->unit->begin > w->place->begin && !*w->lead ? class_before(d->data, w->unit->begin)
           : *w->lead && !w->line_start                  ? SIGN
                                                         : OUTSIDE;
}

/* The first byte that stands after part number i. */
static char next_byte(const writer *w, size_t i)
{
    for (i++; i < w->count; i++) {
        const part *p = &w->parts[i];
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

/* The class of what stands after part number i; beyond: after the emphasis marks there. */
static int class_after(const writer *w, size_t i, bool beyond)
{
    for (size_t k = i + 1; k < w->count; k++) {
        const part *p = &w->parts[k];
        if (beyond && is_emphasis(w, p) && !p->space && p->moved_begin == p->moved_end) {
            i = k;
            continue;
        }
        if (p->kind == TR_PIECE_TEXT && p->begin < p->end)
            return class_at(w->text.data, p->end, p->begin);
        if (p->kind == TR_PIECE_OPEN && p->moved_begin < p->moved_end)
            return class_at(w->text.data, p->moved_end, p->moved_begin);
        if (p->kind != TR_PIECE_TEXT)
            break;
    }
    return class_of((unsigned char)next_byte(w, i));
}

/* ---------------------------------------------------------------------------------------------------------- preparation */

/* Takes the parts of a translation, with white space collapsed. */
static bool take_parts(writer *w, const tr_rendering *rendering)
{
    bool space = true;
    w->parts = calloc(rendering->count + 1, sizeof *w->parts);
    if (!w->parts || !tr_buffer_append(&w->text, "", 0))
        return false;
    for (size_t i = 0; i < rendering->count; i++) {
        const tr_part *from = &rendering->parts[i];
        part *p = &w->parts[w->count++];
        *p = (part){.piece = from->piece, .begin = w->text.size, .kind = (uint8_t)from->kind};
        if (from->kind != TR_PIECE_TEXT)
            space = false;
        for (size_t k = 0; from->kind == TR_PIECE_TEXT && k < from->size; k++) {
            const bool white = tr_markdown_is_white(from->text[k]);
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
static void move_space(writer *w)
{
    for (size_t i = w->count; i-- > 1;) {
        part *p = &w->parts[i - 1], *next = &w->parts[i];
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
        part *p = &w->parts[i], *last = &w->parts[i - 1];
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

/* The class of what stands before part number i; beyond: before the emphasis marks there. */
static int class_left(const writer *w, size_t i, bool beyond)
{
    for (; i > 0; i--) {
        const part *p = &w->parts[i - 1];
        if (beyond && is_emphasis(w, p) && !p->space && p->moved_begin == p->moved_end)
            continue;
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

/* "**注意：**请" is no emphasis: a mark between punctuation and a letter is taken for one of the other kind. The punctuation
 * moves to the other side of the mark; if there is nothing else inside, a space stands outside. */
static void move_signs(writer *w)
{
    for (size_t i = 0; i < w->count; i++) {
        part *p = &w->parts[i];
        if (!is_emphasis(w, p) || p->space)
            continue;
        const bool opens = p->kind == TR_PIECE_OPEN;
        const int outside = opens ? class_left(w, i, true) : class_after(w, i, true);
        const int inside = opens ? class_after(w, i, true) : class_left(w, i, true);
        if (outside != WORD || inside != SIGN)
            continue;
        part *text = opens ? p + 1 : p - 1;
        p->space = true;
        if (text->kind != TR_PIECE_TEXT)
            continue;
        size_t at = opens ? text->begin : text->end;
        while (opens && at < text->end && class_at(w->text.data, text->end, at) == SIGN)
            for (at++; at < text->end && (w->text.data[at] & 0xC0) == 0x80;)
                at++;
        while (!opens && at > text->begin && class_before(w->text.data, at) == SIGN)
            at = before(w->text.data, at);
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

/* Whether there is one run at most of c, and no mark of it: it is no mark then. */
static bool is_single(const writer *w, char c)
{
    size_t runs = 0;
    if (!w->place->alone || w->unit->begin > w->place->begin || w->unit->end < w->place->end)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const part *p = &w->parts[i];
        if (p->kind != TR_PIECE_TEXT && strchr(c == '~' ? "~" : "*_", w->document->data[p->piece->begin]))
            return false;
        for (size_t k = p->begin; p->kind == TR_PIECE_TEXT && k < p->end; k++)
            runs += w->text.data[k] == c && (k == p->begin || w->text.data[k - 1] != c);
    }
    return runs <= 1;
}

/* -------------------------------------------------------------------------------------------------------------- escaping */

/* Text that is written: [size] of part number `part`. */
typedef struct piece_of_text {
    const char *text;
    size_t size, part;
} piece_of_text;

static bool only_has(const piece_of_text *t, const char *characters)
{
    for (size_t i = 0; i < t->size; i++)
        if (!strchr(characters, t->text[i]))
            return false;
    return true;
}

/* The byte after t[at], which may be that of a mark; 0: the line ends. */
static char byte_after(const writer *w, const piece_of_text *t, size_t at)
{
    return at + 1 < t->size ? t->text[at + 1] : next_byte(w, t->part);
}

/* Whether the text after this one still matters to what a line begins with. */
static bool space_after(const writer *w, const piece_of_text *t, size_t at)
{
    const char c = byte_after(w, t, at);
    return !c || c == ' ';
}

/* Where a backslash keeps text from beginning a block; SIZE_MAX: it does not. */
static size_t find_block(const writer *w, const piece_of_text *t)
{
    const char *text = t->text, c = *text;
    const tr_document *d = w->document;
    size_t i = 0;
    if (w->place->kind == TR_MARKDOWN_CELL || (w->place->kind == TR_MARKDOWN_HEADING && !w->place->setext))
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
static bool run_acts(const writer *w, const piece_of_text *t, size_t begin, size_t end)
{
    const char c = t->text[begin];
    const int left = begin ? class_before(t->text, begin) : class_written(w);
    const int right = end < t->size ? class_at(t->text, t->size, end) : class_after(w, t->part, false);
    if (w->single[c == '*' ? 0 : c == '_' ? 1 : 2])
        return false;
    if ((left == SPACE || left == OUTSIDE) && (right == SPACE || right == OUTSIDE))
        return false;
    return !(c == '_' && left == WORD && right == WORD);
}

/* Whether the bare address that begins at t[at] needs a backslash: where. */
static size_t find_bare(const piece_of_text *t, size_t at)
{
    const size_t end = tr_markdown_bare_end(t->text, 0, t->size, at);
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

/* Whether the character t[at] must be escaped, of those that are no run. */
static bool acts(const writer *w, const piece_of_text *t, size_t at)
{
    const char c = t->text[at], next = byte_after(w, t, at);
    switch (c) {
    case '\\': return tr_markdown_is_mark(next) || !next || next == '\n' || next == '\r';
    case '`': return true;
    case '|': return w->place->kind == TR_MARKDOWN_CELL;
    case '!': return next == '[';
    case '[': return w->links || w->references || next == '^';
    case ']': return w->links || next == '(' || next == '[';
    case '<': return tr_is_ascii_word(next) || (next && strchr("/!?", next));
    default: return false;
    }
}

static bool is_entity(const piece_of_text *t, size_t at)
{
    tr_buffer characters = {0};
    const bool entity = tr_markdown_entity(t->text, t->size, at, &characters) > at;
    tr_buffer_free(&characters);
    return entity;
}

static void write_escaped(writer *w, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        append(w, "\\", tr_markdown_is_mark(text[i]));
        append(w, text + i, 1);
    }
}

static bool begins_line(const writer *w)
{
    size_t i = w->body.size;
    while (i && strchr(" \t>", w->body.data[i - 1]))
        i--;
    return i ? w->body.data[i - 1] == '\n' || w->body.data[i - 1] == '\r' : w->line_start;
}

/* Where the closing # of a heading would begin; SIZE_MAX: there are none. */
static size_t find_closing(const writer *w, const piece_of_text *t)
{
    size_t i = t->size;
    if (w->place->kind != TR_MARKDOWN_HEADING || next_byte(w, t->part))
        return SIZE_MAX;
    while (i && t->text[i - 1] == '#')
        i--;
    return i < t->size && (!i || t->text[i - 1] == ' ') ? i : SIZE_MAX;
}

static void write_text(writer *w, const char *text, size_t size, size_t index)
{
    const piece_of_text t = {text, size, index};
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
        if ((c == '*' || c == '_' || c == '~') && run_acts(w, &t, i, end)) {
            write_escaped(w, text + i, end - i);
        } else if (c == '&' && is_entity(&t, i)) {
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

/* ---------------------------------------------------------------------------------------------------------- the meaning */

/* Text and marks as a reader has them: of marks their kind and class. Spaces after spaces are left out. */
static bool append_meaning(tr_buffer *meaning, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char c = tr_markdown_is_white(text[i]) ? ' ' : text[i];
        const bool after_space = !meaning->size || meaning->data[meaning->size - 1] == ' ';
        if (!(c == ' ' && after_space) && !tr_buffer_append(meaning, &c, 1))
            return false;
    }
    return true;
}

static bool append_mark(tr_buffer *meaning, uint8_t kind, const char *text, size_t size)
{
    const char mark[] = {1, (char)('0' + kind), mark_class(text, size), 1};
    return tr_buffer_append(meaning, mark, sizeof mark);
}

static void end_meaning(tr_buffer *meaning)
{
    meaning->size -= meaning->size && meaning->data[meaning->size - 1] == ' ';
}

/* --------------------------------------------------------------------------------------------------------------- writing */

/* A space, unless there is one. */
static void write_space(writer *w)
{
    const int class = class_written(w);
    if (class != SPACE && class != OUTSIDE) {
        append(w, " ", 1);
        failed(w, append_meaning(&w->meaning, " ", 1));
    }
}

static void write_nothing(writer *w)
{
    append(w, "&#8203;", 7);
    failed(w, append_meaning(&w->meaning, ZERO_WIDTH, 3));
}

static void write_slice(writer *w, size_t begin, size_t end, size_t index)
{
    write_text(w, w->text.data + begin, end - begin, index);
    failed(w, append_meaning(&w->meaning, w->text.data + begin, end - begin));
}

/* _ is no emphasis within words. */
static bool is_within_word(const writer *w, size_t i)
{
    const part *p = &w->parts[i];
    const size_t open = p->kind == TR_PIECE_OPEN ? i : p->partner, close = p->kind == TR_PIECE_OPEN ? p->partner : i;
    return (class_left(w, open, false) == WORD && !w->parts[open].space) ||
           (class_after(w, close, false) == WORD && !w->parts[close].space) || w->parts[open].moved_end ||
           w->parts[close].moved_end;
}

static void write_mark(writer *w, size_t i)
{
    const part *p = &w->parts[i];
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
    failed(w, append_mark(&w->meaning, p->kind, mark, size));
}

static bool is_beside(const writer *w, size_t i, size_t k)
{
    return k < w->count && is_emphasis(w, &w->parts[i]) && is_emphasis(w, &w->parts[k]);
}

/* A mark of a pair, with what stands around it. */
static void write_pair(writer *w, size_t i)
{
    const part *p = &w->parts[i];
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
    const int after = class_after(w, i, false);
    if (p->space || (padded && after != OUTSIDE && !(is_beside(w, i, i + 1) && w->parts[i + 1].kind == TR_PIECE_CLOSE)))
        write_space(w);
}

/* A bare address needs other characters beside it. */
static void write_word(writer *w, size_t i)
{
    const bool bare = tr_is_ascii_word(w->document->data[w->parts[i].piece->begin]);
    const part *after = i + 1 < w->count ? &w->parts[i + 1] : NULL;
    const bool text = after && (after->kind == TR_PIECE_TEXT || part_class(w, after) == 'w');
    const char next = text ? next_byte(w, i) : 0;
    if (bare && !w->own && class_written(w) == WORD && w->body.size && (unsigned char)w->body.data[w->body.size - 1] < 128)
        write_space(w);
    write_mark(w, i);
    if (bare && !w->own && next > ' ' && next < 127 && !strchr("<>\"`|\\?!.,:;*_~')", next))
        write_space(w);
}

static void write_body(writer *w)
{
    tr_buffer_clear(&w->body);
    tr_buffer_clear(&w->meaning);
    w->links = w->place->at == TR_MARKDOWN_PICTURE || w->place->label;
    for (size_t i = 0; i < w->count; i++) {
        const part *p = &w->parts[i];
        if (p->kind == TR_PIECE_TEXT)
            write_slice(w, p->begin, p->end, i);
        else if (is_pair(p))
            write_pair(w, i);
        else if (p->kind == TR_PIECE_WORD)
            write_word(w, i);
        else
            write_mark(w, i);
    }
    end_meaning(&w->meaning);
}

/* ---------------------------------------------------------------------------------------------------------- reading again
 */

/* A document that has one unit, as the source has it. */
typedef struct trial {
    const writer *writer;
    tr_buffer text;
    size_t begin, end; /* of the translation in it */
    size_t blocks;
    bool good, failed;
} trial;

/* Appends bytes without what quotes the lines after the first. */
static bool append_unquoted(tr_buffer *text, const char *bytes, size_t size)
{
    bool good = true;
    for (size_t i = 0; i < size && good;) {
        good = tr_buffer_append(text, bytes + i, 1);
        const bool newline = bytes[i] == '\n' || (bytes[i] == '\r' && !(i + 1 < size && bytes[i + 1] == '\n'));
        for (i++; newline && i < size && strchr(" \t>", bytes[i]);)
            i++;
    }
    return good;
}

/* Defines the labels of all links, which are "][label]". */
static bool append_labels(tr_buffer *text)
{
    const size_t size = text->size;
    bool good = tr_buffer_string(text, "\n\n");
    for (size_t i = 1; i < size && good; i++) {
        if (text->data[i] != '[' || text->data[i - 1] != ']')
            continue;
        size_t end = i + 1;
        while (end < size && text->data[end] != ']' && text->data[end] != '[')
            end += 1 + (text->data[end] == '\\');
        if (end >= size || text->data[end] != ']' || text->data[end + 1] == '(')
            continue;
        char *label = tr_copy_bytes(text->data + i, end + 1 - i);
        good = label && tr_buffer_append(text, label, end + 1 - i) && tr_buffer_string(text, ": x\n");
        free(label);
        i = end - 1;
    }
    return good;
}

static bool make_trial(trial *t)
{
    const writer *w = t->writer;
    const tr_markdown_place *place = w->place;
    const char *data = w->document->data;
    const bool cell = place->kind == TR_MARKDOWN_CELL, heading = place->kind == TR_MARKDOWN_HEADING;
    const char *before = cell                             ? "|x|\n|---|\n|"
                         : heading && !place->setext      ? "# "
                         : place->at == TR_MARKDOWN_NEXT  ? "x\\\n"
                         : place->at == TR_MARKDOWN_FIRST ? ""
                                                          : "x ";
    const char *after = cell ? "|" : place->setext ? "\n=" : "";
    const char *within = cell && place->at == TR_MARKDOWN_WITHIN ? "x " : "";
    bool good = tr_buffer_string(&t->text, before) && tr_buffer_string(&t->text, within) &&
                append_unquoted(&t->text, data + place->begin, w->unit->begin - place->begin) &&
                tr_buffer_string(&t->text, w->lead);
    t->begin = t->text.size;
    good = good && append_unquoted(&t->text, w->body.data, w->body.size);
    t->end = t->text.size;
    if (place->label)
        good = good && tr_buffer_string(&t->text, "][") &&
               append_unquoted(&t->text, data + w->unit->begin, place->label - w->unit->begin) &&
               tr_buffer_string(&t->text, "]");
    return good && append_unquoted(&t->text, data + w->unit->end, place->end - w->unit->end) &&
           tr_buffer_string(&t->text, after) && (!w->references || append_labels(&t->text));
}

/* Compares a block with what was meant. */
static tr_status compare_block(void *argument, const tr_markdown_block *block, tr_error *error)
{
    trial *t = argument;
    const writer *w = t->writer;
    tr_buffer meaning = {0};
    size_t before = 0, after = 0;
    if (block->items[block->count - 1].end <= t->begin && block->kind == TR_MARKDOWN_CELL)
        return TR_OK; /* the head of the table */
    bool good = true, memory = tr_buffer_append(&meaning, "", 0);
    (void)error;
    for (size_t i = 0; i < block->count && memory; i++) {
        const tr_markdown_item *item = &block->items[i];
        const char *text = t->text.data;
        if (item->kind == TR_PIECE_TEXT) {
            const size_t begin = item->begin < t->begin ? t->begin : item->begin;
            const size_t end = item->end > t->end ? t->end : item->end;
            tr_buffer decoded = {0};
            memory = begin >= end || (tr_markdown_decode(text + begin, end - begin, &decoded) &&
                                      append_meaning(&meaning, decoded.data, decoded.size));
            tr_buffer_free(&decoded);
        } else if (item->kind != TR_PIECE_SKIP) {
            before += item->end <= t->begin;
            after += item->begin >= t->end;
            const bool inside = item->begin >= t->begin && item->end <= t->end;
            good &= inside || item->end <= t->begin || item->begin >= t->end;
            memory = !inside || append_mark(&meaning, item->kind, text + item->begin, item->end - item->begin);
        }
    }
    end_meaning(&meaning);
    const size_t own = (w->place->at == TR_MARKDOWN_NEXT && w->place->kind != TR_MARKDOWN_CELL) + (*w->lead == 'x');
    t->good = good && !t->blocks++ && block->kind == (tr_markdown_kind)w->place->kind && before == w->place->before + own &&
              after == w->place->after && meaning.size == w->meaning.size &&
              memcmp(meaning.data, w->meaning.data, meaning.size) == 0;
    t->failed |= !memory;
    tr_buffer_free(&meaning);
    return TR_OK;
}

/* Whether body is read as it was meant. */
static bool survives(writer *w)
{
    trial t = {.writer = w};
    const tr_markdown_reader reader = {compare_block, &t};
    failed(w, make_trial(&t) && tr_markdown_scan(t.text.data, t.text.size, &reader, NULL) != TR_ERROR_MEMORY && !t.failed);
    tr_buffer_free(&t.text);
    return t.good && t.blocks == 1;
}

/* ------------------------------------------------------------------------------------------------------------- bilingual */

static const char *newline_of(const tr_document *d)
{
    const char *newline = memchr(d->data, '\n', d->size);
    return newline && newline > d->data && newline[-1] == '\r' ? "\r\n" : "\n";
}

/* Appends what quotes and indents the lines of the unit's block after its first. */
static bool append_prefix(const writer *w, bool blank, tr_buffer *out)
{
    const char *data = w->document->data;
    uint32_t begin = w->place->begin, i;
    const size_t from = out->size;
    bool good = true;
    while (begin && data[begin - 1] != '\n' && data[begin - 1] != '\r')
        begin--;
    for (i = begin; i < w->place->begin && good; i++) {
        const bool list = strchr("-+*.)", data[i]) || tr_is_ascii_digit(data[i]);
        if (!list && !strchr(" \t>", data[i]))
            break;
        good = tr_buffer_append(out, list ? " " : data + i, 1);
    }
    while (blank && out->size > from && (out->data[out->size - 1] == ' ' || out->data[out->size - 1] == '\t'))
        out->size--;
    if (!blank && w->place->kind == TR_MARKDOWN_HEADING && !w->place->setext)
        good = good && tr_buffer_append(out, data + i, w->place->begin - i);
    return good;
}

/* Appends the line under a heading. */
static bool append_underline(const writer *w, tr_buffer *out)
{
    const tr_document *d = w->document;
    uint32_t i = w->place->end;
    while (i < d->size && !strchr("=-", d->data[i]))
        i++;
    return tr_buffer_string(out, newline_of(d)) && append_prefix(w, false, out) &&
           tr_buffer_string(out, i < d->size && d->data[i] == '=' ? "===" : "---");
}

/* Whether the translation is a paragraph or heading of its own. */
static bool is_apart(const writer *w)
{
    return w->place->whole && w->unit->begin == w->place->begin && w->unit->end == w->place->end;
}

static const char *lead_of(const writer *w)
{
    if (!w->document->settings.bilingual || is_apart(w))
        return "";
    if (w->place->at == TR_MARKDOWN_PICTURE)
        return " / ";
    const bool footnote = w->unit->begin > w->place->begin && w->document->data[w->place->begin] == '[';
    return w->place->kind == TR_MARKDOWN_PARAGRAPH && w->place->at != TR_MARKDOWN_WITHIN && !footnote ? "x<br>\n" : "x<br>";
}

/* Appends the source, and what divides it from the translation. */
static bool append_source(const writer *w, tr_buffer *out)
{
    const tr_document *d = w->document;
    const char *newline = newline_of(d);
    const uint32_t end = w->place->label ? w->place->label : w->unit->end;
    bool good = tr_buffer_append(out, d->data + w->unit->begin, end - w->unit->begin);
    if (is_apart(w)) {
        good = good && (!w->place->setext || append_underline(w, out));
        return good && tr_buffer_string(out, newline) && append_prefix(w, true, out) && tr_buffer_string(out, newline) &&
               append_prefix(w, false, out);
    }
    const char *lead = lead_of(w);
    if (*lead != 'x')
        return good && tr_buffer_string(out, lead);
    good = good && tr_buffer_string(out, "<br>");
    return good && (!strchr(lead, '\n') || (tr_buffer_string(out, newline) && append_prefix(w, false, out)));
}

/* ------------------------------------------------------------------------------------------------------------- rendering */

/* Whether only white space and quotes stand before the unit in its line. */
static bool starts_line(const writer *w)
{
    const char *data = w->document->data;
    uint32_t i = w->unit->begin;
    if (*w->lead)
        return strchr(w->lead, '\n') != NULL;
    while (i > w->place->begin && strchr(" \t>", data[i - 1]))
        i--;
    return i > w->place->begin ? data[i - 1] == '\n' || data[i - 1] == '\r'
                               : w->place->at == TR_MARKDOWN_FIRST || w->place->at == TR_MARKDOWN_NEXT;
}

static tr_status write_unit(writer *w, const tr_rendering *rendering, tr_buffer *out, tr_error *error)
{
    const tr_document *d = w->document;
    const tr_unit *unit = w->unit;
    w->lead = lead_of(w);
    w->line_start = starts_line(w);
    if (failed(w, take_parts(w, rendering)))
        return tr_fail_memory(error, d->name);
    if (!w->own) {
        move_space(w);
        move_signs(w);
    }
    for (size_t i = 0; i < 3; i++)
        w->single[i] = is_single(w, "*_~"[i]);
    bool good = false;
    for (w->how = 0; w->how < (w->own ? 1 : ATTEMPTS) && !good && !w->failed; w->how++) {
        write_body(w);
        good = survives(w);
    }
    if (!good && !w->failed)
        return tr_buffer_append(out, d->data + unit->begin, unit->end - unit->begin) ? TR_OK
                                                                                     : tr_fail_memory(error, d->name);
    if (d->settings.bilingual)
        failed(w, append_source(w, out));
    failed(w, tr_buffer_append(out, w->body.data, w->body.size));
    if (w->place->label)
        failed(w, tr_buffer_string(out, "][") &&
                      tr_buffer_append(out, d->data + unit->begin, w->place->label - unit->begin) &&
                      tr_buffer_string(out, "]"));
    return w->failed ? tr_fail_memory(error, d->name) : TR_OK;
}

tr_status tr_markdown_render(const tr_document *d, const tr_rendering *rendering, tr_buffer *out, tr_error *error)
{
    const tr_markdown_state *state = d->state;
    const tr_unit *unit = rendering->unit;
    const size_t index = (size_t)(unit - (const tr_unit *)(const void *)d->units.data);
    const bool own = rendering->translation.size == rendering->size &&
                     memcmp(rendering->translation.text, rendering->text, rendering->size) == 0;
    if (rendering->same || (own && d->settings.bilingual))
        return tr_buffer_append(out, d->data + unit->begin, unit->end - unit->begin) ? TR_OK
                                                                                     : tr_fail_memory(error, d->name);
    writer w = {.document = d,
                .unit = unit,
                .place = (const tr_markdown_place *)(const void *)state->places.data + index,
                .lead = "",
                .own = own,
                .references = state->references};
    const tr_status status = write_unit(&w, rendering, out, error);
    free(w.parts);
    tr_buffer_free(&w.text);
    tr_buffer_free(&w.body);
    tr_buffer_free(&w.meaning);
    tr_buffer_free(&w.stack);
    return status;
}
