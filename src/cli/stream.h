/* --stream: prints a line's translation while it is generated. */
#ifndef TR_CLI_STREAM_H
#define TR_CLI_STREAM_H

#include "cli/output.h"

/* A sentence of the line. */
typedef struct cli_streamed_sentence {
    tr_buffer text; /* waits until the sentences before it are complete */
    bool done;
} cli_streamed_sentence;

typedef struct cli_stream {
    cli_output *output;
    bool keep_one_line, replace_tabs; /* see cli_keep_one_line */
    cli_streamed_sentence *sentences; /* [count] of the line */
    int count;
    int current;    /* the first sentence that is not done: its text is printed as it comes */
    size_t printed; /* bytes of the line */
    int status;     /* of the first failure */
} cli_stream;

/* tr_translate_options.on_token of a call with one text; argument: the stream. */
int cli_stream_token(void *argument, const tr_token_event *event);
/* The line is complete; rendered: the whole line. Prints what is missing of it. */
int cli_stream_end(cli_stream *stream, const tr_buffer *rendered);
void cli_stream_free(cli_stream *stream);

#endif
