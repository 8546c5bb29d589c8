/* Greedy decoding of a batch. All members run the same steps; what only one may do (bookkeeping, embedding) member 0 does
 * between two barriers while the others wait. */
#include "decoding/worker.h"

static bool failed(tr_worker *w, tr_status status, const char *what)
{
    w->status = tr_fail(&w->error, status, "%s", what);
    return false;
}

/* All members ask whether member 0 has failed; it goes on, and may change the status, only when all have read it. */
static bool all_is_well(tr_worker *w)
{
    tr_state_meet(&w->state);
    const bool well = w->status == TR_OK;
    tr_state_meet(&w->state);
    return well;
}

/* ------------------------------------------------------------------------------------------------------------ encoder */

static bool check_batch(tr_worker *w, const tr_decode_options *options)
{
    const tr_config *c = &w->state.network->config;
    w->status = TR_OK;
    if (w->count < 1 || w->count > w->batch_size)
        return failed(w, TR_ERROR_ARGUMENT, "batch: its number of sentences is out of range");
    if (options->max_length < 1 || options->max_length > c->max_positions || options->min_length < 0 ||
        options->min_length > options->max_length)
        return failed(w, TR_ERROR_ARGUMENT, "maximum length: is out of range");
    for (int i = 0; i < w->count; i++) {
        const tr_sentence *s = w->sentences[i];
        if (s->source_length < 1 || s->source_length > c->max_positions)
            return failed(w, TR_ERROR_ARGUMENT, "sentence: has more tokens than the model takes");
        for (int t = 0; t < s->source_length; t++)
            if (s->source[t] < 0 || s->source[t] >= c->source_vocabulary)
                return failed(w, TR_ERROR_ARGUMENT, "sentence: has a token outside the vocabulary");
    }
    return true;
}

static bool fill_cache(tr_worker *w, tr_cache *cache, int positions)
{
    for (cache->count = 0; cache->count < (positions + TR_BLOCK - 1) / TR_BLOCK; cache->count++)
        if (!(cache->blocks[cache->count] = tr_pool_take(&w->pool)))
            return failed(w, TR_ERROR_MEMORY, "working memory: no cache block left");
    return true;
}

/* The encoder's own caches hold one layer and live in the arena. */
static bool fill_encoder_cache(tr_worker *w, tr_cache *cache, int positions)
{
    const size_t bytes = tr_cache_block_floats(&w->encoder_shape) * sizeof(float);
    for (cache->count = 0; cache->count < (positions + TR_BLOCK - 1) / TR_BLOCK; cache->count++)
        if (!(cache->blocks[cache->count] = tr_arena_alloc(&w->state.arena, bytes)))
            return failed(w, TR_ERROR_MEMORY, "working memory: too small for the batch");
    return true;
}

/* The next sentences whose tokens fill about TR_ENCODER_ROWS rows; chunk_rows is 0 when none are left. */
static bool next_chunk(tr_worker *w)
{
    w->chunk_first = w->chunk_last;
    w->chunk_rows = 0;
    tr_arena_rewind(&w->state.arena, 0);
    while (w->chunk_last < w->count) {
        const int i = w->chunk_last, length = w->sentences[i]->source_length;
        if (w->chunk_rows && w->chunk_rows + length > TR_ENCODER_ROWS)
            break;
        w->encoder_segments[i] = (tr_segment){w->chunk_rows, length, &w->encoder[i], 0, length};
        w->cross_segments[i] = (tr_segment){w->chunk_rows, length, &w->cross[i], 0, length};
        if (!fill_encoder_cache(w, &w->encoder[i], length) || !fill_cache(w, &w->cross[i], length))
            return false;
        w->chunk_rows += length;
        w->chunk_last++;
    }
    return tr_state_rows(&w->state, w->chunk_rows) || failed(w, TR_ERROR_MEMORY, "working memory: too small for the batch");
}

/* Encodes the chunk and projects its output to the keys and values of every decoder layer's cross-attention. */
static void encode_chunk(tr_worker *w, int member)
{
    tr_state *s = &w->state;
    const tr_network *n = s->network;
    const int first = w->chunk_first, count = w->chunk_last - first, rows = w->chunk_rows;
    const tr_range own = tr_share(rows, 1, member, s->members);
    for (int i = first; i < w->chunk_last; i++)
        for (int t = 0; t < w->sentences[i]->source_length; t++) {
            const int row = w->encoder_segments[i].first + t;
            if (row >= own.first && row < own.last)
                tr_embed(s, &n->source, row, w->sentences[i]->source[t], t);
        }
    tr_state_meet(s);
    tr_flow flow = tr_flow_start(s, member, rows);
    tr_encoder_forward(&flow, &w->encoder_shape, w->encoder_segments + first, count);
    for (int l = 0; l < n->config.decoder_layers; l++)
        tr_attention_project(&flow, &n->decoder[l].cross, &w->decoder_shape, l, w->cross_segments + first, count);
}

static bool encode(tr_worker *w, int member)
{
    for (;;) {
        if (member == 0)
            next_chunk(w);
        if (!all_is_well(w))
            return false;
        if (w->chunk_rows == 0)
            return true;
        encode_chunk(w, member);
        tr_state_meet(&w->state);
        tr_state_enter(&w->state, member, TR_PART_REST);
    }
}

/* ------------------------------------------------------------------------------------------------------------ decoder */

/* Embeds each row's newest token and points its attention at its caches. */
static bool prepare_step(tr_worker *w)
{
    const tr_config *c = &w->state.network->config;
    for (int r = 0; r < w->rows; r++) {
        const int i = w->row_sentence[r];
        const tr_sentence *s = w->sentences[i];
        tr_cache *self = &w->self[i];
        if (w->step % TR_BLOCK == 0 && !(self->blocks[self->count++] = tr_pool_take(&w->pool)))
            return failed(w, TR_ERROR_MEMORY, "working memory: no cache block left");
        w->self_segments[r] = (tr_segment){r, 1, self, w->step, w->step + 1};
        w->cross_segments[r] = (tr_segment){r, 1, &w->cross[i], 0, s->source_length};
        tr_embed(&w->state, &w->state.network->target, r, w->step ? s->target[w->step - 1] : c->start_id, w->step);
    }
    return true;
}

static bool start_decoding(tr_worker *w)
{
    tr_arena_rewind(&w->state.arena, 0);
    if (!tr_state_rows(&w->state, w->count))
        return failed(w, TR_ERROR_MEMORY, "working memory: too small for the batch");
    w->step = 0;
    w->rows = w->count;
    for (int i = 0; i < w->count; i++) {
        w->row_sentence[i] = i;
        w->self[i].count = 0;
        w->sentences[i]->target_length = 0;
        w->sentences[i]->finished = false;
    }
    return prepare_step(w);
}

/* The model says itself which token comes now: nothing is to be picked. */
static bool is_forced(const tr_worker *w)
{
    return w->step == 0 && w->state.network->config.forced_first_id >= 0;
}

/* The best of what the members found in their shares of the vocabulary, in the order of ids: the lowest id wins a tie. */
static tr_best best_of_members(const tr_state *s, int row)
{
    tr_best best = s->member[0].best[row];
    for (int m = 1; m < s->members; m++) {
        const tr_best *other = &s->member[m].best[row];
        if (other->value > best.value) {
            best.value = other->value;
            best.id = other->id;
        }
        best.nan |= other->nan;
    }
    return best;
}

bool tr_runs_in_circle(const int32_t *tokens, int count)
{
    for (int period = 1; period <= 8; period++) {
        const int needed = 3 * period < 12 ? 12 : 3 * period;
        int same = period; /* tokens at the end that fit the circle */
        while (same < needed && same < count && tokens[count - 1 - same] == tokens[count - 1 - same + period])
            same++;
        if (same == needed)
            return true;
    }
    return false;
}

static bool is_complete(const tr_sentence *s, const tr_decode_options *options)
{
    return s->finished || s->target_length == options->max_length ||
           (options->stop_loops && s->target_length >= options->min_length &&
            tr_runs_in_circle(s->target, s->target_length));
}

/* Appends each row's token; rows that are complete leave the batch. */
static bool take_tokens(tr_worker *w, const tr_decode_options *options)
{
    const tr_config *c = &w->state.network->config;
    int kept = 0;
    for (int r = 0; r < w->rows; r++) {
        const int i = w->row_sentence[r];
        tr_sentence *s = w->sentences[i];
        int32_t id = c->forced_first_id;
        if (!is_forced(w)) {
            const tr_best best = best_of_members(&w->state, r);
            if (best.nan || best.id < 0)
                return failed(w, TR_ERROR_NUMERIC, "model: the network computes no valid numbers (damaged weights?)");
            id = best.id;
        }
        s->finished = id == c->end_id;
        if (!s->finished)
            s->target[s->target_length++] = id;
        if (is_complete(s, options)) {
            tr_pool_give(&w->pool, &w->self[i]);
            tr_pool_give(&w->pool, &w->cross[i]);
        } else {
            w->row_sentence[kept++] = i;
        }
    }
    w->rows = kept;
    w->step++;
    return true;
}

static void trace_logits(tr_worker *w, tr_flow *flow, const float *bias)
{
    tr_state *s = &w->state;
    tr_logits_all(flow, bias, w->traced_logits);
    tr_state_meet(s);
    if (flow->member == 0)
        s->trace(s->trace_argument, "logits", 0, w->traced_logits, flow->rows, s->network->config.target_vocabulary);
}

static void decode(tr_worker *w, int member, const tr_decode_options *options)
{
    tr_state *s = &w->state;
    if (member == 0)
        start_decoding(w);
    if (!all_is_well(w))
        return;
    while (w->status == TR_OK && w->rows > 0) { /* stays as it is until the members have met in the layers */
        tr_flow flow = tr_flow_start(s, member, w->rows);
        tr_decoder_forward(&flow, &w->decoder_shape, w->self_segments, w->cross_segments);
        const float *bias = w->step < options->min_length ? w->bias_without_end : s->network->logits.bias;
        if (!is_forced(w))
            tr_logits_best(&flow, bias);
        if (s->trace)
            trace_logits(w, &flow, bias);
        tr_state_meet(s);
        tr_state_enter(s, member, TR_PART_REST);
        if (member == 0 && take_tokens(w, options) && w->rows > 0)
            prepare_step(w);
        tr_state_meet(s);
    }
}

tr_status tr_decode_greedy(tr_worker *worker, int member, tr_sentence *const *sentences, int count,
                           const tr_decode_options *options, tr_error *error)
{
    tr_worker *w = worker;
    tr_state_meet(&w->state); /* nobody is still reading the last batch's status */
    if (member == 0) {
        w->sentences = sentences;
        w->count = count;
        w->chunk_last = 0;
        tr_pool_reset(&w->pool);
        check_batch(w, options);
    }
    if (all_is_well(w) && encode(w, member))
        decode(w, member, options);
    const tr_status status = w->status;
    if (status != TR_OK && member == 0 && error)
        *error = w->error;
    return status;
}
