/* FILE.part.run: a description of what the lines of FILE.part depend on, so that --resume adds no lines that do not fit. */
#ifndef TR_CLI_RESUME_H
#define TR_CLI_RESUME_H

#include "cli/lines.h"
#include "cli/route.h"

/* Appends the description of a run: a line "KEY: VALUE" for the input, each option and each model; files by their content.
 * document: the input's format, or NULL. The models are open; the reader may be anywhere in the input. Prints a message on
 * failure. */
int cli_resume_describe(const cli_settings *settings, const cli_reader *reader, const char *document, const cli_route *route,
                        tr_buffer *lines);

typedef struct cli_run_file {
    char *path;     /* allocated; NULL: there is none */
    int descriptor; /* of the file that this run wrote or continues, to recognise it later; else -1 */
} cli_run_file;

/* Compares the file with the description of this run. Prints a message about FILE.part with the first difference. */
int cli_run_file_check(cli_run_file *file, const tr_buffer *run, const char *part);
/* Writes the description of this run. A file of another kind is not replaced. */
int cli_run_file_write(cli_run_file *file, const tr_buffer *run, unsigned mode);
/* Removes the file unless another run has replaced it, and closes. */
void cli_run_file_remove(cli_run_file *file);
void cli_run_file_close(cli_run_file *file); /* frees, and leaves the file where it is */

#endif
