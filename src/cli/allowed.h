/* convert --allowed: the list of allowed target tokens. */
#ifndef TR_CLI_ALLOWED_H
#define TR_CLI_ALLOWED_H

#include "cli/cli.h"
#include "formats/package.h"

/* Stores the list of settings->allowed in the package's config. *ids: its memory, which the caller frees after the package
 * is closed; NULL if the package keeps its own list. Prints a message on failure. */
int cli_allow_tokens(const cli_settings *settings, tr_package *package, int32_t **ids);

#endif
