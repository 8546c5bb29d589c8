/* What translations of lines begin with: the same for all (--prefix), or a field of each line (--tsv). */
#ifndef TR_CLI_PREFIXES_H
#define TR_CLI_PREFIXES_H

#include "cli/lines.h"

typedef struct cli_prefixes {
    const cli_line *lines; /* [count] without the prefixes that they hold */
    const char **texts;    /* [count] the prefixes, NULL where a line has none; NULL: no line has one */
    cli_line *own;         /* the memory of lines, where they are no longer the caller's */
    tr_buffer memory;      /* the texts of fields */
} cli_prefixes;

/* Prints a message on failure; to be freed in either case. */
int cli_prefixes_make(cli_prefixes *prefixes, const cli_settings *settings, const cli_line *lines, size_t count);
void cli_prefixes_free(cli_prefixes *prefixes);

#endif
