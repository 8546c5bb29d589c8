/* Binding tensors to the network: finding them by name, checking shapes, and turning them into the type that is used. */
#ifndef TR_MODEL_BIND_H
#define TR_MODEL_BIND_H

#include "model/network.h"

/* What binding needs at hand; the first failure sticks and makes the rest do nothing. */
typedef struct tr_binder {
    tr_network *network;
    const tr_weights *weights;
    tr_compute compute;
    tr_error *error;
    tr_status status;
    unsigned char *slab; /* what is left of a block of memory for matrices */
    size_t slab_left;
} tr_binder;

/* format holds one %s, for name. */
void tr_bind_fail(tr_binder *b, tr_status status, const char *format, const char *name);
void tr_bind_wrong_shape(tr_binder *b, const tr_tensor *t, int64_t rows, int64_t columns); /* rows 0: a vector */

/* Memory that lives as long as the network. NULL: out of memory, said. */
void *tr_bind_memory(tr_binder *b, size_t bytes);

/* A tensor of a floating type. NULL: it is absent, which is said if it is required, or there was a failure before. */
const tr_tensor *tr_bind_find(tr_binder *b, const char *name, bool required);

/* A vector [n] as f32, NULL if absent and not required. A leading dimension of 1 is accepted. */
const float *tr_bind_vector(tr_binder *b, const char *name, int n, bool required);

/* The matrix NAME [outputs, inputs], of a floating type, or packed as NAME.k4n16 with NAME.scale and NAME.colsum beside it,
 * in the type that compute asks for. */
tr_matrix tr_bind_matrix(tr_binder *b, const char *name, int outputs, int inputs);

/* A tensor NAME + SUFFIX of that type, aligned for it; NULL: absent or wrong, which is said. */
const tr_tensor *tr_bind_part(tr_binder *b, const char *name, const char *suffix, tr_type type);

/* All of the tensor's elements in its own type: where they lie or, if they are made, in memory of the network's. */
const void *tr_bind_data(tr_binder *b, const tr_tensor *tensor);

/* The tables of positions, when all matrices and layers are bound. */
void tr_bind_positions(tr_binder *b);

/* The screen of the output projection, whose weights are the matrix NAME: of a large matrix of a floating type, made here;
 * of an int8 one as the file has it (NAME.k8n16), or made if the matrix was quantised here, too, or is Marian's. */
void tr_bind_screen(tr_binder *b, const char *name);

/* Cuts network->logits, whose weights are bound, to config.allowed: outputs are put together in memory of the network's,
 * with the tables of what stands for what. */
void tr_bind_allowed(tr_binder *b);

/* A formatted name; names are short: layer numbers have at most four digits. */
const char *tr_bind_name(char name[TR_TENSOR_NAME], const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
