/* Matches the language codes of users and models: "zh", "zho", "cmn_Hans", "zh-CN" and "zh_Hans" are one language. */
#ifndef TR_TOKENIZER_LANGUAGE_CODES_H
#define TR_TOKENIZER_LANGUAGE_CODES_H

#include <stdbool.h>

/* Returns how well a model's code (has) matches the code that a user wants; 0: another language. A code is a language of two
 * or three letters (ISO 639-1, -2, -3), optionally a script of four letters and a region of two letters or three digits,
 * each after "-" or "_". Case does not matter. A member of a macrolanguage that models use in its place equals it: cmn is
 * zh, arb is ar. A code without a script matches any, best the language's usual one. */
int tr_language_match(const char *wanted, const char *has);

/* The value of a match: TR_LANGUAGE_ALIKE, the largest, for codes that are equal apart from case, else TR_LANGUAGE_REGIONS
 * times the value of the scripts' match plus that of the regions'. */
enum { TR_LANGUAGE_ALIKE = 1000, TR_LANGUAGE_REGIONS = 16 };

/* Scripts. */
enum {
    TR_SCRIPTS_UNUSUAL = 1,  /* one code has none, the other not the language's usual one */
    TR_SCRIPTS_ONE_OPEN = 6, /* one code has none, the other the usual one, or the language has none */
    TR_SCRIPTS_OPEN,
    TR_SCRIPTS_SAME,
};

/* Regions. */
enum {
    TR_REGIONS_DIFFER,
    TR_REGION_WANTED_OPEN,
    TR_REGION_HAS_OPEN,
    TR_REGIONS_SAME,
};

/* The language alone, with two letters if it has such a code: "zh" of "cmn_Hans". False: code is not as described above
 * ("ROMANCE"); out is then "". */
bool tr_language_base(const char *code, char out[4]);

/* The script that a code names, or its region implies, in small letters: "hant" of "zh-TW". Else "". */
void tr_language_script(const char *code, char out[5]);

/* True for groups of languages: mul, roa, sla. */
bool tr_language_is_group(const char *code);

/* True for a code, in any spelling, of a language that has a code of two letters. */
bool tr_language_is_known(const char *code);

/* True for Chinese and Japanese, whose sentences are not separated by spaces. */
bool tr_language_is_unspaced(const char *code);

#endif
