/* Target ids to text: SentencePiece's way back, which needs the vocabulary alone, and that of words. */
#include <string.h>

#include "tokenizer/inside.h"
#include "tokenizer/letters.h"
#include "tokenizer/places.h"
#include "util/utf8.h"

static const char space_piece[] = "\xe2\x96\x81"; /* "▁" U+2581 */
enum { SPACE_PIECE = 3 };

/* Where text from byte start on, which is valid UTF-8, begins and ends without the white space at both ends: Python's
 * str.strip(), which MarianTokenizer ends with. */
static tr_span inner(const tr_buffer *text, size_t start)
{
    size_t first = start, end = text->size, length;
    while (first < end && tr_is_white(tr_utf8_decode(text->data + first, end - first, &length)))
        first += length;
    while (end > first) {
        size_t last = end - 1;
        while (last > first && (text->data[last] & 0xc0) == 0x80)
            last--;
        if (!tr_is_white(tr_utf8_decode(text->data + last, end - last, &length)))
            break;
        end = last;
    }
    return (tr_span){first, end};
}

/* Removes what is before and behind that part of text from byte start on. */
static void keep(tr_buffer *text, size_t start, tr_span part)
{
    if (!text->data)
        return;
    memmove(text->data + start, text->data + part.begin, part.end - part.begin);
    text->size = start + part.end - part.begin;
    text->data[text->size] = 0;
}

/* Removes white space at both ends of text from byte start on. Returns how many bytes there were in front. */
static size_t strip(tr_buffer *text, size_t start)
{
    const tr_span part = inner(text, start);
    keep(text, start, part);
    return part.begin - start;
}

/* Appends size bytes of text with spaces for "▁". */
static bool append_text(tr_buffer *out, const char *text, size_t size)
{
    while (size) {
        const char *mark = memchr(text, space_piece[0], size);
        const size_t plain = mark ? (size_t)(mark - text) : size;
        if (!tr_buffer_append(out, text, plain))
            return false;
        text += plain, size -= plain;
        if (!size)
            return true;
        const bool space = size >= SPACE_PIECE && memcmp(text, space_piece, SPACE_PIECE) == 0;
        const size_t taken = space ? SPACE_PIECE : 1;
        if (!tr_buffer_append(out, space ? " " : text, 1))
            return false;
        text += taken, size -= taken;
    }
    return true;
}

/* Appends the characters that a run of byte pieces spells. As in SentencePiece, each byte that belongs to no valid character
 * becomes one U+FFFD; so does NUL, which has no place in a text. spans: of each byte, or NULL. */
static bool append_bytes(tr_buffer *out, const char *bytes, size_t size, tr_span *spans)
{
    for (size_t i = 0, length; i < size; i += length) {
        const size_t before = out->size;
        const bool good = tr_utf8_decode(bytes + i, size - i, &length) > 0;
        if (!good)
            length = 1;
        if (!(good ? append_text(out, bytes + i, length) : tr_buffer_append(out, "\xef\xbf\xbd", 3)))
            return false;
        for (size_t b = i; spans && b < i + length; b++)
            spans[b] = (tr_span){before, out->size};
    }
    return true;
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int tr_piece_byte(tr_piece p)
{
    if (p.size != TR_BYTE_PIECE || memcmp(p.data, "<0x", 3) || p.data[5] != '>' || hex(p.data[3]) < 0 || hex(p.data[4]) < 0)
        return -1;
    return hex(p.data[3]) * 16 + hex(p.data[4]);
}

static bool is_silent(const tr_tokenizer *t, int32_t id)
{
    return t->silent[id / 8] >> id % 8 & 1;
}

/* The run of byte pieces that ends before id i. Silent ids between them get the place of a byte. */
static bool end_run(tr_buffer *bytes, tr_buffer *text, tr_span *spans, size_t i)
{
    const bool good = append_bytes(text, bytes->data, bytes->size, spans ? spans + i - bytes->size : NULL);
    bytes->size = 0;
    return good;
}

static bool decode_all(const tr_tokenizer *t, const int32_t *ids, size_t count, tr_buffer *bytes, tr_buffer *text,
                       tr_span *spans)
{
    for (size_t i = 0; i < count; i++) {
        const tr_piece piece = t->target->pieces[ids[i]];
        if (spans)
            spans[i] = (tr_span){text->size, text->size};
        if (!piece.data || is_silent(t, ids[i]))
            continue;
        const int byte = t->bytes ? tr_piece_byte(piece) : -1;
        if (byte >= 0) {
            if (!tr_buffer_append(bytes, &(char){(char)byte}, 1))
                return false;
            continue;
        }
        if (!end_run(bytes, text, spans, i))
            return false;
        const size_t before = text->size;
        if (!append_text(text, piece.data, piece.size))
            return false;
        if (spans)
            spans[i] = (tr_span){before, text->size};
    }
    return end_run(bytes, text, spans, count);
}

/* White space in front of a token is no part of it, and what was stripped is gone. */
static void trim_spans(const tr_buffer *text, size_t start, size_t stripped, tr_span *spans, size_t count)
{
    for (size_t i = 0; spans && i < count; i++) {
        tr_span *s = &spans[i];
        const size_t first = s->begin - start, last = s->end - start, all = text->size - start;
        s->begin = first < stripped ? 0 : first - stripped;
        s->end = last < stripped ? 0 : last - stripped;
        s->begin = s->begin < all ? s->begin : all;
        s->end = s->end < all ? s->end : all;
        for (size_t length; s->begin < s->end; s->begin += length)
            if (!tr_is_white(tr_utf8_decode(text->data + start + s->begin, s->end - s->begin, &length)))
                break;
    }
}

static tr_status decode_words(const tr_tokenizer *t, const int32_t *ids, size_t count, tr_buffer *text, tr_error *error)
{
    tr_buffer pieces = {0};
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < count; i++) {
        const tr_piece piece = t->target->pieces[ids[i]];
        if (!piece.data || is_silent(t, ids[i]))
            continue;
        if ((pieces.size && !tr_buffer_string(&pieces, " ")) || !tr_buffer_append(&pieces, piece.data, piece.size))
            status = tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
    }
    if (status == TR_OK)
        status = tr_words_decode(t->words, pieces.data, pieces.size, text, error);
    tr_buffer_free(&pieces);
    return status;
}

static void find_words(const tr_tokenizer *t, const int32_t *ids, size_t count, const char *text, size_t size,
                       tr_span *spans)
{
    tr_places places = {.text = text, .size = size};
    for (size_t i = 0; i < count; i++) {
        const tr_piece piece = t->target->pieces[ids[i]];
        const bool shown = piece.data && !is_silent(t, ids[i]);
        spans[i] = shown ? tr_places_next(&places, piece.data, piece.size) : (tr_span){places.at, places.at};
    }
}

tr_status tr_tokenizer_decode(const tr_tokenizer *tokenizer, const int32_t *ids, size_t count, tr_buffer *text,
                              tr_error *error)
{
    return tr_tokenizer_decode_spans(tokenizer, ids, count, text, NULL, error);
}

tr_status tr_tokenizer_decode_spans(const tr_tokenizer *tokenizer, const int32_t *ids, size_t count, tr_buffer *text,
                                    tr_span *spans, tr_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= tokenizer->target->size)
            return tr_fail(error, TR_ERROR_ARGUMENT, "tokenizer: the id %d is not one of %zu", ids[i],
                           tokenizer->target->size);
    const size_t start = text->size;
    if (tokenizer->words) {
        const tr_status status = decode_words(tokenizer, ids, count, text, error);
        if (status == TR_OK && spans)
            find_words(tokenizer, ids, count, text->data ? text->data + start : "", text->size - start, spans);
        return status;
    }
    tr_buffer bytes = {0}; /* the run of byte pieces just before here */
    const bool done = tr_buffer_reserve(text, 4 * count) && decode_all(tokenizer, ids, count, &bytes, text, spans);
    tr_buffer_free(&bytes);
    if (!done) {
        text->size = start;
        return tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
    }
    trim_spans(text, start, strip(text, start), spans, count);
    return TR_OK;
}

/* ------------------------------------------------------------------------------------------------------ token by token */

/* Bytes of a character by its first one, as far as that tells. */
static size_t bytes_of_character(unsigned char first)
{
    return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

/* How many of these bytes, the newest of a run, can be decoded now: all but a last character that is not complete. */
static size_t decodable(const char *bytes, size_t size)
{
    size_t at = 0;
    for (size_t length; at < size && size - at >= bytes_of_character((unsigned char)bytes[at]); at += length)
        if (tr_utf8_decode(bytes + at, size - at, &length) <= 0)
            length = 1;
    return at;
}

/* Appends what a run of byte pieces, or its beginning, spells. */
static bool grow_bytes(tr_incremental_text *g, size_t count)
{
    const bool good = append_bytes(&g->text, g->bytes.data, count, NULL);
    keep(&g->bytes, 0, (tr_span){count, g->bytes.size});
    return good;
}

static bool grow_piece(const tr_tokenizer *t, tr_incremental_text *g, int32_t id)
{
    const tr_piece piece = t->target->pieces[id];
    if (!piece.data || is_silent(t, id))
        return true;
    const int byte = t->bytes ? tr_piece_byte(piece) : -1;
    if (byte < 0)
        return grow_bytes(g, g->bytes.size) && append_text(&g->text, piece.data, piece.size);
    return tr_buffer_append(&g->bytes, &(char){(char)byte}, 1) && grow_bytes(g, decodable(g->bytes.data, g->bytes.size));
}

/* White space in front is dropped, that behind is kept back: it may be the end. */
static bool grow_text(const tr_tokenizer *t, tr_incremental_text *g, int32_t id, bool last)
{
    keep(&g->text, 0, (tr_span){g->emitted.end, g->text.size});
    g->emitted = (tr_span){0, 0};
    if ((id >= 0 && !grow_piece(t, g, id)) || (last && !grow_bytes(g, g->bytes.size)))
        return false;
    const tr_span part = inner(&g->text, 0);
    if (part.begin < part.end)
        g->emitted = (tr_span){g->started ? 0 : part.begin, part.end};
    g->started = g->started || part.begin < part.end;
    return true;
}

/* What words look like depends on those behind them. */
static tr_status grow_words(const tr_tokenizer *t, tr_incremental_text *g, int32_t id, bool last, tr_error *error)
{
    if (id >= 0 && !tr_ids_append(&g->ids, &id, 1))
        return tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
    if (!last)
        return TR_OK;
    const tr_status status = tr_tokenizer_decode(t, g->ids.data, g->ids.size, &g->text, error);
    g->emitted = (tr_span){0, g->text.size};
    return status;
}

tr_status tr_tokenizer_decode_next(const tr_tokenizer *tokenizer, tr_incremental_text *growing, int32_t id, bool last,
                                   tr_error *error)
{
    if (id >= 0 && (size_t)id >= tokenizer->target->size)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tokenizer: the id %d is not one of %zu", id, tokenizer->target->size);
    if (tokenizer->words)
        return grow_words(tokenizer, growing, id, last, error);
    return grow_text(tokenizer, growing, id, last) ? TR_OK : tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
}

void tr_incremental_text_free(tr_incremental_text *growing)
{
    tr_buffer_free(&growing->text);
    tr_buffer_free(&growing->bytes);
    tr_ids_free(&growing->ids);
    *growing = (tr_incremental_text){0};
}
