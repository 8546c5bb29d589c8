/* Programs that belong to the command: what few need is one of its own, so that the others start without its libraries. */
#ifndef TR_CLI_PROGRAMS_H
#define TR_CLI_PROGRAMS_H

#include "cli/cli.h"

/* The path of a program such as translate-pull. what begins the message if it is nowhere. */
int cli_program_find(char path[TR_PATH], const char *name, const char *what);

#endif
