/* Where in a text the pieces of its words are (tokenizer/words.h), one after the other. */
#ifndef TR_TOKENIZER_PLACES_H
#define TR_TOKENIZER_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include <translate/translate.h>

typedef struct tr_places {
    const char *text; /* [size] valid UTF-8 */
    size_t size;
    size_t at;   /* what lies behind the last piece that was found */
    bool inside; /* the next piece goes on with a word */
} tr_places;

/* The bytes of the next piece, without the white space in front. Empty where the text does not show it as it is (Moses has
 * plain quotes for typographic ones); words behind such a one are found again. */
tr_span tr_places_next(tr_places *places, const char *piece, size_t size);

#endif
