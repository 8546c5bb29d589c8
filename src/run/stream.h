/* Tokens as they are found, for tr_translate_options.token: each with the text that it adds. */
#ifndef TR_RUN_STREAM_H
#define TR_RUN_STREAM_H

#include "decoding/decoding.h"
#include "tokenizer/tokenizer.h"

/* A translation on its way. */
typedef struct tr_stream_text {
    tr_incremental_text text;
    bool started; /* what comes in front of it has been told */
} tr_stream_text;

/* A zeroed struct has none. */
typedef struct tr_stream {
    const tr_translate_options *options;
    const tr_tokenizer *tokenizer; /* NULL: there is no text */
    int32_t end_id;
    size_t draws;
    tr_stream_text *emitted; /* [units, draws] */
    size_t count;            /* of them */
    tr_buffer emitting;      /* the text of the step in hand */
    bool stopped;            /* out: the callback ended a sentence */
} tr_stream;

/* For so many units. Nothing is made where the options have no callback. */
tr_status tr_stream_init(tr_stream *steps, const tr_translate_options *options, const tr_tokenizer *tokenizer,
                         int32_t end_id, size_t units, tr_error *error);
void tr_stream_free(tr_stream *steps);

/* Adds a unit's token. *begins: the text in front of the translation is due, which is what comes between it and the one
 * before; see tr_stream_emit. */
tr_status tr_stream_add(tr_stream *steps, size_t unit, const tr_decoded_token *step, bool *begins, tr_error *error);

/* Calls the callback. told has its place in the call; front [front_size] comes before what the token adds, and, if that is
 * not empty, a space. TR_ERROR_CANCELLED */
tr_status tr_stream_emit(tr_stream *steps, size_t unit, const tr_decoded_token *step, tr_token_event *told,
                         const tr_buffer *front, bool space, bool *stop, tr_error *error);

#endif
