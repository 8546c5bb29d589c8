#include "tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer/spm.h"
#include "util/utf8.h"

struct tr_tokenizer {
    tr_spm *spm;
    tr_words *words; /* in place of spm, else NULL */
    const tr_vocabulary *source, *target;
    int unk_id;
    bool has_bytes;         /* the target vocabulary has byte pieces */
    unsigned char silent[]; /* a bit for each target id: it decodes to nothing */
};

static const char space_piece[] = "\xe2\x96\x81"; /* "▁" U+2581 */

enum {
    MAX_PART = 1 << 16, /* bytes of text encoded at once */
    BYTE_PIECE = 6,     /* bytes of "<0x4F>" */
    SPACE_PIECE = 3,
};

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte that a piece like "<0x4F>" stands for; -1 for other pieces. */
static int byte_of_piece(tr_piece p)
{
    if (p.size != BYTE_PIECE || memcmp(p.data, "<0x", 3) || p.data[5] != '>' || hex(p.data[3]) < 0 || hex(p.data[4]) < 0)
        return -1;
    return hex(p.data[3]) * 16 + hex(p.data[4]);
}

/* -------------------------------------------------------------------------------------------------------------- creation */

/* Checks for all 256 byte pieces: without byte fallback "<0x41>" is ordinary text. */
static bool has_byte_pieces(const tr_vocabulary *vocabulary)
{
    static const char digits[] = "0123456789ABCDEF";
    for (int byte = 0; byte < 256; byte++) {
        const char piece[BYTE_PIECE] = {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
        if (tr_vocabulary_find(vocabulary, piece, BYTE_PIECE) < 0)
            return false;
    }
    return true;
}

/* Makes a target id decode to nothing; -1 is ignored. */
static void silence_id(tr_tokenizer *t, int32_t id)
{
    if (id >= 0 && (size_t)id < t->target->size)
        t->silent[id / 8] |= (unsigned char)(1 << id % 8);
}

tr_status tr_tokenizer_create(const tr_tokenizer_parts *parts, tr_tokenizer **tokenizer, tr_error *error)
{
    tr_status status = TR_OK;
    tr_tokenizer *const t = calloc(1, sizeof *t + parts->target->size / 8 + 1);
    *tokenizer = NULL;
    if (!t)
        status = tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
    else if (parts->unk_id < -1 || (parts->unk_id >= 0 && (size_t)parts->unk_id >= parts->source->size))
        status = tr_fail(error, TR_ERROR_ARGUMENT, "tokenizer: the unknown token's id %d is not one of %zu", parts->unk_id,
                         parts->source->size);
    else if (!parts->words)
        status = tr_spm_create(parts->source_spm, parts->source_spm_size, &t->spm, error);
    if (status != TR_OK) {
        free(t);
        if (parts->words)
            parts->words->destroy(parts->words);
        return status;
    }
    t->words = parts->words;
    t->source = parts->source;
    t->target = parts->target;
    t->unk_id = parts->unk_id;
    for (size_t i = 0; i < parts->special_count; i++)
        silence_id(t, parts->special[i]);
    silence_id(t, tr_vocabulary_same(parts->source, parts->unk_id, parts->target));
    t->has_bytes = has_byte_pieces(parts->target);
    *tokenizer = t;
    return TR_OK;
}

void tr_tokenizer_destroy(tr_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    tr_spm_destroy(tokenizer->spm);
    if (tokenizer->words)
        tokenizer->words->destroy(tokenizer->words);
    free(tokenizer);
}

/* -------------------------------------------------------------------------------------------------------------- encoding */

/* Size of a token ">>lang<<" at the front of text that the vocabulary has, and its id; 0: there is none. */
static size_t find_language_token(const tr_vocabulary *vocabulary, const char *text, size_t size, int32_t *id)
{
    if (size < 4 || memcmp(text, ">>", 2))
        return 0;
    const char *const last = text + size - 1;
    for (const char *at = text + 2; (at = memchr(at, '<', (size_t)(last - at))) != NULL; at++)
        if (at[1] == '<') {
            const size_t length = (size_t)(at + 2 - text);
            *id = tr_vocabulary_find(vocabulary, text, length);
            return *id < 0 ? 0 : length;
        }
    return 0;
}

/* Size of the first part of text. Text to the left and right of a space encodes alike together and apart. */
static size_t part_size(const char *text, size_t size)
{
    if (size <= MAX_PART)
        return size;
    for (size_t i = MAX_PART; i > MAX_PART / 2; i--)
        if (text[i] == ' ' && text[i - 1] != ' ')
            return i;
    size_t cut = MAX_PART;
    while (cut > MAX_PART / 2 && (text[cut] & 0xc0) == 0x80) /* to the start of a character */
        cut--;
    return cut;
}

/* Adds offset to the spans from byte first of the buffer on, which makes them relative to text, and
 * drops the white space before each token. */
static void shift_spans(tr_buffer *spans, size_t first, const char *text, size_t offset)
{
    tr_span *const end = (tr_span *)(void *)(spans->data + spans->size);
    for (tr_span *s = (tr_span *)(void *)(spans->data + first); s < end; s++) {
        s->begin += offset;
        s->end += offset;
        for (size_t length; s->begin < s->end; s->begin += length)
            if (!tr_is_white(tr_utf8_decode(text + s->begin, s->end - s->begin, &length)))
                break;
    }
}

/* spans: a tr_span for each id; NULL: not wanted */
static tr_status encode_text(const tr_tokenizer *t, const char *text, size_t size, tr_ids *ids, tr_buffer *spans,
                             tr_error *error)
{
    int32_t language;
    size_t at = find_language_token(t->source, text, size, &language);
    const tr_span token = {0, at};
    if (at && (!tr_ids_append(ids, &language, 1) || (spans && !tr_buffer_append(spans, &token, sizeof token))))
        return tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
    tr_status status = TR_OK;
    for (size_t part; status == TR_OK && at < size; at += part) {
        const size_t first = spans ? spans->size : 0;
        part = t->words ? size - at : part_size(text + at, size - at);
        status = t->words ? t->words->encode(t->words, text + at, part, t->source, t->unk_id, ids, spans, error)
                          : tr_spm_encode(t->spm, text + at, part, t->source, t->unk_id, ids, spans, error);
        if (status == TR_OK && spans && spans->size > first)
            shift_spans(spans, first, text, at);
    }
    return status;
}

tr_status tr_tokenizer_expect(const tr_tokenizer *tokenizer, size_t bytes, tr_error *error)
{
    return tokenizer->spm ? tr_spm_expect(tokenizer->spm, bytes, error) : TR_OK;
}

void tr_tokenizer_share(const tr_tokenizer *tokenizer, const char *text, size_t size)
{
    if (tokenizer->spm && size)
        tr_spm_share(tokenizer->spm, text, size);
}

tr_status tr_tokenizer_encode(const tr_tokenizer *tokenizer, const char *text, size_t size, tr_ids *ids, tr_error *error)
{
    const size_t count = ids->size;
    const tr_status status = encode_text(tokenizer, text, size, ids, NULL, error);
    if (status != TR_OK)
        ids->size = count;
    return status;
}

/* SentencePiece gives a character's span to the last of its byte pieces: gives it to each of them. */
static void share_byte_spans(const tr_tokenizer *t, const int32_t *ids, tr_span *spans, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        const tr_span *s = &spans[i - 1];
        if (s->begin < s->end && s[-1].begin == s[-1].end && byte_of_piece(t->source->pieces[ids[i - 1]]) >= 0 &&
            byte_of_piece(t->source->pieces[ids[i - 2]]) >= 0)
            spans[i - 2] = *s;
    }
}

tr_status tr_tokenizer_encode_spans(const tr_tokenizer *tokenizer, const char *text, size_t size, tr_ids *ids,
                                    tr_span **spans, tr_error *error)
{
    tr_buffer found = {0};
    const size_t count = ids->size;
    const tr_status status = tr_buffer_reserve(&found, size) ? encode_text(tokenizer, text, size, ids, &found, error)
                                                             : tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
    *spans = (tr_span *)(void *)found.data;
    if (status == TR_OK && tokenizer->spm)
        share_byte_spans(tokenizer, ids->data + count, *spans, ids->size - count);
    if (status != TR_OK) {
        ids->size = count;
        tr_buffer_free(&found);
        *spans = NULL;
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- decoding */

/* The part of text from byte start on without white space at both ends: Python's str.strip(), which MarianTokenizer ends
 * with. */
static tr_span find_stripped(const tr_buffer *text, size_t start)
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

/* Replaces text from byte start on by a part of it. */
static void keep_part(tr_buffer *text, size_t start, tr_span part)
{
    if (!text->data)
        return;
    memmove(text->data + start, text->data + part.begin, part.end - part.begin);
    text->size = start + part.end - part.begin;
    text->data[text->size] = 0;
}

/* Strips text from byte start on and returns the number of bytes removed at its front. */
static size_t strip_text(tr_buffer *text, size_t start)
{
    const tr_span part = find_stripped(text, start);
    keep_part(text, start, part);
    return part.begin - start;
}

/* Appends text with a space for each "▁". */
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

/* Appends the characters that a run of byte pieces spells. As in SentencePiece, each byte outside valid UTF-8 becomes one
 * U+FFFD; so does NUL. spans [size]: the span of each byte's character, or NULL. */
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

static bool is_silent(const tr_tokenizer *t, int32_t id)
{
    return t->silent[id / 8] >> id % 8 & 1;
}

/* Appends the run of byte pieces that ends before id i. A silent id between them has the span of a byte. */
static bool append_run(tr_buffer *bytes, tr_buffer *text, tr_span *spans, size_t i)
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
        const int byte = t->has_bytes ? byte_of_piece(piece) : -1;
        if (byte >= 0) {
            if (!tr_buffer_append(bytes, &(char){(char)byte}, 1))
                return false;
            continue;
        }
        if (!append_run(bytes, text, spans, i))
            return false;
        const size_t before = text->size;
        if (!append_text(text, piece.data, piece.size))
            return false;
        if (spans)
            spans[i] = (tr_span){before, text->size};
    }
    return append_run(bytes, text, spans, count);
}

/* Makes spans relative to the stripped text, and drops the white space before each token. */
static void trim_spans(const tr_buffer *text, size_t start, size_t stripped, tr_span *spans, size_t count)
{
    for (size_t i = 0; spans && i < count; i++) {
        tr_span *s = &spans[i];
        const size_t begin = s->begin - start, end = s->end - start, size = text->size - start;
        s->begin = begin < stripped ? 0 : begin - stripped;
        s->end = end < stripped ? 0 : end - stripped;
        s->begin = s->begin < size ? s->begin : size;
        s->end = s->end < size ? s->end : size;
        for (size_t length; s->begin < s->end; s->begin += length)
            if (!tr_is_white(tr_utf8_decode(text->data + start + s->begin, s->end - s->begin, &length)))
                break;
    }
}

static tr_status decode_words(const tr_tokenizer *t, const int32_t *ids, size_t count, tr_buffer *text, tr_span *spans,
                              tr_error *error)
{
    tr_piece *const pieces = calloc(count + 1, sizeof *pieces);
    if (!pieces)
        return tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
    for (size_t i = 0; i < count; i++)
        if (!is_silent(t, ids[i]))
            pieces[i] = t->target->pieces[ids[i]];
    const tr_status status = t->words->decode(t->words, pieces, count, text, spans, error);
    free(pieces);
    return status;
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
    if (tokenizer->words)
        return decode_words(tokenizer, ids, count, text, spans, error);
    const size_t start = text->size;
    tr_buffer bytes = {0}; /* of the run of byte pieces before the current id */
    const bool done = tr_buffer_reserve(text, 4 * count) && decode_all(tokenizer, ids, count, &bytes, text, spans);
    tr_buffer_free(&bytes);
    if (!done) {
        text->size = start;
        return tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
    }
    trim_spans(text, start, strip_text(text, start), spans, count);
    return TR_OK;
}

/* -------------------------------------------------------------------------------------------------------- token by token */

/* Size of a character by its first byte; 1 for bytes that begin none. */
static size_t bytes_of_character(unsigned char first)
{
    return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

/* How many bytes of a run can be decoded now: all but an incomplete last character. */
static size_t decodable(const char *bytes, size_t size)
{
    size_t at = 0;
    for (size_t length; at < size && size - at >= bytes_of_character((unsigned char)bytes[at]); at += length)
        if (tr_utf8_decode(bytes + at, size - at, &length) <= 0)
            length = 1;
    return at;
}

/* Appends the characters of the first count bytes of the run. */
static bool grow_bytes(tr_incremental_text *g, size_t count)
{
    const bool good = append_bytes(&g->text, g->bytes.data, count, NULL);
    keep_part(&g->bytes, 0, (tr_span){count, g->bytes.size});
    return good;
}

static bool grow_piece(const tr_tokenizer *t, tr_incremental_text *g, int32_t id)
{
    const tr_piece piece = t->target->pieces[id];
    if (!piece.data || is_silent(t, id))
        return true;
    const int byte = t->has_bytes ? byte_of_piece(piece) : -1;
    if (byte < 0)
        return grow_bytes(g, g->bytes.size) && append_text(&g->text, piece.data, piece.size);
    return tr_buffer_append(&g->bytes, &(char){(char)byte}, 1) && grow_bytes(g, decodable(g->bytes.data, g->bytes.size));
}

/* Drops white space at the front and holds it back at the end, where it may be the last. */
static bool grow_text(const tr_tokenizer *t, tr_incremental_text *g, int32_t id, bool last)
{
    keep_part(&g->text, 0, (tr_span){g->emitted.end, g->text.size});
    g->emitted = (tr_span){0, 0};
    if ((id >= 0 && !grow_piece(t, g, id)) || (last && !g->only_whole && !grow_bytes(g, g->bytes.size)))
        return false;
    const tr_span part = find_stripped(&g->text, 0);
    if (part.begin < part.end)
        g->emitted = (tr_span){g->started ? 0 : part.begin, part.end};
    g->started = g->started || part.begin < part.end;
    return true;
}

/* The text of words depends on all of them: it is emitted at the end. */
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

tr_status tr_tokenizer_decode_next(const tr_tokenizer *tokenizer, tr_incremental_text *text, int32_t id, bool last,
                                   tr_error *error)
{
    if (id >= 0 && (size_t)id >= tokenizer->target->size)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tokenizer: the id %d is not one of %zu", id, tokenizer->target->size);
    if (tokenizer->words)
        return grow_words(tokenizer, text, id, last, error);
    return grow_text(tokenizer, text, id, last) ? TR_OK : tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
}

void tr_incremental_text_free(tr_incremental_text *text)
{
    tr_buffer_free(&text->text);
    tr_buffer_free(&text->bytes);
    tr_ids_free(&text->ids);
    *text = (tr_incremental_text){0};
}
