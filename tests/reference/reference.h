/* One fixture: a tiny model and what Hugging Face Transformers computed with it. make_fixtures.py describes the files. */
#ifndef TR_TESTS_REFERENCE_H
#define TR_TESTS_REFERENCE_H

#include <jansson.h>

#include "formats/package.h"

enum { TR_REFERENCE_LINES = 16 };

/* A sentence and its greedy tokens. */
typedef struct tr_reference_line {
    int32_t *source, *target;
    int source_length, target_length; /* the source's includes EOS, the target's does not */
    bool finished;                    /* EOS came before max_length was reached */
    bool unclear;                     /* two logits were too close to compare the tokens */
    float *maxima;                    /* [maxima_count] the largest logit of each step, forbidden tokens left out */
    int maxima_count;
} tr_reference_line;

/* All sentences with one pair of limits. */
typedef struct tr_reference_case {
    const char *name;
    int min_length, max_length;
    tr_reference_line lines[TR_REFERENCE_LINES];
} tr_reference_case;

/* The output of one part of the network; where and layer as in decoding.h. */
typedef struct tr_reference_tensor {
    const char *where;
    int sentence, step, layer; /* step -1: the encoder's */
    int rows, width;
    const float *data; /* [rows, width] */
    bool seen;         /* for the test's use */
} tr_reference_tensor;

typedef struct tr_reference {
    const char *name;
    int count;                /* sentences */
    tr_reference_case *cases; /* [case_count]; the first is the main run, and only its lines have maxima */
    size_t case_count;
    tr_reference_tensor *tensors; /* [tensor_count] */
    size_t tensor_count;
    tr_package package;
    json_t *json;
    tr_file floats;
} tr_reference;

/* Loads folder/name. If that fails, prints the reason and exits. */
tr_reference *tr_reference_load(const char *folder, const char *name);
void tr_reference_free(tr_reference *reference);

/* NULL if this tensor was not recorded. */
tr_reference_tensor *tr_reference_find(tr_reference *reference, int sentence, int step, const char *where, int layer);

#endif
