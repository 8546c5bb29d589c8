/* Parallel texts: two files whose lines i belong together, tokenized by several threads. */
#ifndef TR_CLI_PAIRS_H
#define TR_CLI_PAIRS_H

#include "align/parallel.h"
#include "cli/cli.h"
#include "tokenizer/tokenizer.h"
#include "util/team.h"

/* Reads both files, tokenizes paths[i] with tokenizers[i] (0: source, 1: target), and appends the pairs to text. Prints a
 * message and returns a status other than CLI_DONE if a file cannot be read, or has fewer lines than the other. */
int cli_read_pairs(const cli_settings *settings, char *const paths[2], tr_tokenizer *const tokenizers[2], tr_team *team,
                   tr_parallel *text);

#endif
