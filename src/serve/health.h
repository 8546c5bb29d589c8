/* translate serve --health: asks a server that runs whether it lives, for what watches it (a container's health check). */
#ifndef TR_SERVE_HEALTH_H
#define TR_SERVE_HEALTH_H

#include "cli/cli.h"

/* Asks /health of the server that was started with these settings, in this network and file system. Returns CLI_DONE if it
 * lives, else prints a message and returns CLI_FAILED. Takes a few seconds at most, besides what the system takes to resolve
 * a --host that is a name. */
int serve_health(const cli_settings *settings);

#endif
