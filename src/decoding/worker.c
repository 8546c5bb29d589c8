#include "decoding/forced.h"
#include "decoding/worker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int blocks_for(int positions)
{
    return (positions + TR_BLOCK - 1) / TR_BLOCK;
}

static tr_status pool_init(tr_pool *pool, const tr_cache_shape *shape, int blocks, tr_error *error)
{
    pool->block_bytes = (tr_cache_block_floats(shape) * sizeof(float) + 63) & ~(size_t)63;
    pool->spare = calloc((size_t)blocks, sizeof *pool->spare);
    if (!pool->spare)
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    const tr_status status = tr_arena_init(&pool->arena, pool->block_bytes * (size_t)blocks, error);
    /* a single sentence stays in the first pages, which are small */
    enum { SMALL = 2 << 20 };
    if (status == TR_OK && pool->arena.reserved > SMALL)
        tr_huge_pages((char *)pool->arena.base + SMALL, pool->arena.reserved - SMALL);
    return status;
}

float *tr_pool_take(tr_pool *pool)
{
    return pool->spare_count ? pool->spare[--pool->spare_count] : tr_arena_alloc(&pool->arena, pool->block_bytes);
}

void tr_pool_give(tr_pool *pool, tr_cache *cache)
{
    while (cache->count)
        pool->spare[pool->spare_count++] = cache->blocks[--cache->count];
}

void tr_pool_reset(tr_pool *pool)
{
    tr_arena_rewind(&pool->arena, 0);
    pool->spare_count = 0;
}

/* The encoder works on turns of TR_ENCODER_ROWS tokens, or on one sentence that is longer. */
static size_t arena_bytes(const tr_worker *w, const tr_network *network, int members)
{
    const tr_config *c = &network->config;
    const int longest = c->max_positions > TR_ENCODER_ROWS ? c->max_positions : TR_ENCODER_ROWS;
    const int rows = longest > w->batch_size ? longest : w->batch_size;
    const size_t block = (tr_cache_block_floats(&w->encoder_shape) * sizeof(float) + 63) & ~(size_t)63;
    const size_t blocks = (size_t)blocks_for(rows) + (size_t)w->batch_size; /* every sentence may leave one partly filled */
    return tr_state_rows_bytes(network, members, rows) + block * blocks;
}

static void *zeros(size_t count, size_t size, bool *complete)
{
    void *memory = calloc(count, size);
    *complete = *complete && memory;
    return memory;
}

static bool make_tables(tr_worker *w, const tr_network *network)
{
    const tr_config *c = &network->config;
    const size_t n = (size_t)w->batch_size, blocks = (size_t)blocks_for(c->max_positions);
    const size_t outputs = (size_t)network->logits.weight.outputs;
    bool complete = true;
    w->slots = zeros(n, sizeof *w->slots, &complete);
    w->block_tables = zeros(3 * n * blocks, sizeof *w->block_tables, &complete);
    w->histories = zeros(n * tr_history_floats(c) + 1, sizeof *w->histories, &complete);
    w->encoder_segments = zeros(n, sizeof *w->encoder_segments, &complete);
    w->self_segments = zeros(n, sizeof *w->self_segments, &complete);
    w->cross_segments = zeros(n, sizeof *w->cross_segments, &complete);
    w->order = zeros(n, sizeof *w->order, &complete);
    w->freed = zeros(n, sizeof *w->freed, &complete);
    w->bias_without_end = zeros(outputs, sizeof *w->bias_without_end, &complete);
    if (!complete)
        return false;
    for (size_t i = 0; i < n; i++) {
        w->slots[i].encoder.blocks = w->block_tables + (3 * i) * blocks;
        w->slots[i].cross.blocks = w->block_tables + (3 * i + 1) * blocks;
        w->slots[i].self.blocks = w->block_tables + (3 * i + 2) * blocks;
        w->slots[i].history = w->histories + i * tr_history_floats(c);
    }
    memcpy(w->bias_without_end, network->logits.bias, outputs * sizeof *w->bias_without_end);
    w->bias_without_end[tr_network_output(network, c->end_id)] = -INFINITY;
    return true;
}

tr_status tr_worker_create(const tr_network *network, int members, int batch_size, tr_worker **worker, tr_error *error)
{
    *worker = NULL;
    const tr_config *c = &network->config;
    /* the barrier inside wants its alignment */
    tr_worker *w = aligned_alloc(64, (sizeof *w + 63) & ~(size_t)63);
    if (!w)
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    memset(w, 0, sizeof *w);
    w->batch_size = batch_size;
    w->most_members = members;
    w->search = tr_search_default();
    w->encoder_shape = tr_cache_shape_of(1, c->encoder_heads, tr_config_head_size(c, c->encoder_heads), TR_TYPE_F32);
    w->decoder_shape = tr_decoder_cache_shape(network);
    tr_status status = tr_state_init(&w->state, network, members, arena_bytes(w, network, members), error);
    if (status == TR_OK)
        status = pool_init(&w->pool, &w->decoder_shape, 2 * batch_size * blocks_for(c->max_positions), error);
    if (status == TR_OK && !make_tables(w, network))
        status = tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    if (status != TR_OK) {
        tr_worker_destroy(w);
        return status;
    }
    *worker = w;
    return TR_OK;
}

void tr_worker_destroy(tr_worker *worker)
{
    if (!worker)
        return;
    tr_state_free(&worker->state);
    tr_arena_free(&worker->pool.arena);
    free(worker->pool.spare);
    tr_choices_free(&worker->choices);
    tr_forced_free(worker->forced);
    tr_candidates_free(&worker->candidates);
    free(worker->log_probabilities);
    free(worker->slots);
    free(worker->block_tables);
    free(worker->histories);
    free(worker->encoder_segments);
    free(worker->self_segments);
    free(worker->cross_segments);
    free(worker->order);
    free(worker->freed);
    free(worker->bias_without_end);
    free(worker->traced_logits);
    free(worker);
}

tr_status tr_worker_set_shortlist(tr_worker *worker, const tr_shortlist *shortlist, tr_error *error)
{
    return tr_choices_init(&worker->choices, shortlist, worker->state.network, worker->batch_size, error);
}

static bool make_log_probabilities(tr_worker *w)
{
    const size_t each = (size_t)w->state.network->config.max_positions + 1;
    if (!w->log_probabilities)
        w->log_probabilities = calloc((size_t)w->batch_size * each, sizeof *w->log_probabilities);
    for (int i = 0; w->log_probabilities && i < w->batch_size; i++)
        w->slots[i].log_probabilities = w->log_probabilities + (size_t)i * each;
    return w->log_probabilities;
}

tr_status tr_worker_set_search(tr_worker *w, const tr_search *search, bool scores, tr_error *error)
{
    w->search = *search;
    w->scores = scores;
    if (!scores || w->candidates.questions)
        return TR_OK;
    if (!make_log_probabilities(w))
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    return tr_candidates_init(&w->candidates, w->state.network, w->most_members, w->batch_size, 1, error);
}

void tr_worker_set_members(tr_worker *worker, int members)
{
    worker->state.members = members;
    tr_barrier_init(&worker->state.barrier, members);
}

void tr_worker_set_trace(tr_worker *worker, tr_trace_function *trace, void *argument)
{
    const size_t outputs = (size_t)worker->state.network->logits.weight.outputs;
    if (trace && !worker->traced_logits)
        worker->traced_logits = calloc((size_t)worker->batch_size * outputs, sizeof *worker->traced_logits);
    worker->state.trace = worker->traced_logits ? trace : NULL;
    worker->state.trace_argument = argument;
}

void tr_worker_set_profile(tr_worker *worker, tr_profile *profile)
{
    worker->state.profile = profile;
}

void tr_worker_meet(tr_worker *worker)
{
    tr_state_meet(&worker->state);
}

bool tr_worker_fail(tr_worker *w, tr_status status, const char *what)
{
    w->status = tr_fail(&w->error, status, "%s", what);
    return false;
}

bool tr_worker_start(tr_worker *w, const tr_decode_options *options, const tr_feed *feed)
{
    const tr_config *c = &w->state.network->config;
    w->options = *options;
    w->start = options->start ? *options->start : (tr_start){c->start_id, c->forced_first_id};
    w->feed = feed;
    w->status = TR_OK;
    w->turn = TR_TURN_END;
    w->rows = w->taken = w->tokens = 0;
    for (int i = 0; i < w->batch_size; i++)
        w->order[i] = i;
    tr_pool_reset(&w->pool);
    if (options->rows < 1 || options->rows > w->batch_size)
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "batch: its number of sentences is out of range");
    if (options->min_length < 0 || options->min_length > c->max_positions)
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "minimum length: is out of range");
    if (w->start.id < (c->start_zeros ? -1 : 0) || w->start.id >= c->target_vocabulary || w->start.first_id < -1 ||
        w->start.first_id >= c->target_vocabulary)
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "start: has a token outside the vocabulary");
    return true;
}
