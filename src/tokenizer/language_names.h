/* The pair of languages in a model's name: "opus-mt-zh-en", "translate-zh_en-1_9", "wmt-en2de", "enzh". */
#ifndef TR_TOKENIZER_LANGUAGE_NAMES_H
#define TR_TOKENIZER_LANGUAGE_NAMES_H

#include "tokenizer/vocabulary.h"

/* Finds the last two adjacent language codes in a file's name, with their scripts and regions. A code of three letters
 * counts only if the language also has one of two ("eng"), or if the name is one of OPUS-MT's or Argos Translate's. A pair
 * without a separator counts only if one of the two is English and nothing else in the name is a pair. Either may be a group
 * (tr_language_is_group). False: there is no pair; both are "". */
bool tr_languages_of_name(const char *name, char source[TR_LANGUAGE], char target[TR_LANGUAGE]);

#endif
