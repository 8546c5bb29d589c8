/* A vocabulary, which maps ids to pieces and back, and the language tokens in it. */
#ifndef TR_TOKENIZER_VOCABULARY_H
#define TR_TOKENIZER_VOCABULARY_H

#include "util/buffer.h"
#include "util/error.h"
#include "util/strmap.h"

typedef struct tr_piece {
    const char *data; /* not NUL-terminated */
    uint32_t size;
} tr_piece;

/* Immutable once built, so threads may share it. */
typedef struct tr_vocabulary {
    tr_piece *pieces; /* [size] by id; owned. data is NULL for an id without a piece, which decodes to nothing */
    size_t size;
    char *text; /* memory that pieces point into, if the vocabulary owns it (else NULL: a mapped file) */
    tr_strmap index;
} tr_vocabulary;

/* Takes ownership of pieces and text (both from malloc, text may be NULL) and builds the index. TR_ERROR_FORMAT: two ids
 * have the same piece, or a piece is not valid UTF-8 or holds a NUL. On failure everything is freed. */
tr_status tr_vocabulary_init(tr_vocabulary *vocabulary, tr_piece *pieces, size_t size, char *text,
                             tr_error *error) TR_CHECKED;
void tr_vocabulary_free(tr_vocabulary *vocabulary);

int32_t tr_vocabulary_find(const tr_vocabulary *vocabulary, const char *piece, size_t size); /* -1 if absent */
size_t tr_vocabulary_longest(const tr_vocabulary *vocabulary); /* bytes of the longest piece; looks at all of them */
/* The id in `to` of a piece of `from`; -1: `to` does not have it, or id is -1. */
int32_t tr_vocabulary_same(const tr_vocabulary *from, int32_t id, const tr_vocabulary *to);

/* Appends the id of a piece to ids, or unk_id if the vocabulary does not have the piece. TR_ERROR_FORMAT: unk_id is -1. */
tr_status tr_vocabulary_append_id(const tr_vocabulary *vocabulary, const char *piece, size_t size, int unk_id, tr_ids *ids,
                                  tr_error *error) TR_CHECKED;

/* ------------------------------------------------------------------------------------------------------ language tokens */

enum { TR_LANGUAGE = 16, TR_MAX_LANGUAGES = 4096 }; /* bytes of a code with its NUL; languages of a model */

/* Where a language's token goes. */
typedef enum tr_language_place {
    TR_LANGUAGE_NOWHERE,
    TR_LANGUAGE_SOURCE_FIRST, /* before the source. M2M100, NLLB, mBART-50: the source's language; Marian (>>fra<<),
                                 MADLAD-400 (<2fr>), SMaLL-100: the target's */
    TR_LANGUAGE_SOURCE_LAST,  /* after the source's EOS: mBART, PLBART, NLLB as fairseq trained it */
    TR_LANGUAGE_TARGET_START, /* the decoder's first input: mBART, PLBART */
    TR_LANGUAGE_TARGET_FIRST, /* the first token that the decoder yields: M2M100, NLLB, mBART-50 */
} tr_language_place;

typedef struct tr_language {
    char code[TR_LANGUAGE]; /* as the model spells it: "zho_Hans", "zh_CN", "fra" */
    int32_t id;             /* in the source vocabulary; in the target vocabulary for the two target places */
} tr_language;

/* The languages of a model that has several, the token of each, and where it goes. A zeroed struct has none. */
typedef struct tr_languages {
    tr_language *items; /* [count], owned */
    size_t count;
    tr_language_place source, target; /* place of the source language's and of the target language's token */
} tr_languages;

/* Adds a language, unless it is present or the size of its code is not 1 to TR_LANGUAGE - 1. TR_ERROR_FORMAT: there are more
 * than TR_MAX_LANGUAGES. */
tr_status tr_languages_add(tr_languages *languages, const char *code, size_t size, int32_t id, tr_error *error) TR_CHECKED;
void tr_languages_free(tr_languages *languages);

/* Points *code at the language in a token and returns its size: "fra" of ">>fra<<", "fr" of "__fr__" and "<2fr>", all of
 * "fra_Latn" and "fr_XX". Returns 0 for any other token. */
size_t tr_language_of_token(const char *token, size_t size, const char **code);

/* Adds the target language of a token that stands before a source, if the token begins with open and names a language. */
tr_status tr_languages_add_target(tr_languages *languages, const char *open, const char *token, size_t size, int32_t id,
                                  tr_error *error) TR_CHECKED;
/* Calls tr_languages_add_target for all pieces of a vocabulary. */
tr_status tr_languages_collect(const tr_vocabulary *vocabulary, const char *open, tr_languages *languages,
                               tr_error *error) TR_CHECKED;

/* Returns the index of the language that matches wanted best (tokenizer/language_codes.h), or -1. */
int tr_languages_find(const tr_languages *languages, const char *wanted);

/* Returns the index of the language whose token text begins with, and sets *length to the token's bytes. -1: none. */
int tr_languages_typed(const tr_languages *languages, const tr_vocabulary *vocabulary, const char *text, size_t size,
                       size_t *length);

/* "source-first"; NULL for TR_LANGUAGE_NOWHERE. */
const char *tr_language_place_name(tr_language_place place);
bool tr_language_place_parse(const char *name, tr_language_place *place);

#endif
