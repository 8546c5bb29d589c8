/* Reading lines in chunks: all lines that are available, without waiting for more. */
#ifndef TR_CLI_LINES_H
#define TR_CLI_LINES_H

#include "cli/encoding.h"
#include "util/buffer.h"

#include <sys/types.h>

typedef struct cli_line {
    const char *text; /* without the line end */
    size_t size;
    bool carriage_return; /* the line ended in CR LF */
} cli_line;

typedef struct cli_reader {
    int descriptor;
    const char *name; /* for messages: the path, or "standard input" */
    bool at_end;
    uint64_t file_size; /* of a regular file: bytes from file_start on; else 0 */
    off_t file_start;   /* where reading began */
    uint64_t consumed;  /* bytes of the lines returned so far */
    char *data;         /* [capacity]; unread bytes are data[begin..end), the first scanned of them hold no "\n" */
    size_t begin, end, scanned, capacity;
    cli_line *lines;
    size_t line_capacity;
    bool raw; /* bytes are not looked at: no encoding is recognised */
    cli_decoder decoder;
    tr_buffer decoded; /* of the bytes read last */
} cli_reader;

/* settings: those with encoding. path NULL or "-": standard input. Prints a message and returns a status other than CLI_DONE
 * if it cannot be read. */
int cli_reader_open(cli_reader *reader, const cli_settings *settings, const char *path);
void cli_reader_close(cli_reader *reader);

/* Returns the next lines, at most max_lines, and stops after max_bytes. Waits for the first line, and takes those after it
 * that can be read without waiting. *count 0: the end. The lines live until the next call.
 * CLI_FAILED: a message was printed, or the program was interrupted (cli_interrupted). */
int cli_reader_next(cli_reader *reader, size_t max_lines, size_t max_bytes, const cli_line **lines, size_t *count);

/* Returns the beginning of the lines that cli_reader_next will return, at most 64 KB: up to the first line that is not
 * blank, and lines after it that can be read within so many seconds (patience; below 0: as long as it takes); empty if there
 * is no such line. All of the input, if reader->at_end then. Lives until the next call. */
int cli_reader_sample(cli_reader *reader, double patience, const char **text, size_t *size);

/* Reads all that is left, up to max_bytes; more is a failure. raw: bytes as they are, else text. The bytes live as long as
 * the reader. */
int cli_reader_all(cli_reader *reader, bool raw, uint64_t max_bytes, const char **data, size_t *size);

/* Replaces line breaks in text by spaces, and TABs too if tabs: a model may emit any byte, one line must stay one line. */
void cli_keep_one_line(char *text, size_t size, bool tabs);

#endif
