/* Scripts of letters and of languages, from small tables: no library, since every translation asks whether a text has
 * letters of its language. Digits, punctuation and symbols have no script. */
#ifndef TR_TOKENIZER_SCRIPTS_H
#define TR_TOKENIZER_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tr_script {
    TR_NO_LETTER,
    TR_COMMON,       /* a letter of several scripts: µ, ー, ℕ */
    TR_OTHER_SCRIPT, /* a letter of any script that has no number here */
    TR_LATIN,
    TR_GREEK,
    TR_CYRILLIC,
    TR_ARMENIAN,
    TR_HEBREW,
    TR_ARABIC,
    TR_SYRIAC,
    TR_THAANA,
    TR_NKO,
    TR_DEVANAGARI,
    TR_BENGALI,
    TR_GURMUKHI,
    TR_GUJARATI,
    TR_ORIYA,
    TR_TAMIL,
    TR_TELUGU,
    TR_KANNADA,
    TR_MALAYALAM,
    TR_SINHALA,
    TR_THAI,
    TR_LAO,
    TR_TIBETAN,
    TR_MYANMAR,
    TR_GEORGIAN,
    TR_HANGUL,
    TR_ETHIOPIC,
    TR_CHEROKEE,
    TR_CANADIAN,
    TR_KHMER,
    TR_MONGOLIAN,
    TR_OL_CHIKI,
    TR_TIFINAGH,
    TR_HIRAGANA,
    TR_KATAKANA,
    TR_BOPOMOFO,
    TR_HAN,
    TR_YI,
    TR_MEETEI,
    TR_JAVANESE,
    TR_ADLAM,
    TR_SCRIPTS
} tr_script;

/* A set: bit s stands for script s. 0: none, or unknown. */
typedef uint64_t tr_scripts;

_Static_assert(TR_SCRIPTS <= 64, "a set of scripts has 64 bits");

static inline tr_scripts tr_script_bit(tr_script script)
{
    return (tr_scripts)1 << script;
}

tr_script tr_script_of(int32_t c);

/* The script of a name in ISO 15924 or Unicode: "Hani", "Cyrillic"; "Jpan" and "Kore" have several. 0: it is unknown. */
tr_scripts tr_scripts_named(const char *name);

/* The scripts that a language is written in, or the one that its code names: "ja", "zho_Hans", "sr-Latn". 0: unknown. */
tr_scripts tr_scripts_of_language(const char *code);

bool tr_is_any_letter(int32_t c);

/* Whether c is a letter of one of the scripts; of scripts 0: any letter. */
bool tr_is_letter_of(tr_scripts scripts, int32_t c);
/* Whether text, valid UTF-8, has such a letter. */
bool tr_has_letter_of(tr_scripts scripts, const char *text, size_t size);

#endif
