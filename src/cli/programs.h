/* Helper programs of the command, such as translate-pull. They are separate so that the command starts without their
 * libraries. */
#ifndef TR_CLI_PROGRAMS_H
#define TR_CLI_PROGRAMS_H

#include "cli/cli.h"

/* Stores the path of a program such as translate-pull. what: the beginning of the message if it is not found. */
int cli_program_find(char path[TR_PATH], const char *name, const char *what);

#endif
