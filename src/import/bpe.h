/* Byte-pair encoding as in subword-nmt (Sennrich, Haddow and Birch 2016): a word is split into characters, and adjacent
 * pairs are merged in the order of a file of codes. */
#ifndef TR_IMPORT_BPE_H
#define TR_IMPORT_BPE_H

#include "util/buffer.h"
#include "util/error.h"

typedef struct tr_bpe tr_bpe; /* immutable, shared by threads */

/* Reads a file of codes, version 0.1 or 0.2: an optional first line "#version: 0.2", then two symbols on each line; a symbol
 * that ends a word ends in "</w>". codes need not outlive the call. TR_ERROR_FORMAT: a line is invalid, or there are no
 * codes; TR_ERROR_UNSUPPORTED: another version. */
tr_status tr_bpe_create(const char *codes, size_t size, tr_bpe **bpe, tr_error *error);
/* Checks whether tr_bpe_create would accept the codes. */
tr_status tr_bpe_check(const char *codes, size_t size, tr_error *error);
void tr_bpe_destroy(tr_bpe *bpe); /* NULL is allowed */

/* Appends the end offsets of the pieces of a word; the last is size. The word is valid UTF-8 and not empty. False: out of
 * memory. Time is O(n log n) for n characters. */
bool tr_bpe_cut(const tr_bpe *bpe, const char *word, size_t size, tr_ids *ends);

#endif
