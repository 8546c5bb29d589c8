#include "run/score.h"

#include <math.h>
#include <stdlib.h>

#include "run/align.h"
#include "text/sources.h"
#include "run/completion.h"

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "scores: out of memory");
}

/* -------------------------------------------------------------------------------------------------------------- options */

tr_score_options tr_score_default_options(void)
{
    return (tr_score_options){.alignment = tr_align_default_options()};
}

tr_status tr_score_resolve(const tr_model *model, const tr_score_options *options, tr_score_options *resolved,
                           tr_error *error)
{
    *resolved = options ? *options : tr_score_default_options();
    return tr_align_resolve(&model->package.config, &resolved->alignment, error);
}

tr_scored_pair tr_scored_request(const tr_context *context, const tr_pair *languages, const tr_request *request,
                                 const int32_t *target, int target_length, bool finished)
{
    const int behind = tr_source_marks_behind(&context->model->package.config, languages);
    return (tr_scored_pair){.source = request->source,
                            .source_length = request->source_length,
                            .first = request->source_length - request->source_tokens - behind,
                            .tokens = request->source_tokens,
                            .target = target,
                            .target_length = target_length,
                            .finished = finished};
}

/* ------------------------------------------------------------------------------------------------------ pair after pair */

typedef struct work {
    tr_context *context;
    const tr_scored_pair *pairs;
    const tr_score_options *options;
    tr_decoder_start start;
    tr_score *scores;
    size_t *pair_of; /* [job.count]: units are the pairs that have rows */
    tr_job job;
    tr_progress counts;
} work;

/* A map of zeros, and a watch that fills it. */
static bool make_map(tr_attention_map *map, tr_attention_capture *capture)
{
    const size_t cells = (size_t)map->rows * (size_t)map->columns;
    map->weights = calloc((size_t)map->layers * (size_t)map->heads * cells, sizeof *map->weights);
    *capture = (tr_attention_capture){map->weights, -1, -1, (size_t)map->heads * cells, cells, (size_t)map->columns};
    return map->weights;
}

/* What alignments are taken from, where there is no map of all layers and heads. */
static bool make_guide(const tr_align_options *options, int heads, int rows, int columns, tr_attention_capture *capture)
{
    const size_t cells = (size_t)rows * (size_t)columns, n = options->head == TR_ALIGN_MEAN ? (size_t)heads : 1;
    *capture = (tr_attention_capture){.weights = malloc(n * cells * sizeof *capture->weights),
                                      .layer = options->layer,
                                      .head = options->head == TR_ALIGN_MEAN ? -1 : options->head,
                                      .head_stride = cells,
                                      .row_stride = (size_t)columns};
    return capture->weights;
}

/* Memory for what is asked of a pair, when its turn comes: for all pairs of a call it would be too much. */
static tr_status begin_pair(void *argument, size_t unit, tr_error *error)
{
    work *w = argument;
    const tr_config *c = &w->context->model->package.config;
    const tr_scored_pair *pair = &w->pairs[w->pair_of[unit]];
    const tr_score_options *o = w->options;
    tr_score *score = &w->scores[w->pair_of[unit]];
    tr_forced *f = &w->job.forced[unit];
    const int rows = pair->target_length + pair->finished;
    bool complete = true;
    *f = (tr_forced){.target = pair->target, .length = pair->target_length, .finished = pair->finished};
    score->encoder = (tr_attention_map){c->encoder_layers, c->encoder_heads, pair->source_length, pair->source_length, NULL};
    score->cross = (tr_attention_map){c->decoder_layers, c->decoder_heads, rows, pair->source_length, NULL};
    score->decoder = (tr_attention_map){c->decoder_layers, c->decoder_heads, rows, rows, NULL};
    if (!o->no_scores)
        complete = (score->log_probabilities = malloc((size_t)rows * sizeof(float)));
    f->log_probabilities = score->log_probabilities;
    if (complete && o->encoder_attention)
        complete = make_map(&score->encoder, &f->encoder);
    if (complete && o->decoder_attention && c->mixer == TR_MIXER_SELF_ATTENTION)
        complete = make_map(&score->decoder, &f->decoder);
    if (complete && o->cross_attention)
        complete = make_map(&score->cross, &f->cross);
    else if (complete && o->align)
        complete = make_guide(&o->alignment, c->decoder_heads, rows, pair->source_length, &f->cross);
    return complete ? TR_OK : out_of_memory(error);
}

/* The target's first token is one that the model is not asked for. */
static bool is_given(const work *w, const tr_scored_pair *pair)
{
    return w->start.first_id >= 0 && pair->target_length && pair->target[0] == w->start.first_id;
}

static tr_status align_pair(const work *w, const tr_scored_pair *pair, tr_attention_capture capture, tr_alignment *alignment,
                            tr_error *error)
{
    const tr_align_options *o = &w->options->alignment;
    const int heads = o->head == TR_ALIGN_MEAN ? w->context->model->package.config.decoder_heads : 1;
    if (capture.layer < 0) /* a map of all: to what there would be of one */
        capture.weights += (size_t)o->layer * capture.layer_stride + (heads > 1 ? 0 : (size_t)o->head * capture.head_stride);
    const tr_align_span span = {pair->first, pair->tokens, is_given(w, pair), pair->target_length};
    return tr_align(&capture, heads, &span, o->threshold, alignment, error);
}

static tr_status end_pair(void *argument, size_t unit, tr_error *error)
{
    work *w = argument;
    const tr_scored_pair *pair = &w->pairs[w->pair_of[unit]];
    tr_score *score = &w->scores[w->pair_of[unit]];
    tr_forced *f = &w->job.forced[unit];
    tr_status status = TR_OK;
    const bool given = is_given(w, pair);
    double sum = 0;
    score->count = (size_t)(pair->target_length + pair->finished);
    score->first_source = pair->first;
    for (size_t i = 0; score->log_probabilities && i < score->count; i++) {
        const float value = score->log_probabilities[i];
        sum += (double)value;
        score->min_log_probability = i >= given && value < score->min_log_probability ? value : score->min_log_probability;
    }
    score->log_probability = (float)sum;
    score->mean_log_probability = score->count > given ? (float)(sum / (double)(score->count - given)) : 0;
    if (w->options->align)
        status = align_pair(w, pair, f->cross, &score->alignment, error);
    if (!score->cross.weights)
        free(f->cross.weights);
    f->cross.weights = NULL;
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- all of them */

static tr_status count_units(void *argument, const tr_request *list, tr_error *error)
{
    work *w = argument;
    const tr_translate_options report = {.on_progress = w->options->on_progress,
                                         .on_progress_argument = w->options->on_progress_argument};
    for (; list; list = list->next)
        tr_completion_count(&w->counts, list, 1);
    return tr_completion_report(&w->counts, &report, error);
}

static tr_status make_units(work *w, size_t count, tr_error *error)
{
    w->pair_of = calloc(count ? count : 1, sizeof *w->pair_of);
    w->job.requests = calloc(count ? count : 1, sizeof *w->job.requests);
    w->job.forced = calloc(count ? count : 1, sizeof *w->job.forced);
    if (!w->pair_of || !w->job.requests || !w->job.forced)
        return out_of_memory(error);
    for (size_t i = 0; i < count; i++) {
        const tr_scored_pair *pair = &w->pairs[i];
        if (pair->target_length + pair->finished == 0) {
            w->counts.texts_done++;
            continue;
        }
        w->pair_of[w->job.count] = i;
        w->job.requests[w->job.count++] = (tr_request){.source = pair->source,
                                                       .source_length = pair->source_length,
                                                       .source_tokens = pair->tokens,
                                                       .target_length = pair->target_length};
    }
    return TR_OK;
}

tr_status tr_score_pairs(tr_context *context, const tr_scored_pair *pairs, size_t count, const tr_decoder_start *start,
                         const tr_score_options *options, tr_score *scores, tr_error *error)
{
    const tr_config *c = &context->model->package.config;
    work w = {.context = context, .pairs = pairs, .options = options, .scores = scores, .counts.texts = count};
    w.start = start ? *start : (tr_decoder_start){c->start_id, c->forced_first_id};
    tr_status status = make_units(&w, count, error);
    if (status == TR_OK) {
        w.job.max_length = 1;
        w.job.start = &w.start;
        w.job.begin = begin_pair;
        w.job.end = end_pair;
        w.job.done = options->on_progress ? count_units : NULL;
        w.job.argument = &w;
        status = tr_scheduler_run(context->scheduler, &w.job, error);
    }
    for (size_t u = 0; w.job.forced && u < w.job.count; u++) /* what a failure has left behind */
        if (w.job.forced[u].cross.weights != scores[w.pair_of[u]].cross.weights)
            free(w.job.forced[u].cross.weights);
    free(w.pair_of);
    free(w.job.forced);
    free(w.job.requests);
    return status;
}

void tr_scores_clear(tr_score *scores, size_t count)
{
    for (size_t i = 0; scores && i < count; i++) {
        free(scores[i].log_probabilities);
        free(scores[i].encoder.weights);
        free(scores[i].decoder.weights);
        free(scores[i].cross.weights);
        free(scores[i].alignment.links);
        scores[i] = (tr_score){0};
    }
}

void tr_scores_free(tr_score *scores, size_t count)
{
    tr_scores_clear(scores, count);
    free(scores);
}
