/* Reading lines in chunks: all that is there at once, never waiting for more while there is something to work on. */
#ifndef TR_CLI_LINES_H
#define TR_CLI_LINES_H

#include "cli/options.h"
#include "util/buffer.h"

#include <sys/types.h>

typedef struct cli_line {
    const char *text; /* without the line end */
    size_t size;
    bool carriage_return; /* the line ended in CR LF */
} cli_line;

typedef struct cli_reader {
    int descriptor;
    const char *name; /* for messages: the path or "standard input" */
    bool at_end;
    uint64_t file_size; /* of a regular file, from where reading began; 0 if it is none */
    off_t file_start;   /* where that is */
    uint64_t consumed;  /* bytes of the lines given out so far */
    char *data;         /* [capacity]; unread bytes are data[begin..end), the first scanned of them hold no "\n" */
    size_t begin, end, scanned, capacity;
    cli_line *lines;
    size_t line_capacity;
} cli_reader;

/* path NULL or "-": standard input. Prints a message and returns a status other than CLI_DONE if it cannot be read. */
int cli_reader_open(cli_reader *reader, const char *path);
void cli_reader_close(cli_reader *reader);

/* Gives the next lines, at most max_lines, and no further ones once they hold max_bytes. It waits for the first, then
 * takes what can be read without waiting. *count 0: the end. The lines live until the next call.
 * CLI_FAILED: a message was printed, or an interrupt came (cli_interrupted). */
int cli_reader_next(cli_reader *reader, size_t max_lines, size_t max_bytes, const cli_line **lines, size_t *count);

/* The beginning of what cli_reader_next will give, at most 64 KB: a line that is not blank, with those before it and what
 * can be read behind it without waiting; empty if there is none. Lives until the next call. */
int cli_reader_sample(cli_reader *reader, const char **text, size_t *size);

/* Appends the TEXT arguments, joined by a space. */
int cli_join_arguments(const cli_settings *settings, tr_buffer *text);

#endif
