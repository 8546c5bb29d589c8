/* Splitting a text into sentences by rules, without a dictionary or a model: Chinese and English marks, with the closing
 * quotes and brackets that belong to them.
 *
 *   。！？       end a sentence whatever follows, unless inside a bracket, before a comma or before 的 and its like
 *   . ! ?        need white space and a plausible start after them; between two Chinese characters they need none
 *   .            does not end a sentence after Mr. e.g. J. 1. and the like
 *   … ...        need white space after them
 *   line breaks  always separate
 *
 * Where rules cannot know, they do not split: the network copes with two sentences better than with half of one. */
#ifndef TR_TEXT_SENTENCES_H
#define TR_TEXT_SENTENCES_H

#include <stdbool.h>
#include <stddef.h>

#include "util/types.h"

/* A text whose sentences are asked for one after the other; text and size are set, the rest is zero. */
typedef struct tr_sentences {
    const char *text; /* valid UTF-8 */
    size_t size;
    size_t at;       /* where the last sentence ended */
    bool quote_open; /* an ASCII " awaits its partner on this line */
} tr_sentences;

/* The next sentence, without white space at its ends; false if there is none. What lies between two sentences is white
 * space or nothing. Linear in the size of the text. */
bool tr_sentences_next(tr_sentences *sentences, tr_span *sentence);

#endif
