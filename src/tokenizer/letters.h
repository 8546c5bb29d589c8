/* Classes of characters as the tokenizers of Moses have them, in the edition of sacremoses. Its lists were made with a
 * Unicode of about version 7 and know neither what lies beyond the first 65,536 characters nor Chinese characters and Hangul
 * syllables as letters. Models have learned from texts that were cut by them, so they are reproduced here, from ICU's
 * properties. Negative numbers, which stand for no character, are in no class. */
#ifndef TR_TOKENIZER_LETTERS_H
#define TR_TOKENIZER_LETTERS_H

#include <stdbool.h>
#include <stdint.h>

bool tr_is_white(int32_t c);          /* what Python takes for white space: str.split(), \s */
bool tr_is_decimal(int32_t c);        /* \d: a decimal digit of any script */
bool tr_is_digit(int32_t c);          /* 0 to 9 */
bool tr_is_number(int32_t c);         /* digits, fractions, Roman numerals ... */
bool tr_is_letter(int32_t c);         /* letters and the marks that belong to them */
bool tr_is_letter_or_sign(int32_t c); /* viramas and nuktas, too, which join letters of Indian scripts */
bool tr_is_word_character(int32_t c); /* and decimal digits, too */
bool tr_is_lowercase(int32_t c);
bool tr_is_currency(int32_t c);

/* Characters that no space stands between: Han, kana, Hangul, Yi, their punctuation. */
bool tr_is_east_asian(int32_t c);

/* Characters that sacremoses takes for letters in texts of one language alone. */
bool tr_is_han(int32_t c);
bool tr_is_hangul(int32_t c);
bool tr_is_japanese(int32_t c);

#endif
