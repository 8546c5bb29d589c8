/* Checks a SentencePiece model file (a protobuf, sentencepiece_model.proto) before the library sees it: its own loader
 * reads out of bounds or aborts on some hostile files (google/sentencepiece issues 1263, 1269). */
#ifndef TR_TOKENIZER_SPM_CHECK_H
#define TR_TOKENIZER_SPM_CHECK_H

#include "util/error.h"

enum {
    TR_SPM_MAX_PIECE = 1024, /* bytes; the loader recurses once a byte */
};

/* Checks wire format, piece count and lengths, UTF-8, finite scores, piece types, one unknown piece, all byte pieces or
 * none, that pieces are unique, model type, nesting of user-defined pieces, and the normalisation rules
 * (precompiled_charsmap: trie and text inside its bounds). TR_ERROR_FORMAT says what is wrong. */
tr_status tr_spm_check(const void *data, size_t size, tr_error *error);

/* A field of the file, and what it holds if it is a piece. */
typedef struct tr_spm_field {
    unsigned number;  /* TR_SPM_MODEL_* */
    const char *data; /* the field's bytes, with the tag */
    size_t size;
    const char *text; /* of a piece */
    size_t text_size;
    float score;
    int type; /* TR_SPM_TYPE_* */
} tr_spm_field;

/* Reads the field at *offset of a file that passed the check, and moves *offset behind it. Returns false at the end. */
bool tr_spm_next(const void *data, size_t size, size_t *offset, tr_spm_field *field);

#endif
