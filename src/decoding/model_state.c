#include "decoding/model_state.h"

#include <stdlib.h>
#include <string.h>

#include "util/numbers.h"
#include "util/team.h"

/* -------------------------------------------------------------------------------------------------------- key/value pool */

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

int tr_blocks_for(int positions)
{
    return (positions + TR_BLOCK - 1) / TR_BLOCK;
}

/* ----------------------------------------------------------------------------------------------------------- model state */

static size_t encoder_block_bytes(const tr_kv_shape *shape)
{
    return (tr_kv_block_floats(shape) * sizeof(float) + 63) & ~(size_t)63;
}

/* The encoder takes chunks of TR_ENCODER_ROWS tokens, or one sentence that is longer. */
static int workspace_rows(tr_model_memory m)
{
    return tr_max_int(tr_max_int(m.positions, TR_ENCODER_ROWS), m.sentences * m.hypotheses);
}

static size_t workspace_bytes(const tr_model_state *state, const tr_network *network, tr_model_memory m)
{
    const int rows = workspace_rows(m);
    const size_t blocks = (size_t)tr_blocks_for(rows) + (size_t)m.sentences; /* every sentence may leave one partly filled */
    return tr_workspace_bytes(network, m.threads, rows) + encoder_block_bytes(&state->encoder_shape) * blocks;
}

tr_status tr_model_state_init(tr_model_state *state, const tr_network *network, tr_model_memory m, tr_error *error)
{
    const size_t sentences = (size_t)m.sentences, rows = sentences * (size_t)m.hypotheses;
    const size_t blocks = sentences * (size_t)(1 + m.hypotheses) * (size_t)tr_blocks_for(m.positions);
    tr_profile *profile = state->ws.profile;
    const int threads = state->ws.threads ? state->ws.threads : m.threads;
    tr_model_state_free(state);
    *state = (tr_model_state){.encoder_shape = tr_encoder_kv_shape(network),
                              .self_attends = network->config.mixer == TR_MIXER_SELF_ATTENTION,
                              .recurrent_floats = tr_recurrent_floats(&network->config),
                              .max_rows = workspace_rows(m)};
    tr_status status = tr_workspace_init(&state->ws, network, m.threads, workspace_bytes(state, network, m), error);
    state->ws.profile = profile;
    tr_model_state_set_threads(state, threads);
    if (status == TR_OK)
        status = tr_kv_pool_init(&state->pool, tr_decoder_kv_shape(network), blocks, rows, error);
    state->encoder_seqs = calloc(sentences, sizeof *state->encoder_seqs);
    state->cross_seqs = calloc(2 * sentences, sizeof *state->cross_seqs);
    state->self_seqs = calloc(3 * rows, sizeof *state->self_seqs);
    if (status == TR_OK && !(state->encoder_seqs && state->cross_seqs && state->self_seqs))
        status = tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    return status;
}

void tr_model_state_free(tr_model_state *state)
{
    tr_workspace_free(&state->ws);
    tr_kv_pool_free(&state->pool);
    free(state->encoder_seqs);
    free(state->cross_seqs);
    free(state->self_seqs);
}

void tr_model_state_set_threads(tr_model_state *state, int threads)
{
    state->ws.threads = threads;
    tr_barrier_init(&state->ws.barrier, threads);
}

tr_status tr_model_state_set_rows(tr_model_state *state, int rows, tr_error *error)
{
    if (!tr_workspace_set_rows(&state->ws, rows))
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: too small for the batch");
    return TR_OK;
}
