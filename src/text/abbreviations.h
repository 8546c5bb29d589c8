/* English words whose full stop may not end a sentence. */
#ifndef TR_TEXT_ABBREVIATIONS_H
#define TR_TEXT_ABBREVIATIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum tr_abbreviation {
    TR_ABBREVIATION_NONE,
    TR_ABBREVIATION_INNER,  /* something always follows: Mr. e.g. vs. */
    TR_ABBREVIATION_NUMBER, /* one if a number follows: No. 5, p. 12 */
    TR_ABBREVIATION_EITHER, /* may stand at the end: etc. Inc. p.m. Jan. */
} tr_abbreviation;

/* word: ASCII, without its last full stop ("Mr", "e.g"). */
tr_abbreviation tr_abbreviation_kind(const char *word, size_t size);

/* True for words that seldom follow an abbreviation inside a sentence, and often start one: The, He, However. */
bool tr_is_sentence_starter(const char *word, size_t size);

#endif
