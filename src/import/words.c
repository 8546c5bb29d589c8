#include "import/words.h"

#include <stdlib.h>
#include <string.h>

#include "import/bpe.h"
#include "import/letters.h"
#include "import/moses.h"
#include "util/utf8.h"

typedef struct moses {
    tr_words words;
    tr_bpe *bpe;
    char source[TR_LANGUAGE], target[TR_LANGUAGE];
} moses;

static const char continuation[] = "@@", joint[] = "@@ ";

static tr_status fail_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
}

/* A code that is too long is left out: no language with rules of its own has such a one. */
static void copy_language(const char *code, char copy[TR_LANGUAGE])
{
    if (strlen(code) < TR_LANGUAGE)
        strcpy(copy, code);
}

/* -------------------------------------------------------------------------------------------------------- finding pieces */

enum { REACH = 24 }; /* most bytes of normalised marks between one word and the next */

/* Sets *c to the character that piece begins with and returns its size in piece, where moses_split.c escapes some. */
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

/* Size in the text of a piece that begins at at; 0: it is not there. */
static size_t match_piece(const tr_piece_finder *f, size_t at, const char *piece, size_t size)
{
    size_t end = at;
    for (size_t i = 0; i < size; end++) {
        char c;
        i += unescape(piece + i, size - i, &c);
        if (end == f->size || f->text[end] != c)
            return 0;
    }
    return end - at;
}

static bool begins_word(char c)
{
    return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Returns the nearest offset from at on where the piece is, or at if it is not within reach. */
static size_t find_ahead(const tr_piece_finder *f, size_t at, const char *piece, size_t size)
{
    size_t length;
    for (size_t near = at; near < f->size && near - at <= REACH; near += length) {
        tr_utf8_decode(f->text + near, f->size - near, &length);
        if (match_piece(f, near, piece, size))
            return near;
    }
    return at;
}

tr_span tr_piece_finder_next(tr_piece_finder *f, const char *piece, size_t size)
{
    const bool continued = size > 2 && memcmp(piece + size - 2, "@@", 2) == 0;
    const size_t plain_size = continued ? size - 2 : size;
    size_t at = f->at, length;
    while (at < f->size && tr_is_white(tr_utf8_decode(f->text + at, f->size - at, &length)))
        at += length;
    if (!f->inside_word && plain_size && begins_word(*piece))
        at = find_ahead(f, at, piece, plain_size);
    f->inside_word = continued;
    const size_t bytes = match_piece(f, at, piece, plain_size);
    if (bytes)
        f->at = at + bytes;
    return (tr_span){at, at + bytes};
}

/* -------------------------------------------------------------------------------------------------------------- encoding */

/* A text that is being encoded. */
typedef struct encoding {
    const moses *words;
    const tr_vocabulary *vocabulary;
    int unk_id;
    tr_ids *ids;
    tr_buffer *spans;       /* NULL: not wanted */
    tr_piece_finder finder; /* of spans */
    tr_error *error;
    tr_buffer piece;
    tr_ids ends; /* of a word's pieces */
} encoding;

static tr_status append_piece(encoding *e, const char *text, size_t size, bool last)
{
    tr_buffer_clear(&e->piece);
    if (!tr_buffer_append(&e->piece, text, size) || (!last && !tr_buffer_string(&e->piece, continuation)))
        return fail_memory(e->error);
    if (e->spans) {
        const tr_span span = tr_piece_finder_next(&e->finder, e->piece.data, e->piece.size);
        if (!tr_buffer_append(e->spans, &span, sizeof span))
            return fail_memory(e->error);
    }
    return tr_vocabulary_append_id(e->vocabulary, e->piece.data, e->piece.size, e->unk_id, e->ids, e->error);
}

static tr_status encode_word(encoding *e, const char *word, size_t size)
{
    tr_status status = TR_OK;
    size_t begin = 0;
    e->ends.size = 0;
    if (!tr_bpe_cut(e->words->bpe, word, size, &e->ends))
        return fail_memory(e->error);
    for (size_t i = 0; status == TR_OK && i < e->ends.size; i++) {
        const size_t end = (size_t)e->ends.data[i];
        status = append_piece(e, word + begin, end - begin, end == size);
        begin = end;
    }
    return status;
}

/* text: words separated by a space */
static tr_status encode_words(encoding *e, const char *text, size_t size)
{
    tr_status status = TR_OK;
    for (size_t at = 0, length; status == TR_OK && at < size; at += length + 1) {
        const char *const space = memchr(text + at, ' ', size - at);
        length = space ? (size_t)(space - text) - at : size - at;
        if (length)
            status = encode_word(e, text + at, length);
    }
    return status;
}

static tr_status encode(const tr_words *words, const char *text, size_t size, const tr_vocabulary *vocabulary, int unk_id,
                        tr_ids *ids, tr_buffer *spans, tr_error *error)
{
    const moses *const m = (const moses *)words;
    encoding e = {.words = m, .vocabulary = vocabulary, .unk_id = unk_id, .ids = ids, .spans = spans, .error = error};
    tr_rewriting r = {0};
    tr_buffer cut = {0};
    e.finder = (tr_piece_finder){.text = text, .size = size};
    const bool done =
        tr_characters_read(&r.text, text, size) && tr_moses_normalise(&r, m->source) && tr_moses_split(&r, m->source, &cut);
    tr_rewriting_free(&r);
    const tr_status status = done ? encode_words(&e, cut.data, cut.size) : fail_memory(error);
    tr_buffer_free(&cut);
    tr_buffer_free(&e.piece);
    tr_ids_free(&e.ends);
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- decoding */

static bool join_pieces(const tr_piece *pieces, size_t count, tr_buffer *joined)
{
    bool room = true;
    for (size_t i = 0; room && i < count; i++)
        if (pieces[i].data)
            room =
                (!joined->size || tr_buffer_string(joined, " ")) && tr_buffer_append(joined, pieces[i].data, pieces[i].size);
    return room;
}

static void find_spans(const tr_piece *pieces, size_t count, const char *text, size_t size, tr_span *spans)
{
    tr_piece_finder finder = {.text = text, .size = size};
    for (size_t i = 0; i < count; i++)
        spans[i] =
            pieces[i].data ? tr_piece_finder_next(&finder, pieces[i].data, pieces[i].size) : (tr_span){finder.at, finder.at};
}

static tr_status decode(const tr_words *words, const tr_piece *pieces, size_t count, tr_buffer *text, tr_span *spans,
                        tr_error *error)
{
    static const tr_rule joints[] = {{NULL, joint, NULL, ""}};
    const moses *const m = (const moses *)words;
    const size_t start = text->size;
    tr_rewriting r = {0};
    tr_buffer joined = {0};
    const bool done = join_pieces(pieces, count, &joined) && tr_characters_read(&r.text, joined.data, joined.size) &&
                      tr_rewrite(&r, joints, 1) && tr_moses_join(&r, m->target) &&
                      tr_characters_write(r.text.data, r.text.size, text);
    tr_rewriting_free(&r);
    tr_buffer_free(&joined);
    if (done && spans)
        find_spans(pieces, count, text->data ? text->data + start : "", text->size - start, spans);
    return done ? TR_OK : fail_memory(error);
}

/* -------------------------------------------------------------------------------------------------------------- creation */

static void destroy(tr_words *words)
{
    tr_bpe_destroy(((moses *)words)->bpe);
    free(words);
}

tr_status tr_words_create(tr_bytes codes, const char *source, const char *target, tr_words **words, tr_error *error)
{
    *words = NULL;
    moses *const m = calloc(1, sizeof *m);
    if (!m)
        return fail_memory(error);
    m->words = (tr_words){destroy, encode, decode};
    copy_language(source, m->source);
    copy_language(target, m->target);
    const tr_status status = tr_bpe_create(codes.data, codes.size, &m->bpe, error);
    if (status == TR_OK)
        *words = &m->words;
    else
        free(m);
    return status;
}
