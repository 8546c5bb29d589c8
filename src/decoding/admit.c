/* How sentences come into a batch: taken from the feed, and encoded. */
#include "decoding/worker.h"

#include <limits.h>

/* Sentences are taken when a quarter of the batch is free: encoding a few at a time costs more than places that stay empty
 * for a while (2,000 mixed lines at batch 32: an eighth does as well, a half or a sixteenth are 2 per cent slower). */
enum { REFILL_SHARE = 4 };

static bool check_sentence(tr_worker *w, const tr_sequence *seq)
{
    const tr_config *c = &w->ws->network->config;
    if (seq->source_length < 1 || seq->source_length > w->max_positions)
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "sentence: has more tokens than the model takes");
    if (seq->max_length < 1 || seq->max_length > w->max_positions || seq->max_length < w->options.min_length)
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "maximum length: is out of range");
    for (int t = 0; t < seq->source_length; t++)
        if (seq->source[t] < 0 || seq->source[t] >= c->source_vocabulary)
            return tr_worker_fail(w, TR_ERROR_ARGUMENT, "sentence: has a token outside the vocabulary");
    for (int t = 0; t < seq->prefix_length; t++)
        if (seq->prefix[t] < 0 || seq->prefix[t] >= c->target_vocabulary || seq->prefix[t] == c->eos_id)
            return tr_worker_fail(w, TR_ERROR_ARGUMENT, "prefix: has a token outside the vocabulary, or the end mark");
    return true;
}

bool tr_worker_admit(tr_worker *w)
{
    const int most = w->options.rows, enough = (most + REFILL_SHARE - 1) / REFILL_SHARE;
    if (w->decoded && most - w->decoded < enough)
        return true;
    while (w->taken < most) {
        tr_sequence *seq = w->callbacks->next(w->callbacks->argument, w->taken ? w->options.tokens - w->tokens : INT_MAX);
        if (!seq)
            break;
        if (!check_sentence(w, seq))
            return false;
        seq->target_length = 0;
        seq->finished = seq->looped = false;
        tr_slot *slot = tr_worker_slot(w, w->taken++);
        slot->sequence = seq;
        slot->key = tr_draw_key(w->search.seed, seq->source, seq->source_length);
        tr_slot_begin(slot, w->search.sample ? w->shape.beams : 1, w->shape.beams, &w->hyps);
        w->tokens += seq->source_length;
    }
    return true;
}

static bool fill_cache(tr_worker *w, tr_kv_cache *cache, int positions)
{
    for (cache->count = 0; cache->count < (positions + TR_BLOCK - 1) / TR_BLOCK; cache->count++)
        if (!(cache->blocks[cache->count] = tr_pool_take(&w->pool)))
            return tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: no cache block left");
    return true;
}

/* The encoder's own caches hold one layer and live in the first model's arena. */
static bool fill_encoder_cache(tr_worker *w, tr_kv_cache *cache, int positions)
{
    for (cache->count = 0; cache->count < (positions + TR_BLOCK - 1) / TR_BLOCK; cache->count++)
        if (!(cache->blocks[cache->count] = tr_arena_alloc(&w->ws->arena, w->encoder_block)))
            return tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: too small for the batch");
    return true;
}

bool tr_worker_lay_out_source(tr_worker *w, tr_slot *slot)
{
    const int length = slot->sequence->source_length;
    w->encoder_seqs[w->chunk] =
        (tr_seq){.first_row = w->chunk_rows, .rows = length, .cache = &slot->encoder, .length = length};
    w->cross_seqs[w->chunk] = (tr_seq){.first_row = w->chunk_rows, .rows = length, .cache = &slot->cross, .length = length};
    w->chunk_rows += length;
    w->chunk++;
    return fill_encoder_cache(w, &slot->encoder, length) && fill_cache(w, &slot->cross, length);
}

/* As many sentences as fill about TR_ENCODER_ROWS rows. */
bool tr_worker_lay_out_chunk(tr_worker *w)
{
    w->chunk = w->chunk_rows = 0;
    tr_worker_rewind(w);
    for (int i = w->decoded; i < w->taken; i++) {
        tr_slot *slot = tr_worker_slot(w, i);
        const int length = slot->sequence->source_length;
        if (w->chunk && w->chunk_rows + length > TR_ENCODER_ROWS)
            break;
        if (!tr_worker_lay_out_source(w, slot))
            return false;
        tr_shortlist_output *shortlist = tr_worker_shortlist(w, slot);
        if (shortlist)
            tr_shortlist_output_list(&w->shortlists, shortlist, w->ws->network, slot->sequence->source, length);
    }
    return tr_worker_rows(w, w->chunk_rows);
}

static void embed_chunk(tr_worker *w, tr_workspace *ws, int thread)
{
    const tr_range own = tr_share(w->chunk_rows, 1, thread, ws->threads);
    for (int i = 0; i < w->chunk; i++) {
        const tr_sequence *sequence = tr_worker_slot(w, w->decoded + i)->sequence;
        for (int t = 0; t < sequence->source_length; t++) {
            const int row = w->encoder_seqs[i].first_row + t;
            if (row >= own.begin && row < own.end)
                tr_embed(ws, &ws->network->source, row, sequence->source[t], t);
        }
    }
}

/* The threads' shares of what the sentences of the chunk may become. */
static void gather_choices(tr_worker *w, int thread)
{
    tr_workspace *ws = w->ws;
    for (int i = 0; w->shortlists.shortlist && i < w->chunk; i++) {
        tr_shortlist_output *shortlist = tr_worker_shortlist(w, tr_worker_slot(w, w->decoded + i));
        const tr_range own = tr_share(shortlist->count, TR_PANEL, thread, ws->threads);
        tr_shortlist_output_gather(shortlist, ws->network, w->bias, own.begin, own.end);
    }
}

/* The encoder's cache is free for the next model then: all threads have passed the last layer's barriers. */
static void encode_with(tr_worker *w, tr_model_state *state, int thread)
{
    tr_forward fwd = tr_forward_begin(&state->ws, thread, w->chunk_rows);
    tr_encoder_forward(&fwd, &state->encoder_shape, w->encoder_seqs, w->chunk);
    tr_decoder_project_source(&fwd, &state->decoder_shape, w->cross_seqs, w->chunk);
}

void tr_worker_encode_chunk(tr_worker *w, int thread)
{
    for (int t = 0; t < w->models.count; t++)
        embed_chunk(w, &w->model_states[t].ws, thread);
    tr_workspace_barrier(w->ws);
    for (int t = 0; t < w->models.count; t++)
        encode_with(w, &w->model_states[t], thread);
}

void tr_worker_encode(tr_worker *w, int thread)
{
    gather_choices(w, thread);
    tr_worker_encode_chunk(w, thread);
}
