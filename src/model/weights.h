/* The table of named tensors that every format fills and that the network is built from.
 *
 * Names are those of docs/formats.md (token_embd.weight, enc.blk.0.attn_q.weight, ...): GGUF files hold them, other
 * formats translate theirs. Matrices are row-major [outputs, inputs]: one output's weights lie together; those of formats
 * that have it the other way round say so, and are turned as they are read, so that nothing is there twice. Tensors point
 * into memory that somebody else owns (a mapped file, usually) unless owned is set. */
#ifndef TR_MODEL_WEIGHTS_H
#define TR_MODEL_WEIGHTS_H

#include "kernels/types.h"
#include "util/error.h"
#include "util/strmap.h"

const char *tr_type_name(tr_type type); /* "f32" */

bool tr_type_is_real(tr_type type); /* whether tr_tensor_to_f32 reads it: floats, and blocks */

enum { TR_MAX_RANK = 4, TR_TENSOR_NAME = 64, TR_MAX_BLOCK = 256 };

/* A way of storing equally many elements together, with factors of their own (formats/gguf/blocks.h). A row of a tensor is
 * whole blocks. */
typedef struct tr_blocks {
    const char *name;       /* "Q8_0" */
    size_t elements, bytes; /* of a block; at most TR_MAX_BLOCK elements */
    void (*read)(const unsigned char *block, float *out);
} tr_blocks;

typedef struct tr_tensor tr_tensor;

/* What a tensor is made from when it is read, where a file does not hold its elements as they are wanted: nothing of the
 * size of a tensor is kept. The first thread of what a format needs for it, which the table keeps as a block. */
typedef struct tr_origin {
    /* Elements [first, first + count): of a floating type as f32, else as they are. Of panels, first and count are whole
     * ones. */
    void (*make)(const tr_tensor *tensor, size_t first, size_t count, void *out);
    const void *data; /* what is read */
    size_t bytes;
    bool in_order; /* read from the beginning to the end, as elements are */
} tr_origin;

struct tr_tensor {
    char name[TR_TENSOR_NAME];
    tr_type type;
    int rank;
    int64_t shape[TR_MAX_RANK]; /* outermost first, as in PyTorch: [outputs, inputs]; each >= 0 */
    const void *data;           /* of a floating type: at any address; else aligned */
    size_t bytes;               /* = elements * tr_type_size(type), or blocks * their size; checked by tr_weights_add */
    bool owned;                 /* data was malloc'ed and is freed with the table */
    const tr_blocks *blocks;    /* TR_TYPE_BLOCKS; else NULL */
    bool turned;             /* a matrix of a floating type whose data is [inputs, outputs], row-major; shape is as ever */
    bool mapped;             /* data, or the origin's, lies in the mapping of a file, whose pages may be dropped */
    const tr_origin *origin; /* then data is NULL */
};

typedef struct tr_weights {
    tr_tensor **tensors; /* in the order of adding */
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

/* Makes a block from malloc, which several tensors may point into, the table's own. On failure it is freed. */
tr_status tr_weights_keep(tr_weights *weights, void *block, tr_error *error) TR_CHECKED;
/* Moves the blocks of one table to another. */
tr_status tr_weights_move_blocks(tr_weights *to, tr_weights *from, tr_error *error) TR_CHECKED;

/* What a format's reader is given: translates a tensor's name in the file to ours; leaves out empty for a tensor that is not
 * wanted. */
typedef void tr_tensor_rename(const char *name, char out[TR_TENSOR_NAME]);

/* A matrix NAME stored in int8 is NAME.k4n16 with NAME.scale and NAME.colsum, and perhaps NAME.alpha; the output
 * projection's may have NAME.k8n16, too (docs/formats.md). NAME.rows, [outputs, inputs], are the same
 * integers where a format has them row by row; it is never stored. */
#define TR_PACKED_PANELS ".k4n16"
#define TR_PACKED_SCALE  ".scale"
#define TR_PACKED_COLSUM ".colsum"
#define TR_PACKED_ALPHA  ".alpha"
#define TR_PACKED_ROWS   ".rows"
#define TR_SCREEN_PANELS ".k8n16"

/* name + suffix; false: it is too long for a tensor. */
bool tr_packed_name(char out[TR_TENSOR_NAME], const char *name, const char *suffix);
const tr_tensor *tr_weights_part(const tr_weights *weights, const char *name, const char *suffix); /* NULL if absent */
/* Whether the matrix is there, plain or in int8. */
bool tr_weights_has_matrix(const tr_weights *weights, const char *name);
/* The name of the output projection's matrix: one of its own, or the embedding of the target side. */
const char *tr_weights_output(const tr_weights *weights);

uint64_t tr_tensor_elements(const tr_tensor *tensor);
/* The bytes that type, shape and blocks come to. False: more than most, or a row is not whole blocks. */
bool tr_tensor_measure(const tr_tensor *tensor, uint64_t most, uint64_t *bytes);

/* Elements [first, first + count) as f32, of any type that tr_type_is_real. */
void tr_tensor_to_f32(const tr_tensor *tensor, size_t first, size_t count, float *out);
/* Elements [first, first + count) of I8 or I32, which must be there or, of panels, whole panels. */
void tr_tensor_copy(const tr_tensor *tensor, size_t first, size_t count, void *out);

/* To be told as a tensor is read in order: elements [first, next) now, and not again soon. Pages that a mapped file would
 * keep in memory are dropped, a block at a time; whoever reads them all the same finds them. */
void tr_tensor_passed(const tr_tensor *tensor, size_t first, size_t next);

/* f32 to type (F32, F16, BF16; round to nearest, ties to even); out takes count * tr_type_size(type) bytes. */
void tr_from_f32(tr_type type, const float *in, size_t count, void *out);

#endif
