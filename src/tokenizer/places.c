#include "tokenizer/places.h"

#include <string.h>

#include "tokenizer/letters.h"
#include "util/utf8.h"

enum { REACH = 24 }; /* bytes that may lie between a word that was found and the next one: marks, normalised */

/* What moses_split.c writes for a character: bytes of piece, and *c the character; 1 and the byte itself for any other. */
static size_t unescape(const char *piece, size_t size, char *c)
{
    static const struct {
        const char *written;
        char plain;
    } escapes[] = {{"&amp;", '&'},   {"&#124;", '|'}, {"&lt;", '<'},  {"&gt;", '>'},
                   {"&apos;", '\''}, {"&quot;", '"'}, {"&#91;", '['}, {"&#93;", ']'}};
    *c = *piece;
    for (size_t i = 0; *piece == '&' && i < sizeof escapes / sizeof *escapes; i++) {
        const size_t length = strlen(escapes[i].written);
        if (length <= size && memcmp(piece, escapes[i].written, length) == 0) {
            *c = escapes[i].plain;
            return length;
        }
    }
    return 1;
}

/* Bytes of the text from at on that the piece is; 0: it is not there. */
static size_t match(const tr_places *p, size_t at, const char *piece, size_t size)
{
    size_t end = at;
    for (size_t i = 0; i < size; end++) {
        char c;
        i += unescape(piece + i, size - i, &c);
        if (end == p->size || p->text[end] != c)
            return 0;
    }
    return end - at;
}

static bool begins_word(char c)
{
    return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Where a word is that is not at at; at where it is not near either. */
static size_t look_ahead(const tr_places *p, size_t at, const char *piece, size_t size)
{
    size_t length;
    for (size_t near = at; near < p->size && near - at <= REACH; near += length) {
        tr_utf8_decode(p->text + near, p->size - near, &length);
        if (match(p, near, piece, size))
            return near;
    }
    return at;
}

tr_span tr_places_next(tr_places *p, const char *piece, size_t size)
{
    const bool goes_on = size > 2 && memcmp(piece + size - 2, "@@", 2) == 0;
    const size_t shown = goes_on ? size - 2 : size;
    size_t at = p->at, length;
    while (at < p->size && tr_is_white(tr_utf8_decode(p->text + at, p->size - at, &length)))
        at += length;
    if (!p->inside && shown && begins_word(*piece))
        at = look_ahead(p, at, piece, shown);
    p->inside = goes_on;
    const size_t bytes = match(p, at, piece, shown);
    if (bytes)
        p->at = at + bytes;
    return (tr_span){at, at + bytes};
}
