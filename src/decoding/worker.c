#include "decoding/worker.h"

#include <stdlib.h>
#include <string.h>

#include "util/numbers.h"

/* -------------------------------------------------------------------------------------------- memory that a search needs */

static tr_beam_shape shape_of(const tr_search_options *s, bool probabilities)
{
    return (tr_beam_shape){.beams = s->sample || s->alternatives ? s->n_best : 1,
                           .width = s->beam,
                           .finished = s->beam > 1 ? (int)(s->patience * (float)s->beam + 0.5f) : 1,
                           .coverage = s->coverage_penalty != 0 && probabilities};
}

static tr_beam_shape union_of(tr_beam_shape a, tr_beam_shape b)
{
    return (tr_beam_shape){tr_max_int(a.beams, b.beams), tr_max_int(a.width, b.width), tr_max_int(a.finished, b.finished),
                           a.coverage || b.coverage};
}

static bool has_room(tr_beam_shape capacity, tr_beam_shape b)
{
    return b.beams <= capacity.beams && b.width <= capacity.width && b.finished <= capacity.finished &&
           b.coverage <= capacity.coverage;
}

/* Candidates of a row that a search looks at. */
static int max_candidates(tr_beam_shape shape)
{
    return tr_max_int(shape.width > 1 ? 2 * shape.width : 1, shape.beams);
}

/* Rows of the decoder in a full batch. */
static int max_rows(const tr_worker *w)
{
    return w->batch.capacity * w->hyps.capacity.beams * w->hyps.capacity.width;
}

static void free_search_memory(tr_worker *w)
{
    tr_hyp_memory_free(&w->hyps);
    if (w->candidates.rules)
        tr_candidates_free(&w->candidates);
    if (w->sampler.draws)
        tr_sampler_free(&w->sampler);
    if (w->coverage.weights)
        tr_coverage_free(&w->coverage);
    free(w->traced_logits);
    w->traced_logits = NULL;
}

/* Makes all memory that depends on the number of hypotheses anew. */
static tr_status make_search_memory(tr_worker *w, tr_beam_shape capacity, tr_error *error)
{
    const tr_model_memory memory = {w->max_threads, w->batch.capacity, w->max_positions, capacity.beams * capacity.width};
    tr_status status = TR_OK;
    free_search_memory(w);
    for (int m = 0; m < w->models.count && status == TR_OK; m++)
        status = tr_model_state_init(&w->states[m], w->models.networks[m], memory, error);
    if (status == TR_OK)
        status = tr_hyp_memory_init(&w->hyps, w->batch.slots, w->batch.capacity, capacity, error);
    if (status == TR_OK && capacity.coverage)
        status = tr_coverage_init(&w->coverage, w->search.config, 2 * w->batch.capacity, w->states[0].max_rows,
                                  w->max_positions, error);
    if (status != TR_OK)
        free_search_memory(w); /* the next search makes it anew */
    return status;
}

tr_status tr_worker_reserve_candidates(tr_worker *w, tr_error *error)
{
    const tr_beam_shape capacity = w->hyps.capacity;
    const tr_candidates_size size = {w->max_threads, max_rows(w), capacity.width, max_candidates(capacity),
                                     w->max_positions};
    if (!w->candidates.rules) {
        const tr_status status = tr_candidates_init(&w->candidates, &w->models, &w->forbidden, size, error);
        if (status != TR_OK)
            return status;
    }
    w->candidates.threads = w->states[0].ws.threads;
    w->candidates.max_candidates = max_candidates(w->search.shape);
    w->candidates.by_logits = w->search.options.beam == 1;
    return TR_OK;
}

tr_status tr_worker_set_search(tr_worker *w, const tr_search_options *options, bool scores, tr_error *error)
{
    const bool forbids_more = options->forbidden_count || options->forbid_unknown;
    tr_search *s = &w->search;
    tr_status status = TR_OK;
    s->options = *options;
    s->options.forbidden = NULL; /* the caller's memory */
    s->options.forbidden_count = 0;
    s->probabilities = scores || options->beam > 1 || options->sample || options->alternatives;
    s->shape = shape_of(options, s->probabilities);
    if (!has_room(w->hyps.capacity, s->shape))
        status = make_search_memory(w, union_of(w->hyps.capacity, s->shape), error);
    if (status == TR_OK &&
        (!w->forbidden.ids || w->forbidden.by_options || forbids_more || w->forbidden.valid_utf8 != options->valid_utf8))
        status = tr_forbidden_init(&w->forbidden, &w->models, options, error);
    if (status == TR_OK &&
        (s->probabilities || w->models.count > 1 || tr_has_constraints(s, &(tr_sequence){0}) || w->candidates.rules))
        status = tr_worker_reserve_candidates(w, error);
    if (status == TR_OK && options->sample && !w->sampler.draws)
        status = tr_sampler_init(&w->sampler, &w->candidates, w->max_threads, error);
    return status;
}

tr_status tr_worker_recover(tr_worker *w, tr_error *error)
{
    const tr_search_options greedy = tr_search_default_options();
    return w->hyps.capacity.beams ? TR_OK : tr_worker_set_search(w, &greedy, false, error);
}

/* --------------------------------------------------------------------------------------------------- making and unmaking */

tr_ensemble tr_ensemble_of(const tr_network *network)
{
    return (tr_ensemble){{network}, {1}, 1};
}

tr_status tr_worker_create(const tr_ensemble *models, int threads, int batch_size, tr_worker **worker, tr_error *error)
{
    *worker = NULL;
    const tr_search_options search = tr_search_default_options();
    tr_worker *w = calloc(1, sizeof *w);
    if (!w)
        return tr_fail_memory(error, "working memory");
    const size_t bytes = (size_t)models->count * sizeof *w->states;
    w->models = *models;
    w->max_threads = threads;
    w->search.config = &models->networks[0]->config;
    w->max_positions = w->search.config->max_positions;
    for (int m = 1; m < models->count; m++)
        if (models->networks[m]->config.max_positions < w->max_positions)
            w->max_positions = models->networks[m]->config.max_positions;
    w->states = aligned_alloc(64, bytes); /* for the barriers inside */
    tr_status status = w->states ? tr_batch_init(&w->batch, batch_size, error) : tr_fail_memory(error, "working memory");
    if (w->states)
        memset(w->states, 0, bytes);
    w->hyps = (tr_hyp_memory){.models = w->states, .model_count = models->count, .positions = w->max_positions};
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
    for (int m = 0; worker->states && m < worker->models.count; m++)
        tr_model_state_free(&worker->states[m]);
    free(worker->states);
    free_search_memory(worker);
    tr_batch_free(&worker->batch);
    tr_forbidden_free(&worker->forbidden);
    tr_shortlist_outputs_free(&worker->shortlists);
    tr_forced_free(worker->forced);
    free(worker);
}

tr_status tr_worker_set_shortlist(tr_worker *worker, const tr_shortlist *shortlist, tr_error *error)
{
    const tr_batch *batch = &worker->batch;
    const tr_status status =
        tr_shortlist_outputs_init(&worker->shortlists, shortlist, worker->models.networks[0], batch->capacity, error);
    for (int i = 0; i < batch->capacity; i++)
        batch->slots[i].shortlist = status == TR_OK ? &worker->shortlists.items[i] : NULL;
    return status;
}

void tr_worker_set_threads(tr_worker *worker, int threads)
{
    for (int m = 0; m < worker->models.count; m++)
        tr_model_state_set_threads(&worker->states[m], threads);
    worker->candidates.threads = threads;
}

void tr_worker_set_trace(tr_worker *worker, tr_trace_function *trace, void *argument)
{
    tr_workspace *ws = &worker->states[0].ws;
    const size_t outputs = (size_t)ws->network->output.weight.outputs;
    if (trace && !worker->traced_logits)
        worker->traced_logits = calloc((size_t)max_rows(worker) * outputs, sizeof *worker->traced_logits);
    ws->trace = worker->traced_logits ? trace : NULL;
    ws->trace_argument = argument;
}

void tr_worker_set_profile(tr_worker *worker, tr_profile *profile)
{
    for (int m = 0; m < worker->models.count; m++)
        worker->states[m].ws.profile = profile;
}

void tr_worker_barrier(tr_worker *worker)
{
    tr_workspace_barrier(&worker->states[0].ws);
}

tr_status tr_worker_start(tr_worker *w, const tr_decode_options *options, const tr_decode_callbacks *callbacks,
                          tr_error *error)
{
    const tr_config *c = w->search.config;
    const tr_decoder_start start = options->start ? *options->start : (tr_decoder_start){c->start_id, c->forced_first_id};
    w->callbacks = callbacks;
    w->search.start = start;
    w->search.min_length = options->min_length;
    for (int m = 0; m < w->models.count; m++)
        tr_kv_pool_reset(&w->states[m].pool);
    for (int i = 0; i < w->batch.capacity; i++)
        tr_slot_clear(&w->hyps, &w->batch.slots[i]);
    const tr_status status = tr_batch_start(&w->batch, options, error);
    if (status != TR_OK)
        return status;
    if (options->min_length < 0 || options->min_length > w->max_positions)
        return tr_fail(error, TR_ERROR_ARGUMENT, "minimum length: is out of range");
    if (start.id < (c->start_zeros ? -1 : 0) || start.id >= c->target_vocabulary || start.first_id < -1 ||
        start.first_id >= c->target_vocabulary)
        return tr_fail(error, TR_ERROR_ARGUMENT, "start: has a token outside the vocabulary");
    return TR_OK;
}
