/* The prefixes that translations of lines begin with: one for all (--prefix), or a field of each line (--tsv). */
#ifndef TR_CLI_PREFIXES_H
#define TR_CLI_PREFIXES_H

#include "cli/lines.h"

typedef struct cli_prefixes {
    const char **texts;   /* [count], NULL for a line without a prefix; NULL: no line has one */
    cli_line *bare_lines; /* --tsv: [count] lines without their prefixes; else NULL */
    tr_buffer memory;     /* of texts of --tsv */
} cli_prefixes;

/* Prints a message on failure; call cli_prefixes_free in either case. */
int cli_prefixes_make(cli_prefixes *prefixes, const cli_settings *settings, const cli_line *lines, size_t count);
void cli_prefixes_free(cli_prefixes *prefixes);

#endif
