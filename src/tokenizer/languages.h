/* The languages of a model that has several: which token stands for each, and where it goes. */
#ifndef TR_TOKENIZER_LANGUAGES_H
#define TR_TOKENIZER_LANGUAGES_H

#include <stddef.h>

#include "tokenizer/vocabulary.h"

enum { TR_LANGUAGE = 16, TR_MAX_LANGUAGES = 4096 }; /* bytes of a code with its NUL; languages of a model */

typedef enum tr_language_place {
    TR_LANGUAGE_NOWHERE,
    TR_LANGUAGE_SOURCE_FIRST, /* before the source: M2M100, NLLB, mBART-50 the source's; Marian (>>fra<<), MADLAD-400
                                 (<2fr>), SMaLL-100 the target's */
    TR_LANGUAGE_SOURCE_LAST,  /* behind the source's end mark: mBART, PLBART, NLLB as fairseq trained it */
    TR_LANGUAGE_TARGET_START, /* the decoder's first input: mBART, PLBART */
    TR_LANGUAGE_TARGET_FIRST, /* the first token that the decoder yields: M2M100, NLLB, mBART-50 */
} tr_language_place;

typedef struct tr_language {
    char code[TR_LANGUAGE]; /* as the model has it: "zho_Hans", "zh_CN", "fra" */
    int32_t id;             /* of the source vocabulary, or, in the two target places, of the target's */
} tr_language;

/* A zeroed struct: none. */
typedef struct tr_languages {
    tr_language *items; /* [count], owned */
    size_t count;
    tr_language_place source, target; /* where the token of the source's and of the target's language goes */
} tr_languages;

/* Adds a language. One whose code has another size than 1 .. TR_LANGUAGE - 1 is left out, and so is one that is there.
 * TR_ERROR_FORMAT: there are too many. */
tr_status tr_languages_add(tr_languages *languages, const char *code, size_t size, int32_t id, tr_error *error) TR_CHECKED;
void tr_languages_free(tr_languages *languages);

/* The language in a token: "fra" of ">>fra<<", "fr" of "__fr__" and "<2fr>", "fra_Latn" and "fr_XX" themselves; its size, 0
 * if it is none. */
size_t tr_language_of_token(const char *token, size_t size, const char **code);

/* Adds the target's language that a token in front of a source stands for, if the token begins with open and is one. */
tr_status tr_languages_add_target(tr_languages *languages, const char *open, const char *token, size_t size, int32_t id,
                                  tr_error *error) TR_CHECKED;
/* The same of all pieces. */
tr_status tr_languages_collect(const tr_vocabulary *vocabulary, const char *open, tr_languages *languages,
                               tr_error *error) TR_CHECKED;

/* The index of the language that serves wanted best (tokenizer/language_codes.h), -1: none does. */
int tr_languages_find(const tr_languages *languages, const char *wanted);

/* The index of the language whose token a text begins with, and the token's bytes; -1: it begins otherwise. */
int tr_languages_typed(const tr_languages *languages, const tr_vocabulary *vocabulary, const char *text, size_t size,
                       size_t *length);

/* "source-first"; NULL where it is nowhere. */
const char *tr_language_place_name(tr_language_place place);
bool tr_language_place_parse(const char *name, tr_language_place *place);

#endif
