/* The tensors of a model file made from those of a package: floats are converted, matrices packed into int8 or unpacked.
 * None of it needs more memory than a panel of 16 outputs and, of a matrix being packed, a few numbers an output. */
#ifndef TR_FORMATS_STORED_H
#define TR_FORMATS_STORED_H

#include "formats/packed.h"

typedef enum tr_stored_kind {
    TR_STORED_COPY,
    TR_STORED_CONVERT, /* floats to another floating type */
    TR_STORED_PACK,    /* a matrix to panels */
    TR_STORED_SCREEN,  /* a matrix, or its panels, to the 4-bit copy of these */
    TR_STORED_FACTOR,  /* a vector that belongs to panels; follows them */
    TR_STORED_UNPACK,  /* an int8 matrix to floats */
} tr_stored_kind;

/* The vectors that packing makes, an element an output each. */
typedef enum tr_factor {
    TR_FACTOR_SCALE,
    TR_FACTOR_COLSUM,
    TR_FACTORS,
} tr_factor;

typedef struct tr_stored {
    tr_tensor tensor; /* name, type, shape and bytes as stored; data is that of a copy only */
    tr_stored_kind kind;
    const tr_tensor *from;
    tr_factor factor; /* TR_STORED_FACTOR */
} tr_stored;

/* Takes the bytes of a tensor as they come about. */
typedef tr_status tr_sink(void *argument, const void *data, size_t size, tr_error *error);

typedef struct tr_store {
    const tr_package *package;
    const tr_kernels *kernels; /* any level: all give the same bits */
    tr_type type;              /* of matrices: F32, F16, BF16, I8 */
    tr_sink *sink;
    void *argument;
    void *factors[TR_FACTORS]; /* of the matrix packed last, else NULL: floats and, the sums, int32_t */
} tr_store;

typedef tr_status tr_stored_each(void *argument, const tr_stored *stored, tr_error *error);

/* Visits all that becomes a tensor, always in the same order: the SentencePiece models, the shortlist, the allowed tokens,
 * then the weights. */
tr_status tr_store_list(const tr_store *store, tr_stored_each *each, void *argument, tr_error *error);

/* Sends one tensor's bytes to the sink. TR_ERROR_NUMERIC: a weight is too large for f16, or not finite and to be packed. */
tr_status tr_store_write(tr_store *store, const tr_stored *stored, tr_error *error);

void tr_store_free(tr_store *store);

#endif
