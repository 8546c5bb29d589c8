/* The options of a translation: which of them go together, and how the library gets them. */
#ifndef TR_CLI_TRANSLATE_OPTIONS_H
#define TR_CLI_TRANSLATE_OPTIONS_H

#include "cli/model.h"
#include "util/buffer.h"

/* CLI_USAGE with a message if options of translate, or those of the search alone (bench), contradict each other. */
int cli_check_translate_options(const cli_settings *settings);
int cli_check_search_options(const cli_settings *settings);

/* What --rerank asks for. */
typedef enum cli_rerank { CLI_RERANK_AUTO, CLI_RERANK_ON, CLI_RERANK_OFF, CLI_RERANK_PATH } cli_rerank;
cli_rerank cli_rerank_of(const cli_settings *settings);

/* --alignment-... for the library. Prints a message if the model has no such layer or head. */
int cli_align_options(const cli_settings *settings, const cli_model *model, tr_align_options *options);

/* Appends the ids of --forbid, which are the model's. Prints a message if a token is unknown. */
int cli_forbidden_ids(const cli_settings *settings, const cli_model *model, tr_ids *ids);

/* The options of the search for the library; they point to forbidden. */
tr_search_options cli_search_options(const cli_settings *settings, const tr_ids *forbidden);

#endif
