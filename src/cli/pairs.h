/* Two files of lines that belong together, one a line, cut into tokens by several threads. */
#ifndef TR_CLI_PAIRS_H
#define TR_CLI_PAIRS_H

#include "align/parallel.h"
#include "cli/cli.h"
#include "tokenizer/tokenizer.h"
#include "util/team.h"

/* Reads both to the end. Line i of paths[0] is cut by tokenizers[0] into source tokens, that of paths[1] by tokenizers[1]
 * into target tokens. Prints a message and returns a status other than CLI_DONE where a file cannot be read, or has fewer
 * lines than the other. */
int cli_read_pairs(const cli_settings *settings, char *const paths[2], tr_tokenizer *const tokenizers[2], tr_team *team,
                   tr_parallel *text);

#endif
