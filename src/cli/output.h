/* Where translations go: a stream, or a file that is FILE.part until it is complete. */
#ifndef TR_CLI_OUTPUT_H
#define TR_CLI_OUTPUT_H

#include "cli/resume.h"
#include "util/file.h"
#include "formats/package.h"

typedef struct cli_output {
    int descriptor;
    const char *name; /* for messages */
    bool terminal;    /* standard output is a terminal, which may show the progress bar */
    tr_target target; /* the file */
    char *part;       /* path of FILE.part; NULL: written directly, nothing to rename */
    cli_run_file run; /* FILE.part.run */
    bool continues;   /* part has lines of an earlier run */
    bool resumable;   /* if this run fails, part and run stay for --resume */
    uint64_t lines;   /* complete lines that an earlier run left in part */
    tr_buffer last;   /* the last of them */
} cli_output;

typedef enum cli_content { CLI_TEXT, CLI_MODEL, CLI_SHORTLIST } cli_content;

/* The rule for files that exist, in every command: a regular file is replaced when the new one is complete, a model only by
 * a model and a shortlist only by a shortlist, unless there is --force. Prints a message if path may not become a new file
 * of that content. */
int cli_check_replaced(const cli_settings *settings, const char *path, cli_content content);
/* Prints a message if path is the same file as other (NULL: none), or one that the package was read from. */
int cli_check_other_file(const cli_settings *settings, const char *path, const char *other, const char *what);
int cli_check_no_model(const cli_settings *settings, const char *path, const tr_package *package);

/* Opens settings->output; NULL or "-": standard output. A FILE that is not a regular file (a device, a pipe) is written
 * directly. Otherwise opens FILE.part, and does not change its content yet. input: the descriptor of the input, to refuse
 * the same file. Prints a message on failure; then call cli_output_abandon. */
int cli_output_open(cli_output *output, const cli_settings *settings, int input);
/* To be called before the first write if --resume is to be able to continue the run. run: a description of all that the
 * output depends on (cli_resume_describe). If an earlier run left lines in FILE.part, checks that its description is the
 * same, counts its lines, and cuts off an incomplete last one. */
int cli_output_resume(cli_output *output, const cli_settings *settings, const tr_buffer *run);
int cli_output_write(cli_output *output, const void *data, size_t size);
int cli_output_finish(cli_output *output); /* renames the complete file */
/* The output is complete without FILE.part, which has served: removes it, and closes. */
int cli_output_drop_part(cli_output *output);
/* After a failure: closes. Returns true if FILE.part is kept for --resume. */
bool cli_output_abandon(cli_output *output);

/* Writes all bytes to a descriptor, waiting if necessary. */
int cli_write(int descriptor, const char *name, const void *data, size_t size);

#endif
