/* Documents as lines: a unit of text is a line that goes through the translator like others, so that progress, FILE.part and
 * --resume are the same. When all are translated, the document is written. */
#ifndef TR_CLI_DOCUMENT_H
#define TR_CLI_DOCUMENT_H

#include "cli/lines.h"
#include "cli/output.h"
#include "cli/route.h"
#include "document/module.h"

typedef struct cli_document {
    const tr_document_module *module;
    void *handle;
    tr_document *document;
    const cli_settings *settings;
    const char *name;      /* of the input, for messages */
    char languages[2][16]; /* source and target, which the document refers to */
    cli_decoder *decoder;  /* of the input */
    size_t count, next;    /* units; next: the first that cli_document_next has not given */
    tr_buffer texts;       /* of the lines given last */
    cli_line *lines;       /* [capacity] */
    size_t capacity;
} cli_document;

/* The format of the input if it is a document, by the options and by the name of the input; NULL: plain lines. */
const char *cli_document_format(const cli_settings *settings);
/* Whether a format has a place that says that a translation is doubtful. */
bool cli_document_doubts(const char *format);
/* Options that a document excludes. Prints a message. */
int cli_document_check(const cli_settings *settings);

/* Reads the whole input: the reader's, or the TEXT arguments in text. source, target: languages as models name them; NULL:
 * unknown. Prints a message on failure; cli_document_close in either case. */
int cli_document_open(cli_document *document, const cli_settings *settings, cli_reader *reader, tr_buffer *text,
                      const char *source, const char *target);
void cli_document_close(cli_document *document);

/* The next units, at most max_lines, until max_bytes; they live until the next call. *count 0: there are no more. */
int cli_document_next(cli_document *document, size_t max_lines, size_t max_bytes, const cli_line **lines, size_t *count);
/* Appends a unit's translation as a line: flags that formats have a place for, in hexadecimal, a space, `before`, the text
 * with \n and \\ for line breaks and backslashes. */
bool cli_document_line(unsigned flags, const char *before, const char *text, size_t size, tr_buffer *out);

/* Writes the document to the output, which is complete then, with the lines of all units: those in output->part, or in
 * lines. */
int cli_document_finish(cli_document *document, cli_output *output, const tr_buffer *lines);

#endif
