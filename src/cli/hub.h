/* Models of the hub, hf:OWNER/NAME: finding them in the cache, and running the program that downloads. */
#ifndef TR_CLI_HUB_H
#define TR_CLI_HUB_H

#include "cli/cli.h"

/* wanted: "hf:OWNER/NAME[@REVISION]". If it is not in the cache, it is downloaded first. */
int cli_hub_find(char path[TR_PATH], const char *wanted, const cli_settings *settings);

/* Runs translate-pull with these arguments, of which the first is its name; returns its exit status. folder: where it is to
 * put the model; folders that were made for it in vain go again. what begins the message of a build without it. */
int cli_hub_run(const char *what, const char *folder, char *const arguments[]);

#endif
