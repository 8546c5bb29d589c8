#ifndef TR_FORMATS_PEEK_TOKENS_H
#define TR_FORMATS_PEEK_TOKENS_H

#include "formats/directory.h"

/* Adds the languages whose tokens, such as ">>fra<<" and "<2fr>", are found by their spelling among the bytes of one of the
 * directory's files: a SentencePiece model, or a list of tokens in JSON or YAML. */
tr_status tr_peek_tokens(const tr_directory *d, const char *file, const char *open, const char *close) TR_CHECKED;

#endif
