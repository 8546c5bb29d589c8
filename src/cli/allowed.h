/* convert --allowed: which target tokens can come. */
#ifndef TR_CLI_ALLOWED_H
#define TR_CLI_ALLOWED_H

#include "cli/cli.h"
#include "formats/package.h"

/* Puts the list that settings->allowed asks for into the package's config; *ids is its memory, to be freed after the
 * package's use, NULL where the package keeps what it has. */
int cli_allow_tokens(const cli_settings *settings, tr_package *package, int32_t **ids);

#endif
