/* translate info of a folder of models. */
#ifndef TR_CLI_INFO_MODELS_H
#define TR_CLI_INFO_MODELS_H

#include "cli/cli.h"

/* *folder: the folder of models that settings name, by --models, or as FILE if that is a directory of models; NULL: they
 * name a model. *models: the folder's index, or NULL if it has not been read yet. */
int cli_info_folder(const cli_settings *settings, const char **folder, tr_model_index **models);

/* Prints the models of the folder, and closes models. */
int cli_info_models(const cli_settings *settings, const char *folder, tr_model_index *models);

/* Prints a language code after others; begins a new line if the present one, which is *column wide, has no space. */
void cli_print_code(int *column, const char *code);

#endif
