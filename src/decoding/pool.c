#include "decoding/pool.h"

#include <stdlib.h>
#include <string.h>

tr_status tr_pool_init(tr_pool *pool, size_t block_floats, size_t blocks, tr_error *error)
{
    *pool = (tr_pool){.block_bytes = (block_floats * sizeof(float) + 63) & ~(size_t)63};
    pool->spare = calloc(blocks, sizeof *pool->spare);
    pool->holders = calloc(blocks, sizeof *pool->holders);
    if (!pool->spare || !pool->holders) {
        tr_pool_free(pool);
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    }
    const tr_status status = tr_arena_init(&pool->arena, pool->block_bytes * blocks, error);
    /* a single sentence stays in the first pages, which are small */
    enum { SMALL = 2 << 20 };
    if (status == TR_OK && pool->arena.reserved > SMALL)
        tr_huge_pages((char *)pool->arena.base + SMALL, pool->arena.reserved - SMALL);
    return status;
}

void tr_pool_free(tr_pool *pool)
{
    tr_arena_free(&pool->arena);
    free(pool->holders);
    free(pool->spare);
    *pool = (tr_pool){0};
}

static int32_t *holders_of(tr_pool *pool, const float *block)
{
    return &pool->holders[(size_t)((const unsigned char *)block - pool->arena.base) / pool->block_bytes];
}

float *tr_pool_take(tr_pool *pool)
{
    float *block = pool->spare_count ? pool->spare[--pool->spare_count] : tr_arena_alloc(&pool->arena, pool->block_bytes);
    if (block)
        *holders_of(pool, block) = 1;
    return block;
}

void tr_pool_share(tr_pool *pool, float *block)
{
    ++*holders_of(pool, block);
}

void tr_pool_give(tr_pool *pool, tr_kv_cache *cache)
{
    while (cache->count) {
        float *block = cache->blocks[--cache->count];
        if (--*holders_of(pool, block) == 0)
            pool->spare[pool->spare_count++] = block;
    }
}

void tr_pool_reset(tr_pool *pool)
{
    tr_arena_rewind(&pool->arena, 0);
    pool->spare_count = 0;
}
