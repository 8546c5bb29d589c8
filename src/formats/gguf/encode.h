/* The tensors of a GGUF file, encoded from those of a package: floats are converted, matrices packed into int8 or unpacked.
 * Encoding needs memory for a panel of 16 outputs and, while a matrix is packed, for a few numbers for each output. */
#ifndef TR_FORMATS_GGUF_ENCODE_H
#define TR_FORMATS_GGUF_ENCODE_H

#include "formats/int8.h"
#include "formats/package.h"

typedef enum tr_encoding {
    TR_ENCODING_COPY,
    TR_ENCODING_CONVERT, /* floats to another floating-point type */
    TR_ENCODING_PACK,    /* a matrix to int8 panels */
    TR_ENCODING_SCREEN,  /* a matrix, or its panels, to the 4-bit copy for screening */
    TR_ENCODING_VECTOR,  /* scales or column sums of the matrix packed just before */
    TR_ENCODING_UNPACK,  /* int8 panels to a matrix of floats */
} tr_encoding;

/* The vectors that packing computes, with an element for each output. */
typedef enum tr_packed_vector {
    TR_PACKED_VECTOR_SCALE,
    TR_PACKED_VECTOR_COLSUM,
    TR_PACKED_VECTORS,
} tr_packed_vector;

/* A tensor of the file. */
typedef struct tr_file_tensor {
    tr_tensor tensor; /* name, type, shape and bytes in the file; data only for TR_ENCODING_COPY */
    tr_encoding encoding;
    const tr_tensor *from;
    tr_packed_vector vector; /* for TR_ENCODING_VECTOR */
} tr_file_tensor;

typedef struct tr_file_tensors {
    tr_file_tensor *items; /* [count], owned */
    size_t count, capacity;
} tr_file_tensors;

/* Receives the bytes of a tensor in order. */
typedef tr_status tr_encoder_sink(void *argument, const void *data, size_t size, tr_error *error);

typedef struct tr_encoder {
    const tr_package *package;
    const tr_kernels *kernels; /* any level: all give the same bits */
    tr_type type;              /* of matrices: F32, F16, BF16, I8 */
    tr_encoder_sink *sink;
    void *argument;
    void *vectors[TR_PACKED_VECTORS]; /* of the matrix packed last: float scales, int32_t sums; NULL: none yet */
} tr_encoder;

/* Lists the tensors of the file in order: SentencePiece models or BPE codes, the shortlist, the allowed tokens, the weights.
 * Free the list with tr_file_tensors_free, also on failure. */
tr_status tr_encoder_list(const tr_encoder *encoder, tr_file_tensors *list, tr_error *error) TR_CHECKED;
void tr_file_tensors_free(tr_file_tensors *list);

/* Sends the bytes of one tensor to the sink; tensors must be encoded in the order of the list. TR_ERROR_NUMERIC: a weight is
 * too large for f16, or is to be packed and not finite. */
tr_status tr_encoder_write(tr_encoder *encoder, const tr_file_tensor *t, tr_error *error) TR_CHECKED;

void tr_encoder_free(tr_encoder *encoder); /* frees vectors */

#endif
