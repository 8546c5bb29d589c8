/* Blocks of 32 positions of keys and values for all decoder layers (see tr_kv_cache) of all models, from reserved address
 * space: a block costs memory once it is used, and blocks given back are used again first. Hypotheses that begin alike share
 * blocks. */
#ifndef TR_DECODING_POOL_H
#define TR_DECODING_POOL_H

#include "model/kv_cache.h"
#include "util/arena.h"

typedef struct tr_pool {
    tr_arena arena;
    size_t block_bytes;
    int32_t *holders; /* [blocks] caches that a block is in */
    float **spare;    /* [spare_count], given back */
    int spare_count;
} tr_pool;

tr_status tr_pool_init(tr_pool *pool, size_t block_floats, size_t blocks, tr_error *error);
void tr_pool_free(tr_pool *pool); /* a zeroed struct is allowed */

/* A block, NULL if the reservation is used up (it holds all that a full batch can need, so it is not). */
float *tr_pool_take(tr_pool *pool);
/* One more cache holds it. */
void tr_pool_share(tr_pool *pool, float *block);
/* Gives back all blocks of a cache. */
void tr_pool_give(tr_pool *pool, tr_kv_cache *cache);
/* Takes back every block that was ever handed out. */
void tr_pool_reset(tr_pool *pool);

static inline int tr_blocks_for(int positions)
{
    return (positions + TR_BLOCK - 1) / TR_BLOCK;
}

#endif
