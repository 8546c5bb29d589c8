/* Where translations go: a stream, or a file that is FILE.part until it is complete. */
#ifndef TR_CLI_OUTPUT_H
#define TR_CLI_OUTPUT_H

#include "cli/cli.h"
#include "util/buffer.h"
#include "util/file.h"

typedef struct cli_output {
    int descriptor;
    const char *name;   /* for messages */
    tr_target target;   /* the file */
    char *part;         /* NULL: written directly, nothing to rename */
    char *run;          /* FILE.part.run, see cli/resume.h */
    int run_descriptor; /* of the one that this run wrote or continues */
    bool continues;     /* part has something that an earlier run left */
    bool resumable;     /* what is in part stays, with run, if this run does not come to its end */
    uint64_t lines;     /* complete lines that an earlier run left in part */
    tr_buffer last;     /* the last of them */
} cli_output;

/* settings->output NULL or "-": standard output. A FILE that is no regular file (a device, a pipe) is written directly.
 * FILE.part is opened, and changed nowhere. input: a descriptor; being the same file as the output is wrong usage. */
int cli_output_open(cli_output *output, const cli_settings *settings, int input);
/* Before the first write to a FILE.part that --resume is to be able to continue: run tells what the output depends on. What
 * an earlier run left must depend on the same; then its incomplete last line is dropped, the others are counted. */
int cli_output_resume(cli_output *output, const cli_settings *settings, const tr_buffer *run);
int cli_output_write(cli_output *output, const void *data, size_t size);
int cli_output_finish(cli_output *output); /* the file is complete: it gets its name */
/* Closes. FILE.part stays if there is something to resume from, and then true is returned. */
bool cli_output_abandon(cli_output *output);

/* Writes all to a descriptor, waiting where it must. */
int cli_write(int descriptor, const char *name, const void *data, size_t size);

#endif
