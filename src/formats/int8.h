/* int8 matrices among a model's tensors. NAME.k4n16 (panels), NAME.scale and NAME.colsum stand for the matrix NAME; the
 * output matrix also has NAME.k8n16, its 4-bit copy for screening (docs/formats.md). */
#ifndef TR_FORMATS_INT8_H
#define TR_FORMATS_INT8_H

#include "kernels/kernels.h"
#include "model/config.h"
#include "model/weights.h"

/* ------------------------------------------------------------------------------------------------- reading what is there */

typedef enum tr_packed_part {
    TR_PACKED_NONE,   /* no part of an int8 matrix */
    TR_PACKED_MATRIX, /* the panels, which represent the matrix */
    TR_PACKED_BESIDE, /* another part of a matrix whose panels are present */
} tr_packed_part;

/* Which part of an int8 matrix a tensor is. name receives the matrix's name if the tensor is a part of one. */
tr_packed_part tr_packed_part_of(const tr_weights *weights, const tr_tensor *tensor, char name[TR_TENSOR_NAME]);

/* The matrix that panels belong to; config supplies the number of inputs, which panels only give in fours.
 * TR_ERROR_FORMAT: one of its three tensors is missing or does not fit the others. */
tr_status tr_packed_matrix(const tr_weights *weights, const tr_config *config, const tr_tensor *panels, tr_matrix *matrix,
                           tr_error *error);

/* Checks that every int8 matrix is complete and is not present a second time in another type. */
tr_status tr_packed_check(const tr_weights *weights, const tr_config *config, tr_error *error);

/* True for a matrix that the network multiplies by; false for vectors and for tables of positions, which are added. */
bool tr_is_matrix(const tr_tensor *tensor);

/* The type that holds all matrices without loss: I8 if all are packed, else the floating-point type they share, else F32.
 * If any is stored in ggml's quantised blocks: I8, the type they are computed in. */
tr_type tr_lossless_type(const tr_weights *weights);

/* ----------------------------------------------------------------------------------------------- adding rows of integers */

/* An int8 matrix as other programs store it, row by row. Panels and column sums are computed from the rows when they are
 * read; no number is rounded again. All arrays must outlive the table of weights. */
typedef struct tr_int8_rows {
    const int8_t *rows; /* [outputs, inputs] */
    int64_t outputs, inputs;
    const float *scales; /* [outputs] factor of each row's integers */
    const float *alpha;  /* scale of the quantised activations, see tr_matrix; NULL: none */
} tr_int8_rows;

/* Adds NAME.k4n16, NAME.scale and NAME.colsum, in this order, and NAME.alpha if matrix has one. */
tr_status tr_int8_rows_add(tr_weights *weights, const char *name, const tr_int8_rows *matrix, tr_error *error);

/* Adds the rows as they are under NAME.rows: screening the output projection then reads less memory. */
tr_status tr_int8_rows_keep(tr_weights *weights, const char *name, const tr_int8_rows *matrix, tr_error *error);

#endif
