/* -s auto: detects the language of a text by running translate-detect. */
#ifndef TR_CLI_DETECT_H
#define TR_CLI_DETECT_H

#include "cli/cli.h"
#include "tokenizer/vocabulary.h"

/* Stores the language of text: one of codes, if there are any, unless text is clearly in another language. Warns of a guess.
 * Prints a message if the language cannot be detected. */
int cli_detect(const cli_settings *settings, const char *text, size_t size, const tr_languages *codes, char *code,
               size_t room);

#endif
