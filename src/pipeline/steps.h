/* Tokens as they are found, for tr_translate_options.token: each with the text that it adds. */
#ifndef TR_PIPELINE_STEPS_H
#define TR_PIPELINE_STEPS_H

#include "decoding/decoding.h"
#include "tokenizer/tokenizer.h"

/* A translation on its way. */
typedef struct tr_told {
    tr_growing text;
    bool begun; /* what comes in front of it has been told */
} tr_told;

/* A zeroed struct has none. */
typedef struct tr_steps {
    const tr_translate_options *options;
    const tr_tokenizer *tokenizer; /* NULL: there is no text */
    int32_t end_id;
    size_t draws;
    tr_told *told;    /* [units, draws] */
    size_t count;     /* of them */
    tr_buffer spoken; /* the text of the step in hand */
    bool stopped;     /* out: the callback ended a sentence */
} tr_steps;

/* For so many units. Nothing is made where the options have no callback. */
tr_status tr_steps_init(tr_steps *steps, const tr_translate_options *options, const tr_tokenizer *tokenizer, int32_t end_id,
                        size_t units, tr_error *error);
void tr_steps_free(tr_steps *steps);

/* Adds a unit's token. *begins: the text in front of the translation is due, which is what comes between it and the one
 * before; see tr_steps_tell. */
tr_status tr_steps_add(tr_steps *steps, size_t unit, const tr_step *step, bool *begins, tr_error *error);

/* Calls the callback. told has its place in the call; front [front_size] comes before what the token adds, and, if that is
 * not empty, a space. TR_ERROR_CANCELLED */
tr_status tr_steps_tell(tr_steps *steps, size_t unit, const tr_step *step, tr_token_step *told, const tr_buffer *front,
                        bool space, bool *stop, tr_error *error);

#endif
