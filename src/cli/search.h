/* The options of the search: what fits together, and what the library is told. */
#ifndef TR_CLI_SEARCH_H
#define TR_CLI_SEARCH_H

#include "cli/model.h"
#include "util/buffer.h"

/* CLI_USAGE with a message where options contradict each other. */
int cli_search_check(const cli_settings *settings);

/* The ids of --forbid, of the model whose translations are written. */
int cli_search_forbidden(const cli_settings *settings, const cli_model *model, tr_ids *ids);

/* What settings ask of a search; forbidden must outlive it. */
tr_search_options cli_search(const cli_settings *settings, const tr_ids *forbidden);

#endif
