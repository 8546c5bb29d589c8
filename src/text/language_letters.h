/* The letters of languages: those of their scripts. Beside tokenizer/allowed.h, which asks the same of vocabularies, since a
 * text's script decides whether it is translated at all, and since opening ICU's data on languages takes as long as a short
 * translation. */
#ifndef TR_TEXT_LANGUAGE_LETTERS_H
#define TR_TEXT_LANGUAGE_LETTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TR_LETTER_SCRIPTS = 4 }; /* of a language: Japanese has three */

/* A zeroed struct stands for a language whose script is not known: every letter is its own. */
typedef struct tr_letters {
    int codes[TR_LETTER_SCRIPTS]; /* [count] numbers of scripts in ICU */
    int count;
} tr_letters;

/* The scripts of a language: "zh", "zho_Hans", "sr-Latn", "srp_Cyrl" ... */
tr_letters tr_letters_of_language(const char *code);

/* Whether a character is a letter of one of the scripts. */
bool tr_letters_have(const tr_letters *letters, int32_t c);
/* Whether text has such a letter. */
bool tr_letters_in(const tr_letters *letters, const char *text, size_t size);

bool tr_is_symbol(int32_t c);          /* a sign that is no punctuation, not of ASCII: → ● ™ ° ×; and 【】 */
bool tr_is_currency_sign(int32_t c);   /* not of ASCII */
bool tr_is_any_letter(int32_t c);      /* of any script */
bool tr_is_pictograph(int32_t c);      /* an emoji, or a part of one, in every context: not digits, # and * */
bool tr_is_text_pictograph(int32_t c); /* an emoji only before U+FE0F: ❤ ™ © */

#endif
