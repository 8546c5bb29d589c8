/* Checks a SentencePiece model file (a protobuf, sentencepiece_model.proto) before the library sees it: its own loader
 * reads out of bounds or aborts on some hostile files (google/sentencepiece issues 1263, 1269). */
#ifndef TR_TOKENIZER_SPM_CHECK_H
#define TR_TOKENIZER_SPM_CHECK_H

#include "util/error.h"

enum {
    TR_SPM_MAX_PIECE = 1024, /* bytes; the loader recurses once a byte */
};

/* Checks wire format, piece count and lengths, UTF-8, finite scores, piece types, one unknown piece, all byte pieces or
 * none, model type, nesting of user-defined pieces, and the normalisation rules (precompiled_charsmap: trie and text inside
 * its bounds). That pieces are unique is left to the loader, which has to build an index of them anyway and reports it
 * properly. TR_ERROR_FORMAT says what is wrong. */
tr_status tr_spm_check(const void *data, size_t size, tr_error *error);

/* Finds the self test, with its tag, in a file that passed the check; *length is 0 if there is none. The loader runs it and
 * prints failures to stderr, so it is removed before loading. */
void tr_spm_self_test(const void *data, size_t size, size_t *offset, size_t *length);

/* Calls take with the pieces of a file that passed the check, in order, until it returns false. Returns false if it did. */
typedef bool tr_spm_take(void *argument, const char *piece, size_t size);
bool tr_spm_pieces(const void *data, size_t size, tr_spm_take *take, void *argument);

#endif
