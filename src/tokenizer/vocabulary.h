/* A vocabulary: the pieces of the ids 0..size-1 and the way back. Immutable once built. */
#ifndef TR_TOKENIZER_VOCABULARY_H
#define TR_TOKENIZER_VOCABULARY_H

#include "util/error.h"
#include "util/strmap.h"

typedef struct tr_piece {
    const char *data; /* not NUL-terminated */
    uint32_t size;
} tr_piece;

typedef struct tr_vocabulary {
    tr_piece *pieces; /* [size]; owned */
    size_t size;
    char *text; /* memory that pieces point into, if the vocabulary owns it (else NULL: a mapped file) */
    tr_strmap index;
} tr_vocabulary;

/* Takes ownership of pieces and text (both from malloc, text may be NULL) and builds the index. Ids that have no piece
 * have data NULL: they are found by nothing and decode to nothing. TR_ERROR_FORMAT: a piece that two ids share,
 * or one that is not valid UTF-8 without NUL. On failure everything is freed. */
tr_status tr_vocabulary_init(tr_vocabulary *vocabulary, tr_piece *pieces, size_t size, char *text,
                             tr_error *error) TR_CHECKED;
void tr_vocabulary_free(tr_vocabulary *vocabulary);

int32_t tr_vocabulary_find(const tr_vocabulary *vocabulary, const char *piece, size_t size); /* -1 if absent */

#endif
