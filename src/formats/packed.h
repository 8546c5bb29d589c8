/* int8 matrices among a model's tensors: NAME.k4n16, NAME.scale and NAME.colsum in place of NAME, with NAME.k8n16 beside
 * the output matrix (docs/formats.md). */
#ifndef TR_FORMATS_PACKED_H
#define TR_FORMATS_PACKED_H

#include "formats/package.h"
#include "kernels/kernels.h"

/* What a tensor is to the matrices stored in int8. */
typedef enum tr_packed_part {
    TR_PACKED_NONE,   /* it belongs to none */
    TR_PACKED_MATRIX, /* the panels: it stands for the matrix */
    TR_PACKED_BESIDE, /* any other part of a matrix whose panels are there */
} tr_packed_part;

/* name is the matrix's, if the tensor belongs to one. */
tr_packed_part tr_packed_part_of(const tr_weights *weights, const tr_tensor *tensor, char name[TR_TENSOR_NAME]);

/* The matrix that panels stand for. TR_ERROR_FORMAT: one of its three tensors is missing or does not fit the others. */
tr_status tr_packed_matrix(const tr_package *package, const tr_tensor *panels, tr_matrix *matrix, tr_error *error);

/* Every int8 matrix of the package: whole, and not there a second time in another type. */
tr_status tr_packed_check(const tr_package *package, tr_error *error);

/* Whether a tensor is a matrix that a network multiplies with: not a vector, nor a table of positions, which are added. */
bool tr_is_matrix(const tr_tensor *tensor);

/* The type that holds all matrices without loss: I8 where all are packed, else the floating type that all have, else F32.
 * Where any are blocks of whole numbers, which no type of ours holds exactly: I8, as they are computed with. */
tr_type tr_stored_type(const tr_package *package);

#endif
