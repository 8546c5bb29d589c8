/* Where translations go: a stream, or a file that is FILE.part until it is complete. */
#ifndef TR_CLI_OUTPUT_H
#define TR_CLI_OUTPUT_H

#include "cli/cli.h"
#include "util/buffer.h"

typedef struct cli_output {
    int descriptor;
    const char *name;  /* for messages */
    char *path, *part; /* part NULL: written directly, nothing to rename */
    uint64_t lines;    /* complete lines that an earlier run left in part */
    tr_buffer last;    /* the last of them */
    bool written;      /* this run or an earlier one has something in part */
} cli_output;

/* settings->output NULL or "-": standard output. A FILE that is no regular file (a device, a pipe) is written directly.
 * With settings->resume an incomplete last line of FILE.part is dropped, the others are counted.
 * input: a descriptor; being the same file as the output is wrong usage. */
int cli_output_open(cli_output *output, const cli_settings *settings, int input);
int cli_output_write(cli_output *output, const void *data, size_t size);
int cli_output_finish(cli_output *output); /* the file is complete: it gets its name */
/* Closes. FILE.part stays if it holds something to resume from, and then true is returned. */
bool cli_output_abandon(cli_output *output);

/* Writes all to a descriptor, waiting where it must. */
int cli_write(int descriptor, const char *name, const void *data, size_t size);

#endif
