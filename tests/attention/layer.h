/* Calls of tr_attention_multi_head_forward, with weights and inputs that are generated from a seed. */
#ifndef TR_TESTS_ATTENTION_LAYER_H
#define TR_TESTS_ATTENTION_LAYER_H

#include "reference.h"

typedef struct layer_sizes {
    int64_t query, key, value, hiddens, heads;
} layer_sizes;

typedef struct layer_trial {
    trial inner; /* its shape is that of the heads; its q, k and v are the inputs of the layer */
    tr_attention_multi_head layer;
} layer_trial;

/* Masks may be set in `inner`, as in any trial. */
layer_trial make_layer(int64_t batch, int64_t queries, int64_t keys, layer_sizes sizes, bool biases, tr_element of_layer,
                       tr_element of_inputs, uint64_t seed);
void free_layer(layer_trial *l);

size_t layer_out_size(const layer_trial *l);
tr_status run_layer(const layer_trial *l, float *out, float *weights, tr_error *error);
/* The same, which must succeed. */
void attend_layer(const layer_trial *l, float *out, float *weights);
void reference_layer(const layer_trial *l, double *out, double *weights);
void expect_layer_reference(const layer_trial *l, double tolerance);

#endif
