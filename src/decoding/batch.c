#include "decoding/batch.h"
#include "model/embedding.h"
#include "model/transformer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Sentences are taken when a quarter of the batch is free: encoding a few at a time costs more than places that stay empty
 * for a while (2,000 mixed lines at batch 32: an eighth does as well, a half or a sixteenth are 2 per cent slower). */
enum { REFILL_SHARE = 4 };

tr_status tr_batch_init(tr_batch *batch, int capacity, tr_error *error)
{
    const size_t n = (size_t)capacity;
    *batch = (tr_batch){.slots = calloc(n, sizeof *batch->slots),
                        .capacity = capacity,
                        .order = calloc(n, sizeof *batch->order),
                        .leaving = calloc(n, sizeof *batch->leaving)};
    if (batch->slots && batch->order && batch->leaving)
        return TR_OK;
    tr_batch_free(batch);
    return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
}

void tr_batch_free(tr_batch *batch)
{
    free(batch->slots);
    free(batch->order);
    free(batch->leaving);
    *batch = (tr_batch){0};
}

tr_status tr_batch_start(tr_batch *batch, const tr_decode_options *options, tr_error *error)
{
    batch->max_sentences = options->rows;
    batch->max_tokens = options->tokens;
    batch->decoded = batch->taken = batch->tokens = batch->rows = batch->chunk = batch->chunk_rows =
        batch->max_prefill_rows = 0;
    for (int i = 0; i < batch->capacity; i++)
        batch->order[i] = i;
    if (options->rows < 1 || options->rows > batch->capacity)
        return tr_fail(error, TR_ERROR_ARGUMENT, "batch: its number of sentences is out of range");
    return TR_OK;
}

/* ----------------------------------------------------------------------------------------------------- coming and going */

bool tr_batch_wants_sentences(const tr_batch *batch)
{
    const int enough = (batch->max_sentences + REFILL_SHARE - 1) / REFILL_SHARE;
    return !batch->decoded || batch->max_sentences - batch->decoded >= enough;
}

tr_slot *tr_batch_take(tr_batch *batch, const tr_decode_callbacks *feed)
{
    if (batch->taken == batch->max_sentences)
        return NULL;
    tr_sequence *seq = feed->next(feed->argument, batch->taken ? batch->max_tokens - batch->tokens : INT_MAX);
    if (!seq)
        return NULL;
    tr_slot *slot = tr_batch_slot(batch, batch->taken++);
    slot->sequence = seq;
    batch->tokens += seq->source_length;
    return slot;
}

tr_status tr_check_source(const tr_sequence *seq, const tr_config *config, int max_positions, tr_error *error)
{
    if (seq->source_length < 1 || seq->source_length > max_positions)
        return tr_fail(error, TR_ERROR_ARGUMENT, "sentence: has more tokens than the model takes");
    for (int t = 0; t < seq->source_length; t++)
        if (seq->source[t] < 0 || seq->source[t] >= config->source_vocabulary)
            return tr_fail(error, TR_ERROR_ARGUMENT, "sentence: has a token outside the vocabulary");
    return TR_OK;
}

tr_sequence *tr_batch_leave(tr_batch *batch, tr_slot *slot, tr_model_state *models, int model_count)
{
    tr_sequence *seq = slot->sequence;
    for (int m = 0; m < model_count; m++)
        tr_kv_pool_give(&models[m].pool, &slot->caches[m].cross);
    batch->tokens -= seq->source_length;
    slot->sequence = NULL;
    return seq;
}

void tr_batch_compact(tr_batch *batch)
{
    int staying = 0, leaving = 0;
    for (int i = 0; i < batch->decoded; i++)
        if (tr_batch_slot(batch, i)->sequence)
            batch->order[staying++] = batch->order[i];
        else
            batch->leaving[leaving++] = batch->order[i];
    memcpy(batch->order + staying, batch->leaving, (size_t)leaving * sizeof *batch->leaving);
    batch->decoded = batch->taken = staying;
}

/* ----------------------------------------------------------------------------------------------------------- the encoder */

/* The encoder's blocks hold one layer, and live as long as the chunk. */
static tr_status extend_encoder_cache(tr_model_state *model, tr_kv_cache *cache, int positions, tr_error *error)
{
    const size_t bytes = tr_kv_block_floats(&model->encoder_shape) * sizeof(float);
    for (cache->count = 0; cache->count < tr_blocks_for(positions); cache->count++)
        if (!(cache->blocks[cache->count] = tr_arena_alloc(&model->ws.arena, bytes)))
            return tr_fail(error, TR_ERROR_MEMORY, "working memory: too small for the batch");
    return TR_OK;
}

/* Sentence number `at` of the chunk, whose rows begin at first_row. */
static tr_status lay_out_source(tr_model_state *model, tr_source_cache *caches, int at, int first_row, int length,
                                tr_error *error)
{
    model->encoder_seqs[at] = (tr_seq){.first_row = first_row, .rows = length, .cache = &caches->encoder, .length = length};
    model->cross_seqs[at] = (tr_seq){.first_row = first_row, .rows = length, .cache = &caches->cross, .length = length};
    caches->cross.count = 0;
    const tr_status status = extend_encoder_cache(model, &caches->encoder, length, error);
    return status == TR_OK ? tr_kv_pool_extend(&model->pool, &caches->cross, length, error) : status;
}

tr_status tr_batch_lay_out_chunk(tr_batch *batch, tr_model_state *models, int model_count, int max_rows, tr_error *error)
{
    tr_status status = TR_OK;
    int target_rows = 0;
    batch->chunk = batch->chunk_rows = 0;
    for (int m = 0; m < model_count; m++)
        tr_arena_rewind(&models[m].ws.arena, 0);
    for (int i = batch->decoded; i < batch->taken; i++) {
        tr_slot *slot = tr_batch_slot(batch, i);
        const tr_forced *forced = slot->sequence->forced;
        const int length = slot->sequence->source_length;
        target_rows += forced ? forced->length + forced->finished : 0;
        if (batch->chunk && (batch->chunk_rows + length > max_rows || target_rows > max_rows))
            break;
        for (int m = 0; m < model_count && status == TR_OK; m++)
            status = lay_out_source(&models[m], &slot->caches[m], batch->chunk, batch->chunk_rows, length, error);
        batch->chunk++;
        batch->chunk_rows += length;
    }
    for (int m = 0; m < model_count && status == TR_OK; m++)
        status = tr_model_state_set_rows(&models[m], batch->chunk_rows, error);
    return status;
}

static void embed_chunk(const tr_batch *batch, tr_model_state *model, int thread)
{
    tr_workspace *ws = &model->ws;
    const tr_range own = tr_share(batch->chunk_rows, 1, thread, ws->threads);
    for (int i = 0; i < batch->chunk; i++) {
        const tr_sequence *seq = tr_batch_slot(batch, batch->decoded + i)->sequence;
        for (int t = 0; t < seq->source_length; t++) {
            const int row = model->encoder_seqs[i].first_row + t;
            if (row >= own.begin && row < own.end)
                tr_embed(ws, &ws->network->source, row, seq->source[t], t);
        }
    }
}

void tr_batch_encode(const tr_batch *batch, tr_model_state *models, int model_count, int thread)
{
    for (int m = 0; m < model_count; m++)
        embed_chunk(batch, &models[m], thread);
    tr_workspace_barrier(&models[0].ws);
    for (int m = 0; m < model_count; m++) {
        tr_model_state *model = &models[m];
        tr_forward fwd = tr_forward_begin(&model->ws, thread, batch->chunk_rows);
        tr_encoder_forward(&fwd, &model->encoder_shape, model->encoder_seqs, batch->chunk);
        tr_decoder_project_source(&fwd, &model->pool.shape, model->cross_seqs, batch->chunk);
    }
}

tr_slot *tr_batch_slot(const tr_batch *batch, int i)
{
    return &batch->slots[batch->order[i]];
}
