#include "decoding/worker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoding/forced.h"

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* --------------------------------------------------------------------------------- memory that the search decides about */

static void *zeros(size_t count, size_t size, bool *complete)
{
    void *memory = calloc(count, size);
    *complete = *complete && memory;
    return memory;
}

static void free_room(tr_worker *w)
{
    tr_pool_free(&w->pool);
    tr_hyp_memory_free(&w->hyps);
    tr_candidates_free(&w->candidates);
    tr_sampler_free(&w->sampler);
    free(w->rows_of);
    free(w->self_seqs);
    free(w->copies.list);
    free(w->banned);
    free(w->seen_logits);
    free(w->lists);
    free(w->next);
    free(w->found);
    free(w->traced_logits);
    free(w->attended);
    free(w->watches);
    w->attended = NULL;
    w->watches = NULL;
    w->rows_of = NULL;
    w->self_seqs = NULL;
    w->copies.list = NULL;
    w->banned = NULL;
    w->seen_logits = NULL;
    w->lists = NULL;
    w->next = NULL;
    w->found = NULL;
    w->traced_logits = NULL;
}

/* Candidates of a row that a search looks at. */
static int most_candidates(const tr_beam_shape *capacity)
{
    return larger(capacity->width > 1 ? 2 * capacity->width : 1, capacity->beams);
}

static bool make_tables(tr_worker *w)
{
    const size_t rows = (size_t)tr_worker_max_rows(w), most = (size_t)most_candidates(&w->capacity);
    const size_t positions = (size_t)w->max_positions;
    bool complete = true;
    w->rows_of = zeros(rows, sizeof *w->rows_of, &complete);
    w->self_seqs = zeros(rows, sizeof *w->self_seqs, &complete);
    w->copies.list = zeros(rows, sizeof *w->copies.list, &complete);
    w->banned = zeros(rows * positions, sizeof *w->banned, &complete);
    w->seen_logits = zeros(rows * positions, sizeof *w->seen_logits, &complete);
    w->lists = zeros((size_t)w->capacity.width * most, sizeof *w->lists, &complete);
    w->next = zeros(most, sizeof *w->next, &complete);
    w->found = zeros((size_t)larger(w->capacity.beams, w->capacity.finished), sizeof *w->found, &complete);
    if (w->capacity.coverage) {
        w->attended = zeros(tr_coverage_floats(w, tr_worker_max_rows(w)), sizeof *w->attended, &complete);
        w->watches = zeros((size_t)w->batch_size, sizeof *w->watches, &complete);
    }
    return complete;
}

/* Makes all that depends on how many hypotheses there are; what was there before is gone. */
static tr_status make_room(tr_worker *w, tr_beam_shape capacity, tr_error *error)
{
    free_room(w);
    w->ws->trace = NULL; /* its memory is gone, too */
    w->capacity = capacity;
    const size_t each = (size_t)(1 + capacity.beams * capacity.width) * (size_t)tr_blocks_for(w->max_positions);
    tr_status status = tr_worker_make_arenas(w, error);
    if (status == TR_OK)
        status = tr_pool_init(&w->pool, w->block_floats, (size_t)w->batch_size * each, error);
    if (status == TR_OK)
        status =
            tr_hyp_memory_init(&w->hyps, w->max_positions, w->recurrent_floats, w->slots, w->batch_size, capacity, error);
    if (status == TR_OK)
        status = tr_candidates_init(&w->candidates, &w->models, w->max_threads, tr_worker_max_rows(w),
                                    most_candidates(&capacity), error);
    if (status == TR_OK)
        status = tr_sampler_init(&w->sampler, &w->candidates, w->max_threads, tr_worker_max_rows(w), error);
    if (status == TR_OK && !make_tables(w))
        status = out_of_memory(error);
    if (status != TR_OK)
        w->capacity = (tr_beam_shape){0}; /* nothing fits: it is made again */
    return status;
}

/* Coverage changes nothing but what hypotheses are compared by. */
static tr_beam_shape breadth_of(const tr_search_options *s, bool probabilities)
{
    return (tr_beam_shape){.beams = s->sample || s->alternatives ? s->n_best : 1,
                           .width = s->beam,
                           .finished = s->beam > 1 ? (int)(s->patience * (float)s->beam + 0.5f) : 1,
                           .coverage = s->coverage_penalty != 0 && probabilities};
}

/* Room for either. */
static tr_beam_shape wider(tr_beam_shape a, tr_beam_shape b)
{
    return (tr_beam_shape){larger(a.beams, b.beams), larger(a.width, b.width), larger(a.finished, b.finished),
                           a.coverage || b.coverage};
}

static bool has_room(tr_beam_shape capacity, tr_beam_shape b)
{
    return b.beams <= capacity.beams && b.width <= capacity.width && b.finished <= capacity.finished &&
           b.coverage <= capacity.coverage;
}

/* ------------------------------------------------------------------------------------------------------ what is forbidden
 */

static void add_forbidden(tr_worker *w, const tr_config *config)
{
    for (int i = 0; i < config->forbidden_count; i++)
        w->forbidden[w->forbidden_count++] = config->forbidden[i];
}

/* The logits' bias with forbidden tokens at -inf, where the search has more of them than the model. */
static tr_status forbid(tr_worker *w, tr_error *error)
{
    const tr_network *n = w->ws->network;
    const tr_config *c = &n->config;
    const tr_search_options *s = &w->search;
    const bool unknown = s->forbid_unknown && c->unk_id >= 0;
    const size_t outputs = (size_t)n->output.weight.outputs, more = s->forbidden_count + unknown;
    free(w->forbidden);
    free(w->own_bias);
    w->own_bias = NULL;
    w->forbidden_count = 0;
    w->forbidden = calloc((size_t)w->models.count * TR_MAX_FORBIDDEN + more, sizeof *w->forbidden);
    if (!w->forbidden || (more && !(w->own_bias = malloc(outputs * sizeof *w->own_bias))))
        return out_of_memory(error);
    for (int m = 0; m < w->models.count; m++)
        add_forbidden(w, &w->models.networks[m]->config);
    for (size_t i = 0; i < s->forbidden_count; i++)
        w->forbidden[w->forbidden_count++] = s->forbidden[i];
    if (unknown)
        w->forbidden[w->forbidden_count++] = c->unk_id;
    w->bias = n->output.bias;
    if (more)
        w->bias = memcpy(w->own_bias, n->output.bias, outputs * sizeof *w->own_bias);
    for (int i = 0; more && i < w->forbidden_count; i++)
        if (tr_network_output(n, w->forbidden[i]) >= 0)
            w->own_bias[tr_network_output(n, w->forbidden[i])] = -INFINITY;
    memcpy(w->bias_without_end, w->bias, outputs * sizeof *w->bias_without_end);
    w->bias_without_end[tr_network_output(n, c->eos_id)] = -INFINITY;
    return TR_OK;
}

static bool same_forbidden(const tr_worker *w, const tr_search_options *search)
{
    return w->forbidden && !w->own_bias && !search->forbidden_count && !search->forbid_unknown;
}

tr_status tr_worker_set_search(tr_worker *w, const tr_search_options *search, bool scores, tr_error *error)
{
    const bool same = same_forbidden(w, search);
    w->search = *search;
    w->probabilities = scores || search->beam > 1 || search->sample || search->alternatives;
    w->shape = breadth_of(search, w->probabilities);
    tr_status status = TR_OK;
    if (!has_room(w->capacity, w->shape))
        status = make_room(w, wider(w->capacity, w->shape), error);
    if (status == TR_OK && !same)
        status = forbid(w, error);
    w->search.forbidden = NULL; /* the caller's */
    w->search.forbidden_count = 0;
    w->candidates.max_candidates = most_candidates(&w->shape);
    w->candidates.by_logits = search->beam == 1;
    w->candidates.forbidden = w->forbidden;
    w->candidates.forbidden_count = w->forbidden_count;
    return status;
}

/* -------------------------------------------------------------------------------------------------- making and unmaking */

static bool make_batch(tr_worker *w)
{
    const size_t n = (size_t)w->batch_size;
    bool complete = true;
    w->slots = zeros(n, sizeof *w->slots, &complete);
    w->encoder_seqs = zeros(n, sizeof *w->encoder_seqs, &complete);
    w->cross_seqs = zeros(n, sizeof *w->cross_seqs, &complete);
    w->order = zeros(n, sizeof *w->order, &complete);
    w->freed = zeros(n, sizeof *w->freed, &complete);
    w->bias_without_end = zeros((size_t)w->ws->network->output.weight.outputs, sizeof *w->bias_without_end, &complete);
    return complete;
}

tr_status tr_worker_create(const tr_ensemble *models, int threads, int batch_size, tr_worker **worker, tr_error *error)
{
    *worker = NULL;
    const tr_search_options search = tr_search_default_options();
    tr_worker *w = calloc(1, sizeof *w);
    if (!w)
        return out_of_memory(error);
    w->models = *models;
    w->batch_size = batch_size;
    w->max_threads = threads;
    tr_status status = tr_worker_make_model_states(w, error);
    if (status == TR_OK && !make_batch(w))
        status = out_of_memory(error);
    if (status == TR_OK)
        status = tr_worker_set_search(w, &search, false, error);
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
    tr_worker_free_model_states(worker);
    free_room(worker);
    tr_shortlist_outputs_free(&worker->shortlists);
    tr_forced_free(worker->forced);
    free(worker->slots);
    free(worker->encoder_seqs);
    free(worker->cross_seqs);
    free(worker->order);
    free(worker->freed);
    free(worker->bias_without_end);
    free(worker->own_bias);
    free(worker->forbidden);
    free(worker);
}

tr_status tr_worker_set_shortlist(tr_worker *worker, const tr_shortlist *shortlist, tr_error *error)
{
    return tr_shortlist_outputs_init(&worker->shortlists, shortlist, worker->ws->network, worker->batch_size, error);
}

void tr_worker_set_threads(tr_worker *worker, int threads)
{
    for (int t = 0; t < worker->models.count; t++) {
        worker->model_states[t].ws.threads = threads;
        tr_barrier_init(&worker->model_states[t].ws.barrier, threads);
    }
}

void tr_worker_set_trace(tr_worker *worker, tr_trace_function *trace, void *argument)
{
    const size_t outputs = (size_t)worker->ws->network->output.weight.outputs;
    if (trace && !worker->traced_logits)
        worker->traced_logits = calloc((size_t)tr_worker_max_rows(worker) * outputs, sizeof *worker->traced_logits);
    worker->ws->trace = worker->traced_logits ? trace : NULL;
    worker->ws->trace_argument = argument;
}

void tr_worker_set_profile(tr_worker *worker, tr_profile *profile)
{
    for (int t = 0; t < worker->models.count; t++)
        worker->model_states[t].ws.profile = profile;
}

void tr_worker_count_caches(tr_worker *w)
{
    tr_profile *profile = w->ws->profile;
    if (profile && w->pool.arena.used > profile->cache_bytes)
        profile->cache_bytes = w->pool.arena.used;
}

void tr_worker_barrier(tr_worker *worker)
{
    tr_workspace_barrier(worker->ws);
}

bool tr_worker_fail(tr_worker *w, tr_status status, const char *what)
{
    w->status = tr_fail(&w->error, status, "%s", what);
    return false;
}

bool tr_worker_fail_numeric(tr_worker *w)
{
    return tr_worker_fail(w, TR_ERROR_NUMERIC, "model: the network computes no valid numbers (damaged weights?)");
}

bool tr_worker_start(tr_worker *w, const tr_decode_options *options, const tr_decode_callbacks *callbacks)
{
    const tr_config *c = &w->ws->network->config;
    w->options = *options;
    w->start = options->start ? *options->start : (tr_decoder_start){c->start_id, c->forced_first_id};
    w->callbacks = callbacks;
    w->status = TR_OK;
    w->phase = TR_PHASE_END;
    w->rows = w->decoded = w->taken = w->tokens = w->copies.count = 0;
    for (int i = 0; i < w->batch_size; i++) {
        w->order[i] = i;
        tr_slot_clear(&w->slots[i], w->capacity.beams);
    }
    tr_pool_reset(&w->pool);
    if (options->rows < 1 || options->rows > w->batch_size)
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "batch: its number of sentences is out of range");
    if (options->min_length < 0 || options->min_length > w->max_positions)
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "minimum length: is out of range");
    if (w->start.id < (c->start_zeros ? -1 : 0) || w->start.id >= c->target_vocabulary || w->start.first_id < -1 ||
        w->start.first_id >= c->target_vocabulary)
        return tr_worker_fail(w, TR_ERROR_ARGUMENT, "start: has a token outside the vocabulary");
    return true;
}
