/* Character classes of Moses' tokenizers in the version of sacremoses, computed from Unicode's properties, which
 * libunistring knows. Models were trained on texts cut by sacremoses's lists, so their limits are reproduced: they are of
 * about Unicode 7, and contain neither characters from U+10000 on nor, as letters, Chinese characters and Hangul syllables.
 * Negative numbers are in no class. */
#ifndef TR_IMPORT_LETTERS_H
#define TR_IMPORT_LETTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/utf8.h"

bool tr_is_decimal(int32_t c);        /* \d: a decimal digit of any script */
bool tr_is_digit(int32_t c);          /* 0 to 9 */
bool tr_is_number(int32_t c);         /* digits, fractions, Roman numerals ... */
bool tr_is_letter(int32_t c);         /* letters and the marks that belong to them */
bool tr_is_letter_or_sign(int32_t c); /* letters, and viramas and nuktas, which join letters of Indic scripts */
bool tr_is_word_character(int32_t c); /* letters, signs and decimal digits */
bool tr_is_lowercase(int32_t c);
bool tr_is_currency(int32_t c);

/* Characters that are written without spaces: Han, kana, Hangul, Yi, and their punctuation. */
bool tr_is_east_asian(int32_t c);

/* Characters that sacremoses treats as letters only in texts of their language. */
bool tr_is_han(int32_t c);
bool tr_is_hangul(int32_t c);
bool tr_is_japanese(int32_t c);

#endif
