#include "decoding/pool.h"
#include "util/team.h"

#include <stdlib.h>
#include <string.h>

tr_status tr_kv_pool_init(tr_kv_pool *pool, tr_kv_shape shape, size_t blocks, size_t copies, tr_error *error)
{
    *pool = (tr_kv_pool){.shape = shape, .block_bytes = (tr_kv_block_floats(&shape) * sizeof(float) + 63) & ~(size_t)63};
    pool->spare = calloc(blocks, sizeof *pool->spare);
    pool->holders = calloc(blocks, sizeof *pool->holders);
    pool->copies = calloc(copies, sizeof *pool->copies);
    if (!pool->spare || !pool->holders || !pool->copies) {
        tr_kv_pool_free(pool);
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    }
    const tr_status status = tr_arena_init(&pool->arena, pool->block_bytes * blocks, error);
    /* a single sentence stays in the first pages, which are small */
    enum { SMALL = 2 << 20 };
    if (status == TR_OK && pool->arena.reserved > SMALL)
        tr_huge_pages((char *)pool->arena.base + SMALL, pool->arena.reserved - SMALL);
    return status;
}

void tr_kv_pool_free(tr_kv_pool *pool)
{
    tr_arena_free(&pool->arena);
    free(pool->holders);
    free(pool->spare);
    free(pool->copies);
    *pool = (tr_kv_pool){0};
}

void tr_kv_pool_reset(tr_kv_pool *pool)
{
    tr_arena_rewind(&pool->arena, 0);
    pool->spare_count = pool->copy_count = 0;
}

static int32_t *block_holders(tr_kv_pool *pool, const float *block)
{
    return &pool->holders[(size_t)((const unsigned char *)block - pool->arena.base) / pool->block_bytes];
}

static float *take_block(tr_kv_pool *pool)
{
    float *block = pool->spare_count ? pool->spare[--pool->spare_count] : tr_arena_alloc(&pool->arena, pool->block_bytes);
    if (block)
        *block_holders(pool, block) = 1;
    return block;
}

static tr_status no_block_left(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "working memory: no cache block left");
}

tr_status tr_kv_pool_extend(tr_kv_pool *pool, tr_kv_cache *cache, int positions, tr_error *error)
{
    for (; cache->count < tr_blocks_for(positions); cache->count++)
        if (!(cache->blocks[cache->count] = take_block(pool)))
            return no_block_left(error);
    return TR_OK;
}

tr_status tr_kv_pool_fork(tr_kv_pool *pool, const tr_kv_cache *from, tr_kv_cache *to, int positions, tr_error *error)
{
    const int filled = positions % TR_BLOCK;
    for (to->count = 0; to->count < from->count; to->count++) {
        float *block = from->blocks[to->count];
        if (filled && to->count == from->count - 1) {
            float *copy = take_block(pool);
            if (!copy)
                return no_block_left(error);
            pool->copies[pool->copy_count++] = (tr_block_copy){block, copy, filled};
            block = copy;
        } else {
            ++*block_holders(pool, block);
        }
        to->blocks[to->count] = block;
    }
    return TR_OK;
}

void tr_kv_pool_give(tr_kv_pool *pool, tr_kv_cache *cache)
{
    while (cache->count) {
        float *block = cache->blocks[--cache->count];
        if (--*block_holders(pool, block) == 0)
            pool->spare[pool->spare_count++] = block;
    }
}

void tr_kv_pool_copy_blocks(const tr_kv_pool *pool, int thread, int threads)
{
    const tr_kv_shape *shape = &pool->shape;
    const tr_range heads = tr_share(shape->heads, 1, thread, threads);
    for (int i = 0; i < pool->copy_count; i++) {
        const tr_block_copy *copy = &pool->copies[i];
        const size_t bytes = shape->row_bytes * (size_t)copy->filled;
        for (int l = 0; l < shape->layers; l++)
            for (int h = heads.begin; h < heads.end; h++) {
                const size_t keys = tr_kv_offset(shape, l, h), values = keys + shape->head_floats / 2;
                memcpy(copy->to + keys, copy->from + keys, bytes);
                memcpy(copy->to + values, copy->from + values, bytes);
            }
    }
}
