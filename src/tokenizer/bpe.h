/* Byte-pair encoding as subword-nmt applies it (Sennrich, Haddow and Birch 2016): a word becomes characters, and pairs of
 * neighbours are merged in the order in which a file of codes lists them. */
#ifndef TR_TOKENIZER_BPE_H
#define TR_TOKENIZER_BPE_H

#include "util/buffer.h"
#include "util/error.h"

typedef struct tr_bpe tr_bpe; /* immutable, shared by threads */

/* Reads a file of codes, version 0.1 or 0.2: a pair of symbols a line, where the one that ends a word ends in "</w>"; before
 * them perhaps "#version: 0.2". codes need not outlive the call. TR_ERROR_FORMAT: a line is none of that, or there is none;
 * TR_ERROR_UNSUPPORTED: another version. */
tr_status tr_bpe_create(const char *codes, size_t size, tr_bpe **bpe, tr_error *error);
/* Whether tr_bpe_create would read them; makes nothing of them. */
tr_status tr_bpe_check(const char *codes, size_t size, tr_error *error);
void tr_bpe_destroy(tr_bpe *bpe); /* NULL is allowed */

/* Appends the ends of the pieces of a word, in bytes: the last is size. The word is valid UTF-8 and not empty. False: out of
 * memory. Takes n log n steps for n characters. */
bool tr_bpe_cut(const tr_bpe *bpe, const char *word, size_t size, tr_ids *ends);

#endif
