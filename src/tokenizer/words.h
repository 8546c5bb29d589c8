/* What takes SentencePiece's place in models that were trained on words (formats/import.h makes it). */
#ifndef TR_TOKENIZER_WORDS_H
#define TR_TOKENIZER_WORDS_H

#include "tokenizer/vocabulary.h"
#include "util/buffer.h"

typedef struct tr_words tr_words; /* immutable, shared by threads */

struct tr_words {
    void (*destroy)(tr_words *words);
    /* Cuts text, valid UTF-8 without NUL, into pieces. Arguments and errors are those of tr_sentencepiece_encode. A piece
     * that the text does not show as it is has an empty span. */
    tr_status (*encode)(const tr_words *words, const char *text, size_t size, const tr_vocabulary *vocabulary, int unk_id,
                        tr_ids *ids, tr_buffer *spans, tr_error *error);
    /* Appends the text of pieces; those without data have none. Unless spans [count] is NULL, sets the bytes of each piece
     * in the appended text. */
    tr_status (*decode)(const tr_words *words, const tr_piece *pieces, size_t count, tr_buffer *text, tr_span *spans,
                        tr_error *error);
};

#endif
