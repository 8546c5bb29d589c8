/* The command translate: what its files share. */
#ifndef TR_CLI_CLI_H
#define TR_CLI_CLI_H

#include "cli/options.h"
#include "util/folder.h" /* TR_PATH */

#include <translate/translate.h>

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 }; /* exit status */

int cli_translate(const cli_settings *settings);
int cli_bench(const cli_settings *settings);
int cli_convert(const cli_settings *settings);
int cli_info(const cli_settings *settings);
int cli_tokenize(const cli_settings *settings);
int cli_score(const cli_settings *settings);
int cli_pull(const cli_settings *settings);
int cli_attention(const cli_settings *settings);
int cli_shortlist(const cli_settings *settings);

/* Prints "translate: ..." as one line on stderr, taking the progress bar away first; returns CLI_FAILED. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for wrong usage, with the way to the command's help behind it; returns CLI_USAGE. */
int cli_usage(const cli_settings *settings, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cli_fail_memory(void);
/* What the library said. */
int cli_fail_error(const tr_error *error);
/* Prints "translate: warning: ..." unless --quiet. */
void cli_warn(const cli_settings *settings, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints "translate: ..." on stderr: information that was asked for. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* printf() for names and other text from outside that is no translation: at most a line, and nothing in it that a terminal
 * would obey. A newline is printed only for one that ends the format. */
int cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

double cli_seconds(void);        /* of a steady clock */
double cli_peak_megabytes(void); /* most memory that this process had resident so far, in units of 10^6 bytes */

#endif
