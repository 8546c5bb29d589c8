/* --tokens: lines of tokens to lines of tokens. */
#ifndef TR_CLI_TOKENS_H
#define TR_CLI_TOKENS_H

#include "cli/lines.h"
#include "cli/model.h"

/* Lines of one call. */
typedef struct cli_token_lines {
    const cli_line *lines;       /* [count] */
    const char *const *prefixes; /* [count], an item may be NULL; NULL: no line has a prefix */
    size_t count;
    uint64_t first_number; /* of the first line, for messages */
} cli_token_lines;

/* Translates lines of tokens, and stores results[0..count) as tr_translate does, with tokens as their texts. An empty line
 * stays empty. *seconds: time inside the library. Prints a message on failure, except for an interrupt; then *results is
 * NULL. Free with tr_results_free. */
int cli_translate_tokens(const cli_settings *settings, const cli_model *model, const tr_translate_options *options,
                         const cli_token_lines *lines, double *seconds, tr_result **results);

#endif
