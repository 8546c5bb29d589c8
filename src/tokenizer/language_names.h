/* The pair of languages in a model's name: "opus-mt-zh-en", "translate-zh_en-1_9", "wmt-en2de", "enzh". */
#ifndef TR_TOKENIZER_LANGUAGE_NAMES_H
#define TR_TOKENIZER_LANGUAGE_NAMES_H

#include "tokenizer/vocabulary.h"

/* The last two languages that stand side by side in a file's name, with their scripts and regions. Other words that look
 * like codes do not count: languages of three letters do only where they have two as well ("eng"), or where the name is one
 * of OPUS-MT's or Argos Translate's; pairs without a mark between them only if one side is English and nothing else in the
 * name is a pair. False: there is none; then both are "". Either may be a group (tr_language_is_group). */
bool tr_languages_of_name(const char *name, char source[TR_LANGUAGE], char target[TR_LANGUAGE]);

#endif
