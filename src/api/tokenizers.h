/* The tokenizers of a package's two sides. */
#ifndef TR_API_TOKENIZERS_H
#define TR_API_TOKENIZERS_H

#include "formats/package.h"
#include "tokenizer/tokenizer.h"

/* From texts to source ids and from target ids to texts; NULL in *tokenizer: the package takes tokens only. It points into
 * the package. */
tr_status tr_source_tokenizer(const tr_package *package, tr_tokenizer **tokenizer, tr_error *error);

/* From texts to target ids: what the network would have to say. It decodes these, too. NULL as well where words are cut by
 * BPE codes, which are the source's. */
tr_status tr_target_tokenizer(const tr_package *package, tr_tokenizer **tokenizer, tr_error *error);

#endif
