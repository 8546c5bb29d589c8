/* Abbreviations that keep their full stop, Moses' "nonbreaking prefixes": "Dr", "z.B". A language without a list uses that
 * of English. The lists are shorter than sacremoses's, so a few rare abbreviations lose their full stop. */
#ifndef TR_IMPORT_PREFIXES_H
#define TR_IMPORT_PREFIXES_H

#include <stddef.h>
#include <stdint.h>

typedef enum tr_prefix_kind {
    TR_PREFIX_NONE,
    TR_PREFIX_NUMBER, /* an abbreviation if a number follows: No. 5 */
    TR_PREFIX_ANY,
} tr_prefix_kind;

/* word [size]: code points, without the full stop. */
tr_prefix_kind tr_prefix_kind_of(const char *language, const int32_t *word, size_t size);

#endif
