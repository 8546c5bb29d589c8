/* The parts of a Hugging Face Marian directory, from memory. */
#ifndef TR_FORMATS_MARIAN_HF_H
#define TR_FORMATS_MARIAN_HF_H

#include <jansson.h>

#include "formats/package.h"

/* What config.json says besides the network's shape. */
typedef struct tr_marian_ties {
    bool share_embeddings; /* both sides have one embedding */
    bool tie_output;       /* the output projection is the target embedding */
} tr_marian_ties;

/* Fills config from config.json and generation_config.json (NULL if there is none). Not checked against bounds yet. */
tr_status tr_marian_config(const json_t *settings, const json_t *generation, tr_config *config, tr_marian_ties *ties,
                           tr_error *error);

/* A vocab.json, {piece: id}, as a vocabulary of rows ids. Messages begin with name. */
tr_status tr_marian_vocabulary(const json_t *json, const char *name, int rows, tr_vocabulary *vocabulary, tr_error *error);

/* Adds model.safetensors to weights under our names; what is tied is there once. */
tr_status tr_marian_weights(tr_bytes file, tr_marian_ties ties, tr_weights *weights, tr_error *error);

#endif
