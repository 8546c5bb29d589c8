/* Forced decoding. All tokens of a target go through the decoder at once, each seeing those before it; chunks of sentences
 * fill about TURN_ROWS rows of either side: more would read weights no more seldom than matters. Of the logits no more is in
 * memory than a tile. A row's bits are those that decoding it step by step would give. */
#include "decoding/forced.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoding/worker.h"

enum { TURN_ROWS = 256, TILE_ROWS = 128, SHARES = 2 /* segments of a sentence: see add_target */ };

typedef struct tr_forced_work {
    tr_seq *self, *cross;                           /* [SHARES * batch_size] */
    tr_attention_capture *self_watch, *cross_watch; /* the same */
    bool scoring;                                   /* somebody in the chunk asks for log-probabilities */
    int segments, rows;                             /* of the decoder's next turn */
    tr_arena arena;                                 /* what follows; most: rows of a turn at most */
    int32_t *tokens;                                /* [most] each row's */
    float *given;                                   /* [most] their logits, of all models together */
    double *over;                                   /* [most] and what these are over */
    float *log_probabilities;                       /* [most] */
    tr_exp_sum *sums;                               /* [most, segments of the outputs] */
    float *tiles;                                   /* [threads, TILE_ROWS, TR_LOGITS_SEGMENT] */
} tr_forced_work;

/* --------------------------------------------------------------------------------------------------------------- memory */

static bool make_tables(tr_worker *w, tr_forced_work *work, int most, size_t tiles)
{
    const size_t n = SHARES * (size_t)w->batch_size, rows = (size_t)most;
    const size_t segments = (size_t)tr_logits_segments(w->ws->network->all_tokens_output.weight.outputs);
    work->self = calloc(n, sizeof *work->self);
    work->cross = calloc(n, sizeof *work->cross);
    work->self_watch = calloc(n, sizeof *work->self_watch);
    work->cross_watch = calloc(n, sizeof *work->cross_watch);
    work->tokens = tr_arena_alloc(&work->arena, rows * sizeof *work->tokens);
    work->over = tr_arena_alloc(&work->arena, rows * sizeof *work->over);
    work->given = tr_arena_alloc(&work->arena, rows * sizeof *work->given);
    work->log_probabilities = tr_arena_alloc(&work->arena, rows * sizeof *work->log_probabilities);
    work->sums = tr_arena_alloc(&work->arena, rows * segments * sizeof *work->sums);
    work->tiles = tr_arena_alloc(&work->arena, tiles * sizeof *work->tiles);
    return work->self && work->cross && work->self_watch && work->cross_watch && work->tokens && work->given && work->over &&
           work->log_probabilities && work->sums && work->tiles;
}

tr_status tr_worker_prepare_forced(tr_worker *worker, tr_error *error)
{
    const tr_network *n = worker->ws->network;
    const int most = worker->max_positions > TURN_ROWS ? worker->max_positions : TURN_ROWS;
    const size_t row = 3 * sizeof(float) + sizeof(double) +
                       (size_t)tr_logits_segments(n->all_tokens_output.weight.outputs) * sizeof(tr_exp_sum);
    const size_t tiles = (size_t)worker->max_threads * TILE_ROWS * TR_LOGITS_SEGMENT;
    if (worker->forced)
        return TR_OK;
    tr_forced_work *work = worker->forced = calloc(1, sizeof *work);
    if (!work)
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    tr_status status = tr_arena_init(&work->arena, (size_t)most * row + tiles * sizeof(float) + 6 * 64, error);
    if (status == TR_OK && !make_tables(worker, work, most, tiles))
        status = tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    if (status != TR_OK) {
        tr_forced_free(work);
        worker->forced = NULL;
    }
    return status;
}

void tr_forced_free(tr_forced_work *work)
{
    if (!work)
        return;
    free(work->self);
    free(work->cross);
    free(work->self_watch);
    free(work->cross_watch);
    tr_arena_free(&work->arena);
    free(work);
}

/* ---------------------------------------------------------------------------------------------------- thread 0: the feed */

static int rows_of(const tr_forced *forced)
{
    return forced->length + forced->finished;
}

static bool check_ids(const int32_t *ids, int count, int vocabulary)
{
    for (int i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= vocabulary)
            return false;
    return true;
}

static bool check_sentence(tr_worker *w, const tr_sequence *seq)
{
    const tr_config *c = &w->ws->network->config;
    const tr_forced *f = seq->forced;
    if (!f)
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "sentence: has no target");
    if (seq->source_length < 1 || seq->source_length > w->max_positions)
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "sentence: has more tokens than the model takes");
    if (f->length < 0 || f->length > w->max_positions || rows_of(f) < 1 || rows_of(f) > w->max_positions)
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "target: its number of tokens is out of range");
    if (!check_ids(seq->source, seq->source_length, c->source_vocabulary) ||
        !check_ids(f->target, f->length, c->target_vocabulary))
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "sentence: has a token outside the vocabulary");
    return true;
}

static bool admit(tr_worker *w)
{
    while (w->taken < w->options.rows) {
        tr_sequence *seq = w->callbacks->next(w->callbacks->argument, INT_MAX);
        if (!seq)
            break;
        if (!check_sentence(w, seq))
            return false;
        tr_slot *slot = tr_worker_slot(w, w->taken++);
        slot->sequence = seq;
        tr_slot_begin(slot, 1, 1, &w->hyps);
    }
    return true;
}

/* Those in the chunk are complete, and leave the batch: order[0..rows) are. */
static bool release_chunk(tr_worker *w)
{
    for (int i = w->decoded; i < w->decoded + w->chunk; i++) {
        tr_slot_clear(tr_worker_slot(w, i), 1);
        if (!w->callbacks->done(w->callbacks->argument, tr_worker_slot(w, i)->sequence))
            return tr_worker_fail(w, TR_ERROR_CANCELLED, "scoring: cancelled");
    }
    w->decoded += w->chunk;
    if (w->decoded == w->taken)
        w->decoded = w->taken = 0;
    return true;
}

/* ------------------------------------------------------------------------------------------------- thread 0: laying out */

static const tr_attention_capture *watched(const tr_attention_capture *capture)
{
    return capture->weights ? capture : NULL;
}

/* The encoder's turn: the next sentences that fit. */
static bool lay_out_sources(tr_worker *w)
{
    int targets = 0;
    w->chunk = w->chunk_rows = 0;
    tr_worker_rewind(w);
    tr_pool_reset(&w->pool);
    for (int i = w->decoded; i < w->taken; i++) {
        tr_slot *slot = tr_worker_slot(w, i);
        const tr_forced *f = slot->sequence->forced;
        const int length = slot->sequence->source_length;
        if (w->chunk && (w->chunk_rows + length > TURN_ROWS || targets + rows_of(f) > TURN_ROWS))
            break;
        if (!tr_worker_lay_out_source(w, slot))
            return false;
        w->encoder_seqs[w->chunk - 1].capture = watched(&f->encoder);
        targets += rows_of(f);
    }
    return tr_worker_rows(w, w->chunk_rows);
}

/* A watch of rows from position on. */
static const tr_attention_capture *watched_from(const tr_attention_capture *capture, int position,
                                                tr_attention_capture *part)
{
    *part = *capture;
    if (part->weights)
        part->weights += (size_t)position * part->row_stride;
    return watched(part);
}

/* Rows [position, last) of a sentence. */
static void add_segment(tr_forced_work *work, tr_slot *slot, int position, int last)
{
    const tr_sequence *seq = slot->sequence;
    const int at = work->segments++;
    work->self[at] = (tr_seq){.first_row = work->rows,
                              .rows = last - position,
                              .cache = &slot->beams[0].live[0]->self,
                              .position = position,
                              .length = position + 1,
                              .causal = 1,
                              .recurrent = slot->beams[0].live[0]->recurrent,
                              .capture = watched_from(&seq->forced->decoder, position, &work->self_watch[at])};
    work->cross[at] = (tr_seq){.first_row = work->rows,
                               .rows = last - position,
                               .cache = &slot->cross,
                               .length = seq->source_length,
                               .capture = watched_from(&seq->forced->cross, position, &work->cross_watch[at])};
    work->rows += last - position;
}

/* The first token is a segment of its own where it has other keys than the rest (raw_keys). */
static bool add_target(tr_worker *w, tr_slot *slot)
{
    const tr_config *c = &w->ws->network->config;
    const tr_forced *f = slot->sequence->forced;
    tr_forced_work *work = w->forced;
    const int rows = rows_of(f);
    tr_kv_cache *self = &slot->beams[0].live[0]->self;
    self->count = 0;
    for (int p = 0; w->attends && p < rows; p += TR_BLOCK)
        if (!(self->blocks[self->count++] = tr_pool_take(&w->pool)))
            return tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: no cache block left");
    for (int r = 0; r < rows; r++)
        work->tokens[work->rows + r] = r < f->length ? f->target[r] : c->eos_id;
    if (c->unnormalised_kv && rows > 1)
        add_segment(work, slot, 0, 1);
    add_segment(work, slot, c->unnormalised_kv && rows > 1, rows);
    return true;
}

/* The decoder's turn, of the sentences that were encoded. */
static bool lay_out_targets(tr_worker *w)
{
    tr_forced_work *work = w->forced;
    work->rows = work->segments = 0;
    work->scoring = false;
    for (int i = 0; i < w->chunk; i++) {
        tr_slot *slot = tr_worker_slot(w, w->decoded + i);
        work->scoring = work->scoring || slot->sequence->forced->log_probabilities;
        if (!add_target(w, slot))
            return false;
    }
    tr_worker_rewind(w);
    return tr_worker_rows(w, work->rows);
}

/* ---------------------------------------------------------------------------------------------------------- all threads */

static void embed_targets(const tr_worker *w, tr_workspace *ws, int thread)
{
    const tr_forced_work *work = w->forced;
    const tr_range own = tr_share(work->rows, 1, thread, ws->threads);
    for (int i = 0; i < work->segments; i++)
        for (int r = 0; r < work->self[i].rows; r++) {
            const int row = work->self[i].first_row + r, position = work->self[i].position + r;
            if (row >= own.begin && row < own.end)
                tr_embed(ws, &ws->network->target, row, position ? work->tokens[row - 1] : w->start.id, position);
        }
}

/* Outputs [first, last) of rows from row on by one of the models: their sums, and the logits of those that were given. */
static void see_tile(const tr_worker *w, tr_forward *fwd, int model, int row, int rows, int first, int last)
{
    const tr_network *n = w->models.networks[model];
    const tr_forced_work *work = w->forced;
    float *tile = work->tiles + (size_t)fwd->thread * TILE_ROWS * TR_LOGITS_SEGMENT;
    const size_t segments = (size_t)tr_logits_segments(n->all_tokens_output.weight.outputs),
                 segment = (size_t)(first / TR_LOGITS_SEGMENT);
    tr_output_logits_tile(fwd, &n->all_tokens_output, n->all_tokens_output.bias, row, rows, first, last, tile,
                          TR_LOGITS_SEGMENT);
    for (int r = 0; r < rows; r++) {
        const float *x = tile + (size_t)r * TR_LOGITS_SEGMENT;
        const int32_t token = work->tokens[row + r];
        work->sums[(size_t)(row + r) * segments + segment] = n->kernels->exp_sum(x, last - first);
        if (token >= first && token < last)
            tr_logits_weigh(w->models.weights[model], &x[token - first], &work->given[row + r], 1, model > 0);
    }
}

/* log softmax(W x + b), of each row its own token, as the models' weights add them up; model after model. */
static void take_log_probabilities(tr_worker *w, tr_forward *fwd, int model)
{
    tr_workspace *ws = fwd->ws;
    const tr_forced_work *work = w->forced;
    const int outputs = ws->network->all_tokens_output.weight.outputs, segments = tr_logits_segments(outputs);
    const tr_range own = tr_share(outputs, TR_LOGITS_SEGMENT, fwd->thread, ws->threads);
    tr_workspace_enter(ws, fwd->thread, TR_PROFILE_OUTPUT);
    for (int first = own.begin; first < own.end; first += TR_LOGITS_SEGMENT)
        for (int row = 0; row < fwd->rows; row += TILE_ROWS)
            see_tile(w, fwd, model, row, fwd->rows - row < TILE_ROWS ? fwd->rows - row : TILE_ROWS, first,
                     own.end - first < TR_LOGITS_SEGMENT ? own.end : first + TR_LOGITS_SEGMENT);
    tr_workspace_barrier(ws);
    const tr_range rows = tr_share(fwd->rows, 1, fwd->thread, ws->threads);
    for (int r = rows.begin; r < rows.end; r++) {
        const double over = tr_log_sum_exp(work->sums + (size_t)r * (size_t)segments, segments);
        work->over[r] = (model ? work->over[r] : 0) + w->models.weights[model] * over;
        work->log_probabilities[r] = (float)(work->given[r] - work->over[r]); /* the last model's stay */
    }
}

static void decode(tr_worker *w, int thread)
{
    const tr_forced_work *work = w->forced;
    const int models = work->scoring ? w->models.count : 1; /* attention is the first one's */
    for (int t = 0; t < models; t++)
        embed_targets(w, &w->model_states[t].ws, thread);
    tr_workspace_barrier(w->ws);
    for (int t = 0; t < models; t++) {
        tr_model_state *state = &w->model_states[t];
        tr_forward fwd = tr_forward_begin(&state->ws, thread, work->rows);
        tr_decoder_forward(&fwd, &state->decoder_shape, work->self, work->segments, work->cross, work->segments);
        if (work->scoring)
            take_log_probabilities(w, &fwd, t);
    }
}

/* --------------------------------------------------------------------------------------------------------------- turns */

/* What the decoder's turn has found for a sentence, whose rows begin at from. */
static bool take_result(tr_worker *w, const tr_forced *f, const float *from)
{
    for (int r = 0; r < rows_of(f); r++)
        if (isnan(from[r]))
            return tr_worker_fail_numeric(w);
    memcpy(f->log_probabilities, from, (size_t)rows_of(f) * sizeof *from);
    if (w->start.first_id >= 0)
        f->log_probabilities[0] = f->length && f->target[0] == w->start.first_id ? 0 : -INFINITY;
    return true;
}

static bool take_results(tr_worker *w)
{
    const float *from = w->forced->log_probabilities;
    for (int i = w->decoded; i < w->decoded + w->chunk; i++) {
        const tr_forced *f = tr_worker_slot(w, i)->sequence->forced;
        if (f->log_probabilities && !take_result(w, f, from))
            return false;
        from += rows_of(f);
    }
    return release_chunk(w);
}

static bool next_turn(tr_worker *w)
{
    if (w->callbacks->stop && atomic_load_explicit(w->callbacks->stop, memory_order_relaxed))
        return tr_worker_fail(w, TR_ERROR_CANCELLED, "scoring: cancelled");
    if (w->decoded == w->taken && !admit(w))
        return false;
    w->phase = w->decoded < w->taken ? TR_PHASE_ENCODE : TR_PHASE_END;
    return w->phase == TR_PHASE_END || lay_out_sources(w);
}

/* Ends one turn and prepares the next: encoder and decoder by turns, and the end where nothing is left or something failed.
 */
static void turn(tr_worker *w)
{
    const tr_phase last = w->phase;
    bool good;
    tr_workspace_enter(w->ws, 0, TR_PROFILE_REST);
    w->phase = TR_PHASE_DECODE;
    if (last == TR_PHASE_ENCODE)
        good = lay_out_targets(w);
    else
        good = (last == TR_PHASE_END || take_results(w)) && next_turn(w);
    if (!good)
        w->phase = TR_PHASE_END;
}

tr_status tr_decode_forced(tr_worker *worker, int thread, const tr_decode_options *options,
                           const tr_decode_callbacks *callbacks, tr_error *error)
{
    static const tr_phase_functions turns = {tr_worker_encode_chunk, decode, turn};
    return tr_worker_run(worker, thread, options, callbacks, &turns, error);
}
