/* -s auto: the language of a text, by the program translate-detect. */
#ifndef TR_CLI_DETECT_H
#define TR_CLI_DETECT_H

#include "cli/cli.h"
#include "tokenizer/vocabulary.h"

/* The language of text, one of codes if there are any, unless text is clearly in another one. A guess is warned of; none is
 * a failure. */
int cli_detect(const cli_settings *settings, const char *text, size_t size, const tr_languages *codes, char *code,
               size_t room);

#endif
