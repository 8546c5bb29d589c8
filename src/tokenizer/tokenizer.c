#include "tokenizer/inside.h"
#include "tokenizer/letters.h"
#include "tokenizer/places.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/spm_check.h"
#include "tokenizer/words.h"
#include "util/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { PART = 1 << 16 }; /* bytes of text encoded at once */

/* ------------------------------------------------------------------------------------------------------------ creation */

/* Without byte fallback "<0x41>" is ordinary text, so all 256 must be there. */
static bool has_byte_pieces(const tr_vocabulary *vocabulary)
{
    static const char digits[] = "0123456789ABCDEF";
    for (int byte = 0; byte < 256; byte++) {
        const char piece[TR_BYTE_PIECE] = {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
        if (tr_vocabulary_find(vocabulary, piece, TR_BYTE_PIECE) < 0)
            return false;
    }
    return true;
}

/* The id under which the target vocabulary has the source's unknown token. */
static int target_unknown(const tr_tokenizer_parts *parts)
{
    if (parts->unk_id < 0 || parts->source == parts->target)
        return parts->unk_id;
    const tr_piece unknown = parts->source->pieces[parts->unk_id];
    return unknown.data ? tr_vocabulary_find(parts->target, unknown.data, unknown.size) : -1;
}

/* id may be -1. */
static void silence(tr_tokenizer *t, int32_t id)
{
    if (id >= 0 && (size_t)id < t->target->size)
        t->silent[id / 8] |= (unsigned char)(1 << id % 8);
}

static tr_status load_words(const tr_tokenizer_parts *parts, tr_words **words, tr_error *error)
{
    return tr_words_create(parts->source_bpe, parts->source_bpe_size, parts->source_language, parts->target_language, words,
                           error);
}

static tr_status load_spm(const tr_tokenizer_parts *parts, tr_sentencepiece **spm, tr_error *error)
{
    const char *const data = parts->source_spm;
    const size_t size = parts->source_spm_size;
    size_t offset, length;
    tr_status status = tr_spm_check(data, size, error);
    if (status != TR_OK)
        return status;
    tr_spm_self_test(data, size, &offset, &length);
    if (length == 0)
        return tr_sentencepiece_create(data, size, spm, error);
    char *const rest = malloc(size);
    if (!rest)
        return tr_fail(error, TR_ERROR_MEMORY, "SentencePiece model: out of memory");
    memcpy(rest, data, offset);
    memcpy(rest + offset, data + offset + length, size - offset - length);
    status = tr_sentencepiece_create(rest, size - length, spm, error);
    free(rest);
    return status;
}

tr_status tr_tokenizer_create(const tr_tokenizer_parts *parts, tr_tokenizer **tokenizer, tr_error *error)
{
    *tokenizer = NULL;
    if (parts->unk_id < -1 || (parts->unk_id >= 0 && (size_t)parts->unk_id >= parts->source->size))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tokenizer: the unknown token's id %d is not one of %zu", parts->unk_id,
                       parts->source->size);
    tr_tokenizer *const t = calloc(1, sizeof *t + parts->target->size / 8 + 1);
    if (!t)
        return tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
    t->source = parts->source;
    t->target = parts->target;
    t->unk_id = parts->unk_id;
    for (size_t i = 0; i < parts->special_count; i++)
        silence(t, parts->special[i]);
    silence(t, target_unknown(parts));
    t->bytes = has_byte_pieces(parts->target);
    const tr_status status = parts->source_bpe ? load_words(parts, &t->words, error) : load_spm(parts, &t->spm, error);
    if (status != TR_OK) {
        free(t);
        return status;
    }
    *tokenizer = t;
    return TR_OK;
}

void tr_tokenizer_destroy(tr_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    tr_sentencepiece_destroy(tokenizer->spm);
    tr_words_destroy(tokenizer->words);
    free(tokenizer);
}

/* ------------------------------------------------------------------------------------------------------------ encoding */

typedef struct encoding {
    const tr_tokenizer *tokenizer;
    tr_ids *ids;
    tr_buffer *spans; /* of tr_span, one for each id; NULL: nobody asks */
    const char *text; /* all of it */
    size_t size, at;  /* where the part in hand begins */
    tr_places places; /* of words */
    tr_status status;
    tr_error *error;
} encoding;

/* Bytes [begin, end) without the white space in front. */
static bool take_span(encoding *e, size_t begin, size_t end)
{
    size_t length;
    while (begin < end && tr_is_white(tr_utf8_decode(e->text + begin, end - begin, &length)))
        begin += length;
    return !e->spans || tr_buffer_append(e->spans, &(tr_span){begin, end}, sizeof(tr_span));
}

static bool take_piece(void *argument, const char *piece, size_t size)
{
    encoding *const e = argument;
    int32_t id = tr_vocabulary_find(e->tokenizer->source, piece, size);
    if (id < 0)
        id = e->tokenizer->unk_id;
    if (id < 0)
        e->status = tr_fail(e->error, TR_ERROR_FORMAT,
                            "tokenizer: the vocabulary has neither the piece \"%.*s\" nor an "
                            "unknown token",
                            (int)(size < 100 ? size : 100), piece);
    else if (!tr_ids_append(e->ids, &id, 1))
        e->status = tr_fail(e->error, TR_ERROR_MEMORY, "tokenizer: out of memory");
    return e->status == TR_OK;
}

static bool out_of_memory(encoding *e)
{
    e->status = tr_fail(e->error, TR_ERROR_MEMORY, "tokenizer: out of memory");
    return false;
}

static bool take_from_spm(void *argument, const char *piece, size_t size, size_t begin, size_t end)
{
    encoding *const e = argument;
    return take_piece(e, piece, size) && (take_span(e, e->at + begin, e->at + end) || out_of_memory(e));
}

static bool take_from_words(void *argument, const char *piece, size_t size)
{
    encoding *const e = argument;
    const tr_span place = e->spans ? tr_places_next(&e->places, piece, size) : (tr_span){0, 0};
    return take_piece(e, piece, size) && (take_span(e, place.begin, place.end) || out_of_memory(e));
}

/* Bytes of a token ">>lang<<" at the front of text that the vocabulary has, and its id; 0 if there is none. */
static size_t language_token(const tr_vocabulary *vocabulary, const char *text, size_t size, int32_t *id)
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

/* Bytes of the first part of text. The halves left and right of a space encode alike together and apart. */
static size_t part_size(const char *text, size_t size)
{
    if (size <= PART)
        return size;
    for (size_t i = PART; i > PART / 2; i--)
        if (text[i] == ' ' && text[i - 1] != ' ')
            return i;
    size_t cut = PART;
    while (cut > PART / 2 && (text[cut] & 0xc0) == 0x80) /* to the start of a character */
        cut--;
    return cut;
}

static tr_status encode_words(encoding *e, const char *text, size_t size)
{
    e->places = (tr_places){.text = e->text, .size = e->size, .at = e->at};
    const tr_status status = tr_words_encode(e->tokenizer->words, text, size, take_from_words, e, e->error);
    return e->status != TR_OK ? e->status : status;
}

static tr_status encode_text(encoding *e, const char *text, size_t size)
{
    if (e->tokenizer->words)
        return encode_words(e, text, size);
    while (size) {
        const size_t part = part_size(text, size);
        const tr_status status = tr_sentencepiece_encode(e->tokenizer->spm, text, part, take_from_spm, e, e->error);
        if (e->status != TR_OK) /* why take_piece stopped */
            return e->status;
        if (status != TR_OK)
            return status;
        text += part;
        size -= part;
        e->at += part;
    }
    return TR_OK;
}

static tr_status encode_all(encoding *e)
{
    int32_t language;
    const size_t before = e->ids->size, prefix = language_token(e->tokenizer->source, e->text, e->size, &language);
    if (prefix && (!tr_ids_append(e->ids, &language, 1) || !take_span(e, 0, prefix)))
        return (void)out_of_memory(e), e->status;
    e->at = prefix;
    const tr_status status = encode_text(e, e->text + prefix, e->size - prefix);
    if (status != TR_OK)
        e->ids->size = before;
    return status;
}

tr_status tr_tokenizer_encode(const tr_tokenizer *tokenizer, const char *text, size_t size, tr_ids *ids, tr_error *error)
{
    return encode_all(&(encoding){.tokenizer = tokenizer, .ids = ids, .text = text, .size = size, .error = error});
}

/* SentencePiece gives a character's place to the last of its byte pieces: here each of them has it. */
static void share_bytes(const tr_tokenizer *t, const int32_t *ids, tr_span *spans, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        const tr_span *s = &spans[i - 1];
        if (s->begin < s->end && s[-1].begin == s[-1].end && tr_piece_byte(t->source->pieces[ids[i - 1]]) >= 0 &&
            tr_piece_byte(t->source->pieces[ids[i - 2]]) >= 0)
            spans[i - 2] = *s;
    }
}

tr_status tr_tokenizer_encode_spans(const tr_tokenizer *tokenizer, const char *text, size_t size, tr_ids *ids,
                                    tr_span **spans, tr_error *error)
{
    tr_buffer found = {0};
    encoding e = {.tokenizer = tokenizer, .ids = ids, .spans = &found, .text = text, .size = size, .error = error};
    const size_t before = ids->size;
    const tr_status status = tr_buffer_reserve(&found, size) ? encode_all(&e) : ((void)out_of_memory(&e), e.status);
    *spans = status == TR_OK ? (tr_span *)(void *)found.data : NULL;
    if (status != TR_OK)
        tr_buffer_free(&found);
    else if (tokenizer->spm)
        share_bytes(tokenizer, ids->data + before, *spans, ids->size - before);
    return status;
}
