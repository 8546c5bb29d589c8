/* Abbreviations, whose full stop belongs to them wherever they stand: "Dr", "z.B". A language without a list of its own has
 * that of English. Lists are shorter than sacremoses's: a rare abbreviation only these have loses its full stop here. */
#ifndef TR_TOKENIZER_PREFIXES_H
#define TR_TOKENIZER_PREFIXES_H

#include <stddef.h>
#include <stdint.h>

typedef enum tr_prefix_kind {
    TR_PREFIX_NONE,
    TR_PREFIX_NUMBER, /* an abbreviation if a number follows: No. 5 */
    TR_PREFIX_ANY,
} tr_prefix_kind;

/* word: characters, without the full stop. */
tr_prefix_kind tr_prefix_kind_of(const char *language, const int32_t *word, size_t size);

#endif
