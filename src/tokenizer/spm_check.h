/* Checks a SentencePiece model file (a protobuf, sentencepiece_model.proto) before the library sees it: its own loader
 * reads out of bounds or aborts on some hostile files (google/sentencepiece issues 1263, 1269). */
#ifndef TR_TOKENIZER_SPM_CHECK_H
#define TR_TOKENIZER_SPM_CHECK_H

#include "util/error.h"

/* Wire format, piece count and lengths, UTF-8, finite scores, piece types, unique pieces, one unknown piece, model type,
 * and the normalisation rule (precompiled_charsmap: trie and text inside its bounds). TR_ERROR_FORMAT says what is wrong. */
tr_status tr_spm_check(const void *data, size_t size, tr_error *error);

#endif
