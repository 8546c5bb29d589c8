/* The table of named tensors that a format's reader fills and that the network is made from.
 *
 * Names are those of docs/formats.md (token_embd.weight, enc.blk.0.attn_q.weight, ...): GGUF files hold them, other formats
 * translate theirs. Matrices are row-major [outputs, inputs]. Tensors of formats that store [inputs, outputs] have
 * `transposed` set and are transposed while they are read, so that no second copy is needed. Tensors point into memory that
 * the table does not own (usually a mapped file) unless owned is set. */
#ifndef TR_MODEL_WEIGHTS_H
#define TR_MODEL_WEIGHTS_H

#include "util/numbers.h"
#include "util/error.h"
#include "util/strmap.h"

const char *tr_type_name(tr_type type); /* "f32" */

bool tr_type_is_real(tr_type type); /* whether tr_tensor_to_f32 reads it: floats, and blocks */

enum { TR_MAX_RANK = 4, TR_TENSOR_NAME = 64, TR_MAX_BLOCK = 256 };

/* An encoding of a fixed number of elements with factors of their own (formats/gguf/blocks.h). Each row of a tensor consists
 * of whole blocks. */
typedef struct tr_blocks {
    const char *name;       /* "Q8_0" */
    size_t elements, bytes; /* of one block; at most TR_MAX_BLOCK elements */
    void (*read)(const unsigned char *block, float *out);
} tr_blocks;

typedef struct tr_tensor tr_tensor;

/* How the elements of a tensor are computed when they are read, if a file does not hold them in the wanted form: nothing of
 * the tensor's size is kept. It is the first member of a format's own struct, which the table owns as a block. */
typedef struct tr_origin {
    /* Elements first .. first + count - 1: floats as f32, others in their own type. Of packed panels, whole panels. */
    void (*make)(const tr_tensor *tensor, size_t first, size_t count, void *out);
    const void *data; /* what make reads */
    size_t bytes;
    bool in_order; /* its bytes are read in the order of the elements */
} tr_origin;

struct tr_tensor {
    char name[TR_TENSOR_NAME];
    tr_type type;
    int rank;
    int64_t shape[TR_MAX_RANK]; /* outermost first, as in PyTorch: [outputs, inputs]; each >= 0 */
    const void *data;           /* floats may be unaligned; other types are aligned */
    size_t bytes;               /* elements * tr_type_size(type), or blocks * their size; checked by tr_weights_add */
    bool owned;                 /* data was malloc'ed and is freed with the table */
    const tr_blocks *blocks;    /* TR_TYPE_BLOCKS; else NULL */
    bool transposed;         /* a matrix of floats whose data is [inputs, outputs], row-major; shape is [outputs, inputs] */
    bool mapped;             /* data, or that of origin, is in a mapped file, whose pages may be dropped */
    const tr_origin *origin; /* NULL: elements are at data; else data is NULL */
};

typedef struct tr_weights {
    tr_tensor **tensors; /* [count] in the order in which they were added */
    size_t count, capacity;
    tr_strmap index;
    void **blocks; /* memory that tensors point into, freed with the table */
    size_t block_count;
} tr_weights;

/* A zeroed struct is an empty table. */
void tr_weights_free(tr_weights *weights);

/* Adds a copy of the description. TR_ERROR_FORMAT: duplicate or overlong name, bad rank, or bytes that do not equal the
 * product of the shape and the element size (computed without overflow). */
tr_status tr_weights_add(tr_weights *weights, const tr_tensor *tensor, tr_error *error) TR_CHECKED;
const tr_tensor *tr_weights_find(const tr_weights *weights, const char *name); /* NULL if absent */

/* Gives a block from malloc, which several tensors may point into, to the table. On failure it is freed. */
tr_status tr_weights_keep(tr_weights *weights, void *block, tr_error *error) TR_CHECKED;
/* Moves the blocks of one table to another. */
tr_status tr_weights_move_blocks(tr_weights *to, tr_weights *from, tr_error *error) TR_CHECKED;

/* Translates the name of a tensor in a file to the name used here; leaves out empty if the tensor is not needed. */
typedef void tr_tensor_rename(const char *name, char out[TR_TENSOR_NAME]);

/* A matrix NAME stored in int8 consists of NAME.k4n16, NAME.scale, NAME.colsum, and perhaps NAME.alpha. That of the output
 * projection may also have a screen, NAME.k8n16 (docs/formats.md), and NAME.rows [outputs, inputs], the same integers row by
 * row if a format has them so; NAME.rows is never written to a file. */
#define TR_PACKED_PANELS ".k4n16"
#define TR_PACKED_SCALE  ".scale"
#define TR_PACKED_COLSUM ".colsum"
#define TR_PACKED_ALPHA  ".alpha"
#define TR_PACKED_ROWS   ".rows"
#define TR_SCREEN_PANELS ".k8n16"

/* out = name + suffix; false: it is too long for a tensor. */
bool tr_packed_name(char out[TR_TENSOR_NAME], const char *name, const char *suffix);
const tr_tensor *tr_weights_part(const tr_weights *weights, const char *name, const char *suffix); /* NULL if absent */
/* Whether the matrix is present, as floats or in int8. */
bool tr_weights_has_matrix(const tr_weights *weights, const char *name);
/* The name of the output projection's matrix: output.weight, or the target embedding. */
const char *tr_weights_output(const tr_weights *weights);

uint64_t tr_tensor_elements(const tr_tensor *tensor);
/* Bytes of the elements, from type, shape and blocks. False: more than max, or a row does not consist of whole blocks. */
bool tr_tensor_measure(const tr_tensor *tensor, uint64_t max, uint64_t *bytes);

/* Elements first .. first + count - 1 as f32, of a type for which tr_type_is_real holds. */
void tr_tensor_to_f32(const tr_tensor *tensor, size_t first, size_t count, float *out);
/* Elements first .. first + count - 1 of I8 or I32; of packed panels, whole panels. */
void tr_tensor_copy(const tr_tensor *tensor, size_t first, size_t count, void *out);

/* Says that elements first .. next - 1 of a tensor that is read in order have been read and are not needed soon. Drops pages
 * of mapped files from memory, a block at a time; they can still be read again. */
void tr_tensor_passed(const tr_tensor *tensor, size_t first, size_t next);

/* Converts f32 to type (F32, F16 or BF16; to nearest, ties to even). out: count * tr_type_size(type) bytes. */
void tr_from_f32(tr_type type, const float *in, size_t count, void *out);

#endif
