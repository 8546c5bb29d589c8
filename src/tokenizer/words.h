/* The tokenizer of models that know words as Moses cuts them, and not SentencePiece: each word becomes pieces, all but the
 * last of which end in "@@". What Argos Translate does with bpe.model. */
#ifndef TR_TOKENIZER_WORDS_H
#define TR_TOKENIZER_WORDS_H

#include "util/buffer.h"
#include "util/error.h"

typedef struct tr_words tr_words; /* immutable, shared by threads */

/* One piece of a text: its bytes, valid during the call. Returning false ends the cutting with TR_ERROR_CANCELLED and leaves
 * the error's text to take. */
typedef bool tr_words_take(void *argument, const char *piece, size_t size);

/* codes: a file for tr_bpe_create. source, target: the languages' codes, "" where unknown. Nothing need outlive the call. */
tr_status tr_words_create(const char *codes, size_t size, const char *source, const char *target, tr_words **words,
                          tr_error *error);
void tr_words_destroy(tr_words *words); /* NULL is allowed */

/* Hands the pieces of text, which is valid UTF-8 without NUL, to take, in order. */
tr_status tr_words_encode(const tr_words *words, const char *text, size_t size, tr_words_take *take, void *argument,
                          tr_error *error);

/* Appends the text that pieces, with a space between two, stand for. */
tr_status tr_words_decode(const tr_words *words, const char *pieces, size_t size, tr_buffer *text, tr_error *error);

#endif
