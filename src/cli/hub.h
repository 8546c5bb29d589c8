/* Models from Hugging Face, hf:OWNER/NAME: finds them in the cache, and runs translate-pull to download them. */
#ifndef TR_CLI_HUB_H
#define TR_CLI_HUB_H

#include "cli/cli.h"

/* Stores the path of a model; wanted: "hf:OWNER/NAME[@REVISION]". Downloads it if it is not in the cache. */
int cli_hub_find(char path[TR_PATH], const char *wanted, const cli_settings *settings);

/* Runs translate-pull and returns its exit status. arguments: a NULL-terminated argv. folder: where it puts the model; if it
 * fails, empty folders that were made for it are removed. what: the beginning of a message if this build cannot download. */
int cli_hub_run(const char *what, const char *folder, char *const arguments[]);

#endif
