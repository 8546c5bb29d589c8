/* What people and models call languages: "zh", "zho", "cmn_Hans", "zh-CN" and "zh_Hans" are one. */
#ifndef TR_TOKENIZER_LANGUAGE_CODES_H
#define TR_TOKENIZER_LANGUAGE_CODES_H

#include <stdbool.h>

/* How well a model's code serves what a user asked for; 0: it is another language. A code is a language of two or three
 * letters (ISO 639-1, -2, -3), then perhaps a script of four letters and a region of two letters or three digits, each
 * behind "-" or "_", in capitals or not. Members of a macrolanguage that models name in its place are it: cmn is zh, arb is
 * ar. What one side leaves open agrees with all, best with the language's usual script. */
int tr_language_match(const char *wanted, const char *has);

/* What a match is made of: TR_LANGUAGE_ALIKE for codes that are the same but for capitals, which no other reaches, else
 * TR_LANGUAGE_REGIONS times how the scripts match, plus how the regions do. */
enum { TR_LANGUAGE_ALIKE = 1000, TR_LANGUAGE_REGIONS = 16 };

/* Scripts. */
enum {
    TR_SCRIPTS_UNUSUAL = 1,  /* one is open, and the other not the language's usual one */
    TR_SCRIPTS_ONE_OPEN = 6, /* one is open, and the other the usual one, or the language has none */
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

/* The language alone, of two letters where it has such a code: "zh" of "cmn_Hans". False: the code is none as above
 * ("ROMANCE"); out is then empty. */
bool tr_language_base(const char *code, char out[4]);

/* True for groups of languages, which are none themselves: mul, roa, sla. */
bool tr_language_is_group(const char *code);

/* True for a language that has a code of two letters, in any spelling. */
bool tr_language_is_known(const char *code);

/* True where sentences are not separated by a space: Chinese and Japanese. */
bool tr_language_is_unspaced(const char *code);

#endif
