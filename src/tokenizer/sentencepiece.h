/* SentencePiece behind a C interface. No C++ exception leaves it. */
#ifndef TR_TOKENIZER_SENTENCEPIECE_H
#define TR_TOKENIZER_SENTENCEPIECE_H

#include "util/error.h"

typedef struct tr_sentencepiece tr_sentencepiece; /* immutable, shared by threads */

/* One piece of a text: its bytes, valid during the call, and the bytes [begin, end) of the text that it stands for.
 * Returning false stops the encoding with TR_ERROR_CANCELLED and leaves the error's text to take. */
typedef bool tr_sentencepiece_take(void *argument, const char *piece, size_t size, size_t begin, size_t end);

/* Loads a model that tr_spm_check accepted; data need not outlive the call. */
tr_status tr_sentencepiece_create(const void *data, size_t size, tr_sentencepiece **model, tr_error *error);
void tr_sentencepiece_destroy(tr_sentencepiece *model); /* NULL is allowed */

/* Hands the pieces of text to take, in order. */
tr_status tr_sentencepiece_encode(const tr_sentencepiece *model, const char *text, size_t size, tr_sentencepiece_take *take,
                                  void *argument, tr_error *error);

#endif
