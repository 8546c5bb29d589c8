/* The options of the server: those of the command line come before those of the environment (TRANSLATE_PORT for --port), and
 * these before those of the file that --config names ("port = 5000" on a line; # begins a comment). */
#ifndef TR_SERVE_SETTINGS_H
#define TR_SERVE_SETTINGS_H

#include "cli/cli.h"

typedef struct serve_settings {
    cli_settings options;
    char **arguments;     /* all of them, from wherever they come; options points into them */
    char url_prefix[256]; /* without a slash at its end */
    size_t count, owned;  /* the first `owned` are allocated */
} serve_settings;

/* Returns CLI_DONE, or prints a message and returns another status. Call serve_settings_free in either case. */
int serve_settings_read(serve_settings *s, const cli_command *command, char **arguments, int count);
void serve_settings_free(serve_settings *s);

#endif
