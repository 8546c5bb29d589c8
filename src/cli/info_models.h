/* translate info of a folder of models. */
#ifndef TR_CLI_INFO_MODELS_H
#define TR_CLI_INFO_MODELS_H

#include "cli/cli.h"

/* *folder: the folder that the settings mean, by --models or as FILE where that is a directory that is no model but holds
 * some; NULL: a model is meant. *models is what it holds, NULL where that was not needed to tell. */
int cli_info_folder(const cli_settings *settings, const char **folder, tr_model_index **models);

/* Lists it, and closes models. */
int cli_info_models(const cli_settings *settings, const char *folder, tr_model_index *models);

/* Prints a language's code behind others, on the next line where this one, filled up to *column, has no room. */
void cli_print_code(int *column, const char *code);

#endif
