/* Checks a SentencePiece normalisation rule (NormalizerSpec.precompiled_charsmap): a double-array trie from byte strings to
 * offsets into a block of NUL-terminated replacements. The library walks it without looking at any bound. */
#ifndef TR_TOKENIZER_CHARSMAP_CHECK_H
#define TR_TOKENIZER_CHARSMAP_CHECK_H

#include "util/error.h"

/* A byte of text never becomes more than this many bytes (a space counts as the three of "▁"). NFKC's longest is 39. */
enum { TR_CHARSMAP_GROWTH = 120 };

tr_status tr_charsmap_check(const unsigned char *charsmap, size_t size, tr_error *error);

#endif
