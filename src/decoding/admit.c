/* How sentences come into a batch: taken from the feed, and encoded. */
#include "decoding/worker.h"

#include <limits.h>

/* Sentences are taken when a quarter of the batch is free: encoding a few at a time costs more than places that stay empty
 * for a while (2,000 mixed lines at batch 32: an eighth does as well, a half or a sixteenth are 2 per cent slower). */
enum { REFILL_SHARE = 4 };

static bool check_sentence(tr_worker *w, const tr_sentence *s)
{
    const tr_config *c = &w->state->network->config;
    if (s->source_length < 1 || s->source_length > w->max_positions)
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "sentence: has more tokens than the model takes");
    if (s->max_length < 1 || s->max_length > w->max_positions || s->max_length < w->options.min_length)
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "maximum length: is out of range");
    for (int t = 0; t < s->source_length; t++)
        if (s->source[t] < 0 || s->source[t] >= c->source_vocabulary)
            return tr_worker_fail(w, TR_ERROR_ARGUMENT, "sentence: has a token outside the vocabulary");
    for (int t = 0; t < s->prefix_length; t++)
        if (s->prefix[t] < 0 || s->prefix[t] >= c->target_vocabulary || s->prefix[t] == c->end_id)
            return tr_worker_fail(w, TR_ERROR_ARGUMENT, "prefix: has a token outside the vocabulary, or the end mark");
    return true;
}

bool tr_worker_admit(tr_worker *w)
{
    const int most = w->options.rows, enough = (most + REFILL_SHARE - 1) / REFILL_SHARE;
    if (w->decoded && most - w->decoded < enough)
        return true;
    while (w->taken < most) {
        tr_sentence *s = w->feed->next(w->feed->argument, w->taken ? w->options.tokens - w->tokens : INT_MAX);
        if (!s)
            break;
        if (!check_sentence(w, s))
            return false;
        s->target_length = 0;
        s->finished = s->looped = false;
        tr_slot *slot = tr_worker_slot(w, w->taken++);
        slot->sentence = s;
        slot->key = tr_draw_key(w->search.seed, s->source, s->source_length);
        tr_slot_begin(slot, w->search.sample ? w->breadth.lanes : 1, w->breadth.lanes, &w->paths);
        w->tokens += s->source_length;
    }
    return true;
}

static bool fill_cache(tr_worker *w, tr_cache *cache, int positions)
{
    for (cache->count = 0; cache->count < (positions + TR_BLOCK - 1) / TR_BLOCK; cache->count++)
        if (!(cache->blocks[cache->count] = tr_pool_take(&w->pool)))
            return tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: no cache block left");
    return true;
}

/* The encoder's own caches hold one layer and live in the first model's arena. */
static bool fill_encoder_cache(tr_worker *w, tr_cache *cache, int positions)
{
    for (cache->count = 0; cache->count < (positions + TR_BLOCK - 1) / TR_BLOCK; cache->count++)
        if (!(cache->blocks[cache->count] = tr_arena_alloc(&w->state->arena, w->encoder_block)))
            return tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: too small for the batch");
    return true;
}

bool tr_worker_lay_out_source(tr_worker *w, tr_slot *slot)
{
    const int length = slot->sentence->source_length;
    w->encoder_segments[w->chunk] =
        (tr_segment){.first = w->chunk_rows, .rows = length, .cache = &slot->encoder, .length = length};
    w->cross_segments[w->chunk] =
        (tr_segment){.first = w->chunk_rows, .rows = length, .cache = &slot->cross, .length = length};
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
        const int length = slot->sentence->source_length;
        if (w->chunk && w->chunk_rows + length > TR_ENCODER_ROWS)
            break;
        if (!tr_worker_lay_out_source(w, slot))
            return false;
        tr_choice *choice = tr_worker_choice(w, slot);
        if (choice)
            tr_choice_list(&w->choices, choice, w->state->network, slot->sentence->source, length);
    }
    return tr_worker_rows(w, w->chunk_rows);
}

static void embed_chunk(tr_worker *w, tr_state *s, int member)
{
    const tr_range own = tr_share(w->chunk_rows, 1, member, s->members);
    for (int i = 0; i < w->chunk; i++) {
        const tr_sentence *sentence = tr_worker_slot(w, w->decoded + i)->sentence;
        for (int t = 0; t < sentence->source_length; t++) {
            const int row = w->encoder_segments[i].first + t;
            if (row >= own.first && row < own.last)
                tr_embed(s, &s->network->source, row, sentence->source[t], t);
        }
    }
}

/* The members' shares of what the sentences of the chunk may become. */
static void gather_choices(tr_worker *w, int member)
{
    tr_state *s = w->state;
    for (int i = 0; w->choices.shortlist && i < w->chunk; i++) {
        tr_choice *choice = tr_worker_choice(w, tr_worker_slot(w, w->decoded + i));
        const tr_range own = tr_share(choice->count, TR_PANEL, member, s->members);
        tr_choice_gather(choice, s->network, w->bias, own.first, own.last);
    }
}

/* The encoder's cache is free for the next model then: all members have passed the last layer's barriers. */
static void encode_with(tr_worker *w, tr_track *track, int member)
{
    const tr_network *n = track->state.network;
    tr_flow flow = tr_flow_start(&track->state, member, w->chunk_rows);
    tr_encoder_forward(&flow, &track->encoder_shape, w->encoder_segments, w->chunk);
    for (int l = 0; l < n->config.decoder_layers; l++)
        tr_attention_project(&flow, &n->decoder[l].cross, &track->decoder_shape, l, w->cross_segments, w->chunk);
}

void tr_worker_encode_chunk(tr_worker *w, int member)
{
    for (int t = 0; t < w->models.count; t++)
        embed_chunk(w, &w->tracks[t].state, member);
    tr_state_meet(w->state);
    for (int t = 0; t < w->models.count; t++)
        encode_with(w, &w->tracks[t], member);
}

void tr_worker_encode(tr_worker *w, int member)
{
    gather_choices(w, member);
    tr_worker_encode_chunk(w, member);
}
