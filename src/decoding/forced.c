/* Forced decoding. All tokens of a target go through the decoder together: a causal sequence, in which each row attends to
 * those before it. Chunks of sentences have about CHUNK_ROWS rows on either side; larger ones would not be faster. Logits
 * are computed in tiles, one at a time. A row's bits are those of decoding the target step by step. */
#include "decoding/forced.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoding/worker.h"
#include "model/embedding.h"

enum { CHUNK_ROWS = 256, TILE_ROWS = 128, MAX_PARTS = 2 /* see lay_out_target */ };

/* One of the models. */
typedef struct forced_model {
    tr_seq *self, *cross; /* [MAX_PARTS * batch capacity] */
} forced_model;

typedef struct tr_forced_work {
    forced_model models[TR_MAX_ENSEMBLE];
    int model_count;
    tr_attention_capture *self_captures, *cross_captures; /* [MAX_PARTS * batch capacity] */
    bool scoring;                                         /* a sentence of the chunk wants log-probabilities */
    int parts, rows;                                      /* of the decoder: entries of self and cross, and their rows */
    tr_arena arena;                                       /* of the arrays that follow; max_rows: rows of a chunk at most */
    int32_t *tokens;                                      /* [max_rows] the given ones */
    float *logits;                                        /* [max_rows] of the given tokens, weighted over the models */
    double *denominators;                                 /* [max_rows] logs of the softmax's denominators, likewise */
    float *log_probabilities;                             /* [max_rows] */
    tr_exp_sum *sums;                                     /* [max_rows, segments of the outputs] */
    float *tiles;                                         /* [threads, TILE_ROWS, TR_LOGITS_SEGMENT] */
} tr_forced_work;

/* --------------------------------------------------------------------------------------------------------------- memory */

static bool make_arrays(tr_worker *w, tr_forced_work *work, int max_rows, size_t tile_floats)
{
    const size_t n = MAX_PARTS * (size_t)w->batch.capacity, rows = (size_t)max_rows;
    const size_t segments = (size_t)tr_logits_segments(w->models.networks[0]->all_tokens_output.weight.outputs);
    bool complete = true;
    for (int m = 0; m < work->model_count; m++) {
        work->models[m].self = calloc(n, sizeof(tr_seq));
        work->models[m].cross = calloc(n, sizeof(tr_seq));
        complete = complete && work->models[m].self && work->models[m].cross;
    }
    work->self_captures = calloc(n, sizeof *work->self_captures);
    work->cross_captures = calloc(n, sizeof *work->cross_captures);
    work->tokens = tr_arena_alloc(&work->arena, rows * sizeof *work->tokens);
    work->denominators = tr_arena_alloc(&work->arena, rows * sizeof *work->denominators);
    work->logits = tr_arena_alloc(&work->arena, rows * sizeof *work->logits);
    work->log_probabilities = tr_arena_alloc(&work->arena, rows * sizeof *work->log_probabilities);
    work->sums = tr_arena_alloc(&work->arena, rows * segments * sizeof *work->sums);
    work->tiles = tr_arena_alloc(&work->arena, tile_floats * sizeof *work->tiles);
    return complete && work->self_captures && work->cross_captures && work->tokens && work->denominators && work->logits &&
           work->log_probabilities && work->sums && work->tiles;
}

tr_status tr_worker_prepare_forced(tr_worker *worker, tr_error *error)
{
    const tr_network *n = worker->models.networks[0];
    const int max_rows = worker->max_positions > CHUNK_ROWS ? worker->max_positions : CHUNK_ROWS;
    const size_t row = 3 * sizeof(float) + sizeof(double) +
                       (size_t)tr_logits_segments(n->all_tokens_output.weight.outputs) * sizeof(tr_exp_sum);
    const size_t tile_floats = (size_t)worker->max_threads * TILE_ROWS * TR_LOGITS_SEGMENT;
    if (worker->forced)
        return TR_OK;
    tr_forced_work *work = worker->forced = calloc(1, sizeof *work);
    if (!work)
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    work->model_count = worker->models.count;
    tr_status status = tr_arena_init(&work->arena, (size_t)max_rows * row + tile_floats * sizeof(float) + 6 * 64, error);
    if (status == TR_OK && !make_arrays(worker, work, max_rows, tile_floats))
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
    for (int m = 0; m < work->model_count; m++) {
        free(work->models[m].self);
        free(work->models[m].cross);
    }
    free(work->self_captures);
    free(work->cross_captures);
    tr_arena_free(&work->arena);
    free(work);
}

/* --------------------------------------------------------------------------------------------------- thread 0: sentences */

static int target_rows(const tr_forced *forced)
{
    return forced->length + forced->finished;
}

static tr_status check_sentence(const tr_worker *w, const tr_sequence *seq, tr_error *error)
{
    const tr_forced *f = seq->forced;
    if (!f)
        return tr_fail(error, TR_ERROR_ARGUMENT, "sentence: has no target");
    if (f->length < 0 || f->length > w->max_positions || target_rows(f) < 1 || target_rows(f) > w->max_positions)
        return tr_fail(error, TR_ERROR_ARGUMENT, "target: its number of tokens is out of range");
    for (int i = 0; i < f->length; i++)
        if (f->target[i] < 0 || f->target[i] >= w->search.config->target_vocabulary)
            return tr_fail(error, TR_ERROR_ARGUMENT, "sentence: has a token outside the vocabulary");
    return tr_check_source(seq, w->search.config, w->max_positions, error);
}

static tr_status admit_sentences(tr_worker *w)
{
    tr_slot *slot;
    tr_status status = TR_OK;
    while (status == TR_OK && (slot = tr_batch_take(&w->batch, w->callbacks))) {
        status = check_sentence(w, slot->sequence, &w->error);
        if (status == TR_OK)
            tr_slot_begin(&w->hyps, slot, 1, 1);
    }
    return status;
}

/* -------------------------------------------------------------------------------------------- thread 0: a chunk's memory */

static const tr_attention_capture *wanted_capture(const tr_attention_capture *capture)
{
    return capture->weights ? capture : NULL;
}

/* The encoder's chunk: sentences order[decoded..decoded + chunk) of the batch. */
static tr_status prepare_sources(tr_worker *w)
{
    tr_batch *batch = &w->batch;
    for (int m = 0; m < w->models.count; m++)
        tr_kv_pool_reset(&w->states[m].pool);
    const tr_status status = tr_batch_lay_out_chunk(batch, w->states, w->models.count, CHUNK_ROWS, &w->error);
    for (int i = 0; i < batch->chunk; i++)
        w->states[0].encoder_seqs[i].capture =
            wanted_capture(&tr_batch_slot(batch, batch->decoded + i)->sequence->forced->encoder);
    return status;
}

/* The capture of the rows from position on; NULL: none is wanted. */
static const tr_attention_capture *capture_from(const tr_attention_capture *capture, int position,
                                                tr_attention_capture *part)
{
    *part = *capture;
    if (part->weights)
        part->weights += (size_t)position * part->row_stride;
    return wanted_capture(part);
}

/* Positions begin, end of a target become the decoder's next rows. The first model's attention is what is captured. */
static void add_rows(tr_worker *w, const tr_slot *slot, int begin, int end)
{
    tr_forced_work *work = w->forced;
    const tr_sequence *seq = slot->sequence;
    const int part = work->parts++;
    for (int m = 0; m < w->models.count; m++) {
        tr_hyp_cache *cache = &slot->beams[0].live[0]->caches[m];
        work->models[m].self[part] = (tr_seq){.first_row = work->rows,
                                              .rows = end - begin,
                                              .cache = &cache->self,
                                              .position = begin,
                                              .length = begin + 1,
                                              .causal = 1,
                                              .recurrent = cache->recurrent};
        work->models[m].cross[part] = (tr_seq){
            .first_row = work->rows, .rows = end - begin, .cache = &slot->caches[m].cross, .length = seq->source_length};
    }
    work->models[0].self[part].capture = capture_from(&seq->forced->decoder, begin, &work->self_captures[part]);
    work->models[0].cross[part].capture = capture_from(&seq->forced->cross, begin, &work->cross_captures[part]);
    work->rows += end - begin;
}

/* With unnormalised_kv the first token is a part of its own, since its keys differ from those of the others. */
static tr_status lay_out_target(tr_worker *w, tr_slot *slot)
{
    const tr_config *c = w->search.config;
    const tr_forced *f = slot->sequence->forced;
    tr_forced_work *work = w->forced;
    const int rows = target_rows(f);
    const bool splits = c->unnormalised_kv && rows > 1;
    tr_status status = TR_OK;
    for (int m = 0; m < w->models.count && status == TR_OK; m++) {
        tr_kv_cache *self = &slot->beams[0].live[0]->caches[m].self;
        self->count = 0;
        if (w->states[m].self_attends)
            status = tr_kv_pool_extend(&w->states[m].pool, self, rows, &w->error);
    }
    for (int r = 0; r < rows; r++)
        work->tokens[work->rows + r] = r < f->length ? f->target[r] : c->eos_id;
    if (splits)
        add_rows(w, slot, 0, 1);
    add_rows(w, slot, splits, rows);
    return status;
}

static tr_status prepare_targets(tr_worker *w)
{
    tr_forced_work *work = w->forced;
    tr_status status = TR_OK;
    work->rows = work->parts = 0;
    work->scoring = false;
    for (int i = 0; i < w->batch.chunk && status == TR_OK; i++) {
        tr_slot *slot = tr_batch_slot(&w->batch, w->batch.decoded + i);
        work->scoring = work->scoring || slot->sequence->forced->log_probabilities;
        status = lay_out_target(w, slot);
    }
    for (int m = 0; m < w->models.count && status == TR_OK; m++) {
        tr_arena_rewind(&w->states[m].ws.arena, 0);
        status = tr_model_state_set_rows(&w->states[m], work->rows, &w->error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- all threads */

static void embed_targets(const tr_worker *w, int model, int thread)
{
    const tr_forced_work *work = w->forced;
    tr_workspace *ws = &w->states[model].ws;
    const tr_range own = tr_share(work->rows, 1, thread, ws->threads);
    for (int i = 0; i < work->parts; i++)
        for (int r = 0; r < work->models[model].self[i].rows; r++) {
            const tr_seq *self = &work->models[model].self[i];
            const int row = self->first_row + r, position = self->position + r;
            if (row >= own.begin && row < own.end)
                tr_embed(ws, &ws->network->target, row, position ? work->tokens[row - 1] : w->search.start.id, position);
        }
}

/* The logits of rows first_row.. for outputs begin, end by one of the models: their sums of exponentials, and those of the
 * given tokens. */
static void compute_tile(const tr_worker *w, tr_forward *fwd, int model, int first_row, int rows, int begin, int end)
{
    const tr_network *n = w->models.networks[model];
    const tr_forced_work *work = w->forced;
    float *tile = work->tiles + (size_t)fwd->thread * TILE_ROWS * TR_LOGITS_SEGMENT;
    const size_t segments = (size_t)tr_logits_segments(n->all_tokens_output.weight.outputs);
    const size_t segment = (size_t)(begin / TR_LOGITS_SEGMENT);
    tr_output_logits_tile(fwd, &n->all_tokens_output, n->all_tokens_output.bias, first_row, rows, begin, end, tile,
                          TR_LOGITS_SEGMENT);
    for (int r = 0; r < rows; r++) {
        const float *x = tile + (size_t)r * TR_LOGITS_SEGMENT;
        const int32_t token = work->tokens[first_row + r];
        work->sums[(size_t)(first_row + r) * segments + segment] = n->kernels->exp_sum(x, end - begin);
        if (token >= begin && token < end)
            tr_logits_weigh(w->models.weights[model], &x[token - begin], &work->logits[first_row + r], 1, model > 0);
    }
}

/* log softmax(W x + b) of each row's token, weighted and added over the models, one model after the other. */
static void compute_log_probabilities(tr_worker *w, tr_forward *fwd, int model)
{
    tr_workspace *ws = fwd->ws;
    const tr_forced_work *work = w->forced;
    const int outputs = ws->network->all_tokens_output.weight.outputs, segments = tr_logits_segments(outputs);
    const tr_range own = tr_share(outputs, TR_LOGITS_SEGMENT, fwd->thread, ws->threads);
    tr_workspace_enter(ws, fwd->thread, TR_PROFILE_OUTPUT);
    for (int begin = own.begin; begin < own.end; begin += TR_LOGITS_SEGMENT)
        for (int row = 0; row < fwd->rows; row += TILE_ROWS)
            compute_tile(w, fwd, model, row, fwd->rows - row < TILE_ROWS ? fwd->rows - row : TILE_ROWS, begin,
                         own.end - begin < TR_LOGITS_SEGMENT ? own.end : begin + TR_LOGITS_SEGMENT);
    tr_workspace_barrier(ws);
    const tr_range rows = tr_share(fwd->rows, 1, fwd->thread, ws->threads);
    for (int r = rows.begin; r < rows.end; r++) {
        const double denominator = tr_log_sum_exp(work->sums + (size_t)r * (size_t)segments, segments);
        work->denominators[r] = (model ? work->denominators[r] : 0) + w->models.weights[model] * denominator;
        work->log_probabilities[r] = (float)(work->logits[r] - work->denominators[r]); /* those of the last model stay */
    }
}

void tr_forced_decode(tr_worker *w, int thread)
{
    const tr_forced_work *work = w->forced;
    const int models = work->scoring ? w->models.count : 1; /* attention is the first one's */
    for (int m = 0; m < models; m++)
        embed_targets(w, m, thread);
    tr_workspace_barrier(&w->states[0].ws);
    for (int m = 0; m < models; m++) {
        tr_model_state *model = &w->states[m];
        tr_forward fwd = tr_forward_begin(&model->ws, thread, work->rows);
        tr_decoder_forward(&fwd, &model->pool.shape, work->models[m].self, work->parts, work->models[m].cross, work->parts);
        if (work->scoring)
            compute_log_probabilities(w, &fwd, m);
    }
}

/* ----------------------------------------------------------------------------------------------------- thread 0: results */

/* from [rows]: the log-probabilities of a target's tokens. */
static tr_status copy_log_probabilities(const tr_worker *w, const tr_forced *f, const float *from, tr_error *error)
{
    const int32_t first_id = w->search.start.first_id;
    for (int r = 0; r < target_rows(f); r++)
        if (isnan(from[r]))
            return tr_fail_numeric(error);
    memcpy(f->log_probabilities, from, (size_t)target_rows(f) * sizeof *from);
    if (first_id >= 0)
        f->log_probabilities[0] = f->length && f->target[0] == first_id ? 0 : -INFINITY;
    return TR_OK;
}

/* Hands over the chunk's sentences. The batch is empty again after the last chunk. */
static tr_status finish_targets(tr_worker *w)
{
    tr_batch *batch = &w->batch;
    const float *from = w->forced->log_probabilities;
    for (int i = batch->decoded; i < batch->decoded + batch->chunk; i++) {
        tr_slot *slot = tr_batch_slot(batch, i);
        const tr_forced *f = slot->sequence->forced;
        const tr_status status = f->log_probabilities ? copy_log_probabilities(w, f, from, &w->error) : TR_OK;
        if (status != TR_OK)
            return status;
        from += target_rows(f);
    }
    for (int i = batch->decoded; i < batch->decoded + batch->chunk; i++) {
        tr_slot *slot = tr_batch_slot(batch, i);
        tr_slot_clear(&w->hyps, slot);
        if (!w->callbacks->done(w->callbacks->argument, slot->sequence))
            return tr_fail(&w->error, TR_ERROR_CANCELLED, "scoring: cancelled");
    }
    batch->decoded += batch->chunk;
    if (batch->decoded == batch->taken)
        batch->decoded = batch->taken = batch->tokens = 0;
    return TR_OK;
}

/* ---------------------------------------------------------------------------------------------------------------- phases */

tr_status tr_forced_prepare(tr_worker *w)
{
    tr_status status = TR_OK;
    w->phase = TR_PHASE_END;
    if (w->callbacks->stop && atomic_load_explicit(w->callbacks->stop, memory_order_relaxed))
        return tr_fail(&w->error, TR_ERROR_CANCELLED, "scoring: cancelled");
    if (w->batch.decoded == w->batch.taken)
        status = admit_sentences(w);
    if (status != TR_OK || w->batch.decoded == w->batch.taken)
        return status;
    w->phase = TR_PHASE_ENCODE;
    return prepare_sources(w);
}

tr_status tr_forced_finish(tr_worker *w)
{
    if (w->phase == TR_PHASE_ENCODE) {
        w->phase = TR_PHASE_DECODE;
        return prepare_targets(w);
    }
    const tr_status status = finish_targets(w);
    return status == TR_OK ? tr_forced_prepare(w) : status;
}
