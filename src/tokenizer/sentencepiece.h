/* SentencePiece through a C interface. No C++ exception leaves it. */
#ifndef TR_TOKENIZER_SENTENCEPIECE_H
#define TR_TOKENIZER_SENTENCEPIECE_H

#include "tokenizer/vocabulary.h"

typedef struct tr_sentencepiece tr_sentencepiece; /* immutable, shared by threads */

/* Loads a model that tr_spm_check accepted; data need not outlive the call. */
tr_status tr_sentencepiece_create(const void *data, size_t size, tr_sentencepiece **model, tr_error *error) TR_CHECKED;
void tr_sentencepiece_destroy(tr_sentencepiece *model); /* NULL is allowed */

/* Appends text as it is cut into pieces: after the model's normalisation. */
tr_status tr_sentencepiece_normalise(const tr_sentencepiece *model, const char *text, size_t size, tr_buffer *normalised,
                                     tr_error *error) TR_CHECKED;

/* Cuts text into pieces and appends their ids in vocabulary to ids, unk_id for a piece that is not in it. Unless spans is
 * NULL, appends for each id the tr_span of the bytes in text that the piece stands for. TR_ERROR_FORMAT: a piece is not in
 * the vocabulary and unk_id is -1. On failure both may have grown. */
tr_status tr_sentencepiece_encode(const tr_sentencepiece *model, const char *text, size_t size,
                                  const tr_vocabulary *vocabulary, int unk_id, tr_ids *ids, tr_buffer *spans,
                                  tr_error *error) TR_CHECKED;

#endif
