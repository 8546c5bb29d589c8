/* Errors that say what was probably meant. */
#ifndef TR_CLI_SUGGEST_H
#define TR_CLI_SUGGEST_H

#include "cli/cli.h"

/* The arguments of a command line that begins with no command. Prints a message and returns CLI_USAGE if the first is nearly
 * one, and the others make no sentence with it; else returns CLI_DONE. */
int cli_check_command(char *const words[], int count);

/* The same if all TEXT arguments are names of files; "--" before them makes text of them. */
int cli_check_text(const cli_settings *settings);

/* There is no file of that name: prints which models there are. Returns CLI_FAILED. */
int cli_fail_no_model(const char *name);

/* message: why the model does not translate between the languages of settings. Returns CLI_USAGE. */
int cli_fail_languages(const cli_settings *settings, const tr_model_info *model, const char *message);

#endif
