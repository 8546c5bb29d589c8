/* Binding of tensors: finding them by name, checking their shapes, and converting them to the type that is computed with. */
#ifndef TR_MODEL_BIND_H
#define TR_MODEL_BIND_H

#include "model/network.h"

/* The first failure is kept in status and error; all functions do nothing after it. */
typedef struct tr_binder {
    tr_network *network;
    const tr_weights *weights;
    tr_compute compute;
    tr_error *error;
    tr_status status;
    unsigned char *slab; /* the free rest of a block of memory for matrices */
    size_t slab_left;
} tr_binder;

/* format holds one %s, for name. */
void tr_bind_fail(tr_binder *b, tr_status status, const char *format, const char *name);
void tr_bind_wrong_shape(tr_binder *b, const tr_tensor *t, int64_t rows, int64_t columns); /* rows 0: a vector */

/* Memory that lives as long as the network. NULL: out of memory, which is a failure. */
void *tr_bind_memory(tr_binder *b, size_t bytes);

/* Whether a table of positions may have this size: sizes that a file only claims are limited by the weights bound so far. */
bool tr_bind_may_make_table(tr_binder *b, uint64_t bytes);

/* A tensor of a floating type. NULL: it is absent, which is a failure if it is required, or there was a failure before. */
const tr_tensor *tr_bind_find(tr_binder *b, const char *name, bool required);

/* A vector [n] as f32, NULL if absent and not required. A leading dimension of 1 is accepted. */
const float *tr_bind_vector(tr_binder *b, const char *name, int n, bool required);

/* The matrix NAME [outputs, inputs], of a floating type, or packed as NAME.k4n16 with NAME.scale and NAME.colsum beside it,
 * in the type that compute asks for. */
tr_matrix tr_bind_matrix(tr_binder *b, const char *name, int outputs, int inputs);

/* PREFIX.PART.weight [outputs, inputs] and, if present, PREFIX.PART.bias. */
tr_linear tr_bind_linear(tr_binder *b, const char *prefix, const char *part, int outputs, int inputs);
/* PREFIX.PART.weight and, for LayerNorm, PREFIX.PART.bias. */
tr_norm tr_bind_norm(tr_binder *b, const char *prefix, const char *part);
/* The norms of a sublayer: PREFIX.KIND_norm; if there are two, KIND_norm before and KIND_post_norm after. */
tr_norms tr_bind_norms(tr_binder *b, const char *prefix, const char *kind);

/* The tensor NAME + SUFFIX of that type, aligned for it; NULL: absent or wrong, which is a failure. */
const tr_tensor *tr_bind_part(tr_binder *b, const char *name, const char *suffix, tr_type type);

/* All elements of the tensor in its own type: in place, or in memory of the network if they have to be made. */
const void *tr_bind_data(tr_binder *b, const tr_tensor *tensor);

/* A formatted name; names are short: layer numbers have at most four digits. */
const char *tr_bind_name(char name[TR_TENSOR_NAME], const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
