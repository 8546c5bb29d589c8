/* Tokens as they are found, for tr_translate_options.on_token: each with the text that it adds. */
#ifndef TR_RUN_STREAM_H
#define TR_RUN_STREAM_H

#include "decoding/decoding.h"
#include "tokenizer/tokenizer.h"
#include "util/file.h"

/* A translation that is being streamed. */
typedef struct tr_stream_text {
    tr_incremental_text text;
    tr_buffer held; /* with rules for traditional characters: what the next token may change, after what is added */
    tr_bytes added; /* what the newest token adds */
    bool started;   /* the text in front of it has been emitted */
} tr_stream_text;

/* A zeroed struct streams nothing. */
typedef struct tr_stream {
    const tr_translate_options *options;
    const tr_tokenizer *tokenizer; /* NULL: events have no text */
    tr_bytes traditional;          /* see tr_joiner */
    int32_t eos_id;
    size_t samples;          /* of each request */
    tr_stream_text *emitted; /* [count]: [requests, samples] */
    size_t count;
    tr_buffer bytes; /* of the event */
    bool stopped;    /* out: the callback ended a sequence */
} tr_stream;

/* For so many requests; options->on_token is set. */
tr_status tr_stream_init(tr_stream *stream, const tr_translate_options *options, const tr_tokenizer *tokenizer,
                         tr_bytes traditional, int32_t eos_id, size_t requests, tr_error *error);
void tr_stream_free(tr_stream *stream);

/* Adds a request's token. *begins: the translation begins to show, so tr_stream_emit needs the text in front of it. */
tr_status tr_stream_add(tr_stream *stream, size_t request, const tr_decoded_token *step, bool *begins, tr_error *error);

/* Calls the callback. event: text, sentence, sentences and restarted are set. front (NULL: nothing) comes before the text
 * that the token adds; if that is not empty, a space follows front. TR_ERROR_CANCELLED */
tr_status tr_stream_emit(tr_stream *stream, size_t request, const tr_decoded_token *step, tr_token_event *event,
                         const tr_buffer *front, bool space, bool *stop, tr_error *error);

/* Calls the callback with an event as it is; more: other events of the sentence follow. TR_ERROR_CANCELLED */
tr_status tr_stream_event(tr_stream *stream, const tr_token_event *event, bool more, bool *stop, tr_error *error);

/* Both, for a request that is a text of one sentence. */
tr_status tr_stream_source(tr_stream *stream, size_t request, const tr_decoded_token *step, bool again, bool *stop,
                           tr_error *error);

#endif
