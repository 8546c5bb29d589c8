#define _GNU_SOURCE
#include "tokenizer/spm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/sentencepiece.h"
#include "tokenizer/spm_check.h"
#include "tokenizer/spm_fields.h"

enum {
    SMALL_TEXT = 512,    /* bytes of a text that is encoded with its own pieces */
    SMALL_TEXTS = 8,     /* number of them: by then, loading the whole model costs no more */
    NORMALISED = 4096,   /* bytes of such a text after normalisation */
    MOST_SPECIAL = 4096, /* pieces that each small model has; with more, it takes long to load, too */
};

struct tr_spm {
    _Atomic(tr_sentencepiece *) whole; /* NULL until it is loaded */
    pthread_mutex_t mutex;             /* for the rest, which is empty when the whole is there */
    tr_buffer file;                    /* all pieces and settings */
    tr_buffer common;                  /* those that every text needs */
    size_t special;                    /* number of other pieces, all of which common has */
    size_t lowest, highest;            /* numbers among the ordinary pieces: those that common has */
    tr_sentencepiece *normaliser;      /* common, loaded */
    int encoded;                       /* number of texts, one that is shared among them */
    tr_sentencepiece *shared;          /* the pieces of a text, parts of which are encoded; NULL: none */
    tr_buffer shared_text;             /* that text, normalised */
};

/* ------------------------------------------------------------------------------------------------------ parts of a model */

static bool is_ordinary(const tr_spm_field *field)
{
    return field->number == TR_SPM_MODEL_PIECE && field->type == TR_SPM_TYPE_NORMAL;
}

/* Why a part of the pieces gives the same result: every model looks up substrings of the normalised text alone. Unigram
 * takes the best path of pieces that occur; BPE merges two pieces into one that occurs, by scores, then from left to right;
 * the others cut characters or words and look each up. Numbers of pieces decide nothing. */

/* Copies the file without its self test, which the loader would run, and whose failures it would print to stderr. Selects
 * the fields that are no ordinary pieces, and the ordinary pieces of the lowest and the highest score: SentencePiece derives
 * the scores of unknown characters and of user-defined pieces from these. */
static bool copy_file(tr_spm *spm, const char *data, size_t size)
{
    tr_spm_field field, lowest = {0}, highest = {0};
    size_t copied = 0, ordinary = 0;
    bool room = tr_buffer_reserve(&spm->file, size);
    for (size_t at = 0; room && tr_spm_next(data, size, &at, &field);) {
        if (is_ordinary(&field)) {
            if (!lowest.data || field.score < lowest.score)
                lowest = field, spm->lowest = ordinary;
            if (!highest.data || field.score > highest.score)
                highest = field, spm->highest = ordinary;
            ordinary++;
        } else if (field.number == TR_SPM_MODEL_SELF_TEST) {
            room = tr_buffer_append(&spm->file, data + copied, (size_t)(field.data - data) - copied);
            copied = at;
        } else {
            spm->special += field.number == TR_SPM_MODEL_PIECE;
            room = tr_buffer_append(&spm->common, field.data, field.size);
        }
    }
    return room && tr_buffer_append(&spm->file, data + copied, size - copied) &&
           (!ordinary || tr_buffer_append(&spm->common, lowest.data, lowest.size)) &&
           (highest.data == lowest.data || tr_buffer_append(&spm->common, highest.data, highest.size));
}

/* The beginnings, of one to four bytes, of all parts of a text, as a set that may have more. */
typedef struct beginnings {
    uint64_t bits[1 << 10];
} beginnings;

enum { BEGINNING = 4 };

static uint32_t hash_beginning(const char *text, size_t size)
{
    uint32_t bytes = 0;
    memcpy(&bytes, text, size < BEGINNING ? size : BEGINNING); /* no text has a NUL */
    return bytes * 2654435761u >> 16;
}

static void set_beginnings(beginnings *b, const char *text, size_t size)
{
    memset(b, 0, sizeof *b);
    for (size_t i = 0; i < size; i++)
        for (size_t length = 1; length <= BEGINNING && i + length <= size; length++) {
            const uint32_t hash = hash_beginning(text + i, length);
            b->bits[hash / 64] |= UINT64_C(1) << hash % 64;
        }
}

static bool occurs(const beginnings *b, const char *text, size_t size, const tr_spm_field *piece)
{
    const uint32_t hash = hash_beginning(piece->text, piece->text_size);
    return b->bits[hash / 64] >> hash % 64 & 1 && memmem(text, size, piece->text, piece->text_size);
}

/* Appends to model the common fields and the ordinary pieces that occur in a normalised text. */
static bool select_pieces(const tr_spm *spm, const char *text, size_t size, tr_buffer *model)
{
    beginnings b;
    tr_spm_field field;
    set_beginnings(&b, text, size);
    size_t ordinary = 0;
    bool room = tr_buffer_append(model, spm->common.data, spm->common.size);
    for (size_t at = 0; room && tr_spm_next(spm->file.data, spm->file.size, &at, &field);) {
        if (!is_ordinary(&field))
            continue;
        if (ordinary != spm->lowest && ordinary != spm->highest && occurs(&b, text, size, &field))
            room = tr_buffer_append(model, field.data, field.size);
        ordinary++;
    }
    return room;
}

/* ------------------------------------------------------------------------------------------------------------- the whole */

static void free_parts(tr_spm *spm)
{
    tr_buffer_free(&spm->file);
    tr_buffer_free(&spm->common);
    tr_sentencepiece_destroy(spm->normaliser);
    tr_sentencepiece_destroy(spm->shared);
    tr_buffer_free(&spm->shared_text);
    spm->normaliser = spm->shared = NULL;
}

/* With the mutex held. */
static tr_status load_whole(tr_spm *spm, tr_error *error)
{
    tr_sentencepiece *whole;
    const tr_status status = tr_sentencepiece_create(spm->file.data, spm->file.size, &whole, error);
    if (status != TR_OK)
        return status;
    free_parts(spm);
    atomic_store_explicit(&spm->whole, whole, memory_order_release);
    return TR_OK;
}

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "SentencePiece model: out of memory");
}

tr_status tr_spm_create(const void *data, size_t size, tr_spm **spm, tr_error *error)
{
    *spm = NULL;
    tr_status status = tr_spm_check(data, size, error);
    if (status != TR_OK)
        return status;
    tr_spm *const s = calloc(1, sizeof *s);
    if (!s)
        return out_of_memory(error);
    pthread_mutex_init(&s->mutex, NULL);
    if (!copy_file(s, data, size))
        status = out_of_memory(error);
    else if (s->special > MOST_SPECIAL)
        status = load_whole(s, error);
    else
        status = tr_sentencepiece_create(s->common.data, s->common.size, &s->normaliser, error);
    if (status == TR_OK)
        *spm = s;
    else
        tr_spm_destroy(s);
    return status;
}

void tr_spm_destroy(tr_spm *spm)
{
    if (!spm)
        return;
    free_parts(spm);
    tr_sentencepiece_destroy(atomic_load(&spm->whole));
    pthread_mutex_destroy(&spm->mutex);
    free(spm);
}

/* -------------------------------------------------------------------------------------------------------------- encoding */

/* Whether the shared model has all pieces of a normalised text. */
static bool is_shared(const tr_spm *spm, const tr_buffer *text)
{
    return spm->shared && text->size && memmem(spm->shared_text.data, spm->shared_text.size, text->data, text->size);
}

/* Encodes a text with its own pieces. False: it is to be encoded with the whole model, which also tells what is wrong. With
 * the mutex held. */
static bool encode_small(tr_spm *spm, const char *text, size_t size, const tr_vocabulary *vocabulary, int unk_id,
                         tr_ids *ids, tr_buffer *spans)
{
    const size_t id_count = ids->size, span_bytes = spans ? spans->size : 0;
    tr_buffer normalised = {0}, file = {0};
    tr_sentencepiece *model = NULL;
    bool done =
        tr_sentencepiece_normalise(spm->normaliser, text, size, &normalised, NULL) == TR_OK && normalised.size <= NORMALISED;
    const bool shared = done && is_shared(spm, &normalised);
    done = done && (shared || (spm->encoded < SMALL_TEXTS && select_pieces(spm, normalised.data, normalised.size, &file) &&
                               tr_sentencepiece_create(file.data, file.size, &model, NULL) == TR_OK));
    done = done &&
           tr_sentencepiece_encode(shared ? spm->shared : model, text, size, vocabulary, unk_id, ids, spans, NULL) == TR_OK;
    tr_sentencepiece_destroy(model);
    tr_buffer_free(&normalised);
    tr_buffer_free(&file);
    spm->encoded += !shared;
    if (!done) {
        ids->size = id_count;
        if (spans)
            spans->size = span_bytes;
    }
    return done;
}

bool tr_spm_is_whole(tr_spm *spm)
{
    return atomic_load_explicit(&spm->whole, memory_order_acquire);
}

tr_status tr_spm_expect(tr_spm *spm, size_t bytes, tr_error *error)
{
    if (bytes <= SMALL_TEXT || tr_spm_is_whole(spm))
        return TR_OK;
    pthread_mutex_lock(&spm->mutex);
    const tr_status status = tr_spm_is_whole(spm) ? TR_OK : load_whole(spm, error);
    pthread_mutex_unlock(&spm->mutex);
    return status;
}

void tr_spm_share(tr_spm *spm, const char *text, size_t size)
{
    tr_buffer normalised = {0}, file = {0};
    tr_sentencepiece *model = NULL;
    pthread_mutex_lock(&spm->mutex);
    if (!tr_spm_is_whole(spm) && spm->encoded++ < SMALL_TEXTS && size <= NORMALISED &&
        tr_sentencepiece_normalise(spm->normaliser, text, size, &normalised, NULL) == TR_OK &&
        select_pieces(spm, normalised.data, normalised.size, &file) &&
        tr_sentencepiece_create(file.data, file.size, &model, NULL) == TR_OK) {
        tr_sentencepiece_destroy(spm->shared);
        tr_buffer_free(&spm->shared_text);
        spm->shared = model;
        spm->shared_text = normalised;
        normalised = (tr_buffer){0};
    }
    pthread_mutex_unlock(&spm->mutex);
    tr_buffer_free(&normalised);
    tr_buffer_free(&file);
}

tr_status tr_spm_encode(tr_spm *spm, const char *text, size_t size, const tr_vocabulary *vocabulary, int unk_id, tr_ids *ids,
                        tr_buffer *spans, tr_error *error)
{
    tr_status status = TR_OK;
    if (!tr_spm_is_whole(spm)) {
        bool small = false;
        pthread_mutex_lock(&spm->mutex);
        if (!tr_spm_is_whole(spm)) {
            small = size <= SMALL_TEXT && (spm->shared || spm->encoded < SMALL_TEXTS) &&
                    encode_small(spm, text, size, vocabulary, unk_id, ids, spans);
            if (!small)
                status = load_whole(spm, error);
        }
        pthread_mutex_unlock(&spm->mutex);
        if (small || status != TR_OK)
            return status;
    }
    return tr_sentencepiece_encode(atomic_load_explicit(&spm->whole, memory_order_acquire), text, size, vocabulary, unk_id,
                                   ids, spans, error);
}
