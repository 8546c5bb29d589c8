/* The key/value memory of one model's decoder: blocks of 32 positions for all its layers (see tr_kv_cache), from reserved
 * address space. A block costs memory once it is used, and blocks that were given back are used again first. Hypotheses with
 * a common beginning share blocks. One thread at a time, but for tr_kv_pool_copy_blocks. */
#ifndef TR_DECODING_POOL_H
#define TR_DECODING_POOL_H

#include "model/kv_cache.h"
#include "util/arena.h"

/* A block whose first positions are to be copied to another one. */
typedef struct tr_block_copy {
    const float *from;
    float *to;
    int filled; /* positions */
} tr_block_copy;

typedef struct tr_kv_pool {
    tr_kv_shape shape;
    tr_arena arena;
    size_t block_bytes;
    int32_t *holders; /* [blocks] caches that hold a block */
    float **spare;    /* [spare_count] blocks that were given back */
    int spare_count;
    tr_block_copy *copies; /* [copy_count] to be made before the decoder's next step */
    int copy_count;
} tr_kv_pool;

static inline int tr_blocks_for(int positions)
{
    return (positions + TR_BLOCK - 1) / TR_BLOCK;
}

/* For so many blocks, and so many copies between two steps. */
tr_status tr_kv_pool_init(tr_kv_pool *pool, tr_kv_shape shape, size_t blocks, size_t copies, tr_error *error);
void tr_kv_pool_free(tr_kv_pool *pool); /* a zeroed struct is allowed */
/* Takes back every block, and forgets the copies. */
void tr_kv_pool_reset(tr_kv_pool *pool);

/* Adds blocks to a cache until it holds so many positions. TR_ERROR_MEMORY: no block is left; the pool is made for a full
 * batch, so this does not happen. */
tr_status tr_kv_pool_extend(tr_kv_pool *pool, tr_kv_cache *cache, int positions, tr_error *error);
/* Makes `to`, whose blocks are forgotten, a cache with the same `positions` positions as `from`: shares the full blocks, and
 * notes a copy of a last block that is partly filled. */
tr_status tr_kv_pool_fork(tr_kv_pool *pool, const tr_kv_cache *from, tr_kv_cache *to, int positions, tr_error *error);
/* Gives back all blocks of a cache. */
void tr_kv_pool_give(tr_kv_pool *pool, tr_kv_cache *cache);

/* All threads: makes the copies, each thread those of the heads that it reads itself. */
void tr_kv_pool_copy_blocks(const tr_kv_pool *pool, int thread, int threads);

#endif
