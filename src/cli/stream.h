/* --stream: a line's translation is printed piece by piece, as it is found. */
#ifndef TR_CLI_STREAM_H
#define TR_CLI_STREAM_H

#include "cli/answers.h"
#include "cli/render.h"

/* A sentence of the line. */
typedef struct cli_spoken {
    tr_buffer text; /* what waits for the sentences before */
    bool done;
} cli_spoken;

typedef struct cli_stream {
    cli_form form;
    cli_writer *write;
    void *argument;
    cli_spoken *sentences; /* [count] of the line at hand */
    int count;
    int at;         /* the first that is not done: it is printed as it comes */
    size_t printed; /* bytes of the line */
    int status;
} cli_stream;

/* Whether it goes with the other options. */
int cli_stream_check(const cli_settings *settings);
/* tr_translate_options.token of a call with one text; argument: the stream. */
int cli_stream_take(void *argument, const tr_token_event *step);
/* The line is complete, and is to be this: prints what is missing. */
int cli_stream_end(cli_stream *stream, const tr_buffer *rendered);
void cli_stream_free(cli_stream *stream);

#endif
