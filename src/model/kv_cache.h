/* Keys and values of sequences. Memory belongs to the caller: see decoding/model_state.h. */
#ifndef TR_MODEL_KV_CACHE_H
#define TR_MODEL_KV_CACHE_H

#include "model/network.h"

/* Keys and values of one sequence, in blocks of TR_BLOCK = 32 positions. A block is [layers, heads, head_floats]; the entry
 * of a head holds keys [32, pad16(head_size)] in its first half and values of the same shape in its second half. */
typedef struct tr_kv_cache {
    float **blocks;
    int count; /* blocks in use */
} tr_kv_cache;

/* How blocks are laid out. Keys and values are stored as F16 if the network is int8 (but not Marian's int8): decoding many
 * sequences waits for reading them, and F16 loses far less than int8 does. */
typedef struct tr_kv_shape {
    int layers, heads, head_size; /* layers: 1 if all layers use the same entries in turn */
    tr_type type;                 /* F32 or F16 */
    size_t row_bytes;             /* of one position's key, or of its value */
    size_t head_floats; /* floats of a head's entry. Each half is a sixteenth larger than its contents, or the first
                           positions of all heads would compete for few sets of the CPU's cache */
    bool k_transposed;  /* keys are [pad16(head_size), 32]: the layout that tr_attn_prefill reads */
} tr_kv_shape;

/* The cache that all encoder layers use in turn: F32, k_transposed. */
tr_kv_shape tr_encoder_kv_shape(const tr_network *network);
/* The caches of the decoder's self-attention and cross-attention, with entries for each layer. */
tr_kv_shape tr_decoder_kv_shape(const tr_network *network);

/* Floats of a block, without base. */
size_t tr_kv_block_floats(const tr_kv_shape *shape);
/* Where in a block a head's keys begin, in floats; its values begin head_floats / 2 later. */
size_t tr_kv_offset(const tr_kv_shape *shape, int layer, int head);

#endif
