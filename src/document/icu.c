/* ICU messages. One pass with a stack of modes, which either asks whether a text is such a message, or adds its units. */
#include "document/icu.h"

#include "document/bytes.h"

#include <string.h>

enum { MAX_DEPTH = 32 };

/* Modes: bits. */
enum { OPTIONS = 1 /* between the messages of an argument */, PLURAL = 2 /* # is the number */ };

typedef struct walker {
    const char *text;
    size_t size, at;
    bool escapes;
    uint8_t modes[MAX_DEPTH];
    int depth;
    bool found;     /* a plural or select argument */
    tr_document *d; /* NULL: no units are added */
    uint32_t style;
    size_t base, from; /* of the text in the document; of the text that no piece has yet */
    tr_error *error;
} walker;

/* The character at text[at], if it is one of ASCII; 'a' for all others; 0 at the end. *length: its bytes. */
static char peek(const walker *w, size_t at, size_t *length)
{
    uint32_t code = 0;
    *length = at < w->size;
    if (at >= w->size)
        return 0;
    const char c = w->text[at];
    if (c != '\\' || !w->escapes || at + 1 >= w->size)
        return (unsigned char)c < 0x80 && c ? c : 'a';
    *length = tr_read_escape(w->text + at, w->size - at, &code);
    if (*length)
        return code && code < 0x80 ? (char)code : 'a';
    *length = 2;
    return strchr("nrtbf", w->text[at + 1]) ? ' ' : w->text[at + 1];
}

static size_t skip_blank(const walker *w, size_t at)
{
    size_t length;
    while (tr_is_ascii_space(peek(w, at, &length)))
        at += length;
    return at;
}

/* Reads the name at `at`: its first characters, up to size. */
static size_t read_name(const walker *w, size_t at, char *name, size_t size)
{
    size_t length, count = 0;
    for (char c; c = peek(w, at, &length), tr_is_identifier(c) || c == '.'; at += length)
        if (count + 1 < size)
            name[count++] = c;
    name[count] = 0;
    return at;
}

static tr_status begin_message(walker *w)
{
    w->from = w->at;
    return w->d ? tr_unit_begin(w->d, w->style, w->error) : TR_OK;
}

static tr_status add_piece(walker *w, tr_piece_kind kind, size_t begin, size_t end)
{
    return w->d ? tr_unit_piece(w->d, kind, w->base + begin, w->base + end, w->error) : TR_OK;
}

static tr_status end_message(walker *w)
{
    const tr_status status = add_piece(w, TR_PIECE_TEXT, w->from, w->at);
    if (w->d && status == TR_OK)
        tr_unit_end(w->d);
    return status;
}

/* A word of the message up to `end`, which is not translated. */
static tr_status add_word(walker *w, size_t end)
{
    tr_status status = add_piece(w, TR_PIECE_TEXT, w->from, w->at);
    if (status == TR_OK)
        status = add_piece(w, TR_PIECE_WORD, w->at, end);
    w->at = w->from = end;
    return status;
}

/* An argument at {. *good: it is one. */
static tr_status walk_argument(walker *w, size_t length, bool *good)
{
    char name[16], c;
    size_t at = skip_blank(w, read_name(w, skip_blank(w, w->at + length), name, sizeof name)), comma;
    const bool typed = peek(w, at, &comma) == ',';
    *good = true;
    if (typed) {
        at = skip_blank(w, read_name(w, skip_blank(w, at + comma), name, sizeof name));
        const bool plural = strcmp(name, "plural") == 0 || strcmp(name, "selectordinal") == 0;
        if ((plural || strcmp(name, "select") == 0) && peek(w, at, &comma) == ',') {
            const tr_status status = end_message(w);
            *good = w->depth + 1 < MAX_DEPTH;
            if (*good)
                w->modes[w->depth + 1] = (uint8_t)(OPTIONS | (w->modes[w->depth] & PLURAL) | (plural ? PLURAL : 0));
            w->depth += *good;
            w->at = at + comma;
            w->found = true;
            return status;
        }
    }
    while ((c = peek(w, at, &comma)) != 0 && c != '}' && c != '{')
        at += comma;
    *good = c == '}';
    if (typed && *good)
        return add_word(w, at + comma);
    w->at = at + comma;
    return TR_OK;
}

/* After an apostrophe: a quoted brace ends with another one. */
static void skip_quoted(walker *w)
{
    size_t length;
    const char c = peek(w, w->at, &length);
    if (c == '\'') {
        w->at += length;
        return;
    }
    if (c != '{' && c != '}' && !(c == '#' && w->modes[w->depth] & PLURAL))
        return;
    for (char next = 0; next != '\'' && w->at < w->size; w->at += length)
        next = peek(w, w->at, &length);
}

/* *good: the text is a message. */
static tr_status walk(walker *w, bool *good)
{
    size_t length;
    tr_status status = begin_message(w);
    *good = true;
    while (status == TR_OK && *good && w->at < w->size) {
        const char c = peek(w, w->at, &length);
        const uint8_t mode = w->modes[w->depth];
        if (mode & OPTIONS) {
            w->at += length;
            if (c == '{') {
                *good = w->depth + 1 < MAX_DEPTH;
                if (*good)
                    w->modes[++w->depth] = mode & PLURAL;
                status = begin_message(w);
            } else if (c == '}') {
                w->depth--;
                status = begin_message(w);
            }
        } else if (c == '{') {
            status = walk_argument(w, length, good);
        } else if (c == '}') {
            *good = w->depth > 0;
            status = end_message(w);
            w->depth -= *good;
            w->at += length;
        } else if (c == '#' && mode & PLURAL) {
            status = add_word(w, w->at + length);
        } else {
            w->at += length;
            if (c == '\'')
                skip_quoted(w);
        }
    }
    *good = *good && w->depth == 0 && w->found;
    return status == TR_OK ? end_message(w) : status;
}

bool tr_icu_is_message(const char *text, size_t size, bool escapes)
{
    walker w = {.text = text, .size = size, .escapes = escapes};
    bool good;
    return walk(&w, &good) == TR_OK && good;
}

tr_status tr_icu_units(tr_document *d, uint32_t style, size_t begin, size_t end, bool escapes, tr_error *error)
{
    walker w = {.text = d->data + begin,
                .size = end - begin,
                .escapes = escapes,
                .d = d,
                .style = style,
                .base = begin,
                .error = error};
    bool good;
    return walk(&w, &good);
}
