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

/* A file of weights: safetensors, or what torch.save wrote. */
typedef struct tr_weight_file {
    const char *name; /* begins the messages on it */
    tr_bytes bytes;
} tr_weight_file;

/* Adds the tensors of all files to weights under our names; what is tied is there once. */
tr_status tr_marian_weights(const tr_weight_file *files, size_t count, tr_marian_ties ties, tr_weights *weights,
                            tr_error *error);

#endif
