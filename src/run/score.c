#include "run/score.h"

#include <math.h>
#include <stdlib.h>

#include "util/buffer.h"

/* ---------------------------------------------------------------------------------------------------------- alignments */

/* Which of a pair's columns and rows are text. */
typedef struct align_span {
    int first_source, sources; /* columns first_source .. first_source + sources - 1 */
    int first_target, targets; /* rows of target tokens first_target .. targets - 1 */
} align_span;

static bool add_link(tr_buffer *links, tr_link link)
{
    return tr_buffer_append(links, &link, sizeof link);
}

/* Appends the links of a row: as Marian does, the one of the greatest weight, or all above a threshold. */
static bool link_row(const tr_attention_capture *capture, int heads, const align_span *span, float threshold, int row,
                     tr_buffer *links)
{
    tr_link best = {-1, row, -1};
    for (int s = 0; s < span->sources; s++) {
        const tr_link link = {s, row, tr_attention_capture_mean(capture, heads, row, span->first_source + s)};
        if (threshold < 1 && link.weight > threshold && !add_link(links, link))
            return false;
        if (link.weight > best.weight)
            best = link;
    }
    return threshold < 1 || best.source < 0 || add_link(links, best);
}

static int compare_links(const void *a, const void *b)
{
    const tr_link *x = a, *y = b;
    return x->source != y->source ? (x->source > y->source) - (x->source < y->source)
                                  : (x->target > y->target) - (x->target < y->target);
}

void tr_links_sort(tr_link *links, size_t count)
{
    qsort(links, count, sizeof *links, compare_links);
}

/* Links source columns, counted from first_source, with target rows: see tr_align_options. capture: of one layer, [heads,
 * rows, columns]; the mean of its heads is taken. */
static tr_status align(const tr_attention_capture *capture, int heads, const align_span *span, float threshold,
                       tr_alignment *alignment, tr_error *error)
{
    tr_buffer links = {0};
    const int rows = span->targets - span->first_target;
    bool good = tr_buffer_reserve(&links, (size_t)(rows > 0 ? rows : 0) * sizeof(tr_link));
    for (int row = span->first_target; good && row < span->targets; row++)
        good = link_row(capture, heads, span, threshold, row, &links);
    *alignment = (tr_alignment){0};
    if (!good) {
        tr_buffer_free(&links);
        return tr_fail_memory(error, "alignment");
    }
    *alignment = (tr_alignment){(tr_link *)(void *)links.data, links.size / sizeof(tr_link)};
    tr_links_sort(alignment->links, alignment->count);
    return TR_OK;
}

/* -------------------------------------------------------------------------------------------------------------- a pair */

typedef struct scoring {
    const tr_config *config;
    const tr_scored_pair *pairs;
    const tr_score_options *options;
    tr_decoder_start start;
    tr_score *scores;
    size_t *pair_of; /* [job.count] the pair of each request: pairs without rows have none */
    tr_job job;
    tr_forced_job forced;
    tr_progress counts;
} scoring;

/* Allocates a map of zeros, and sets the capture that fills it. */
static bool make_map(tr_attention_map *map, tr_attention_capture *capture)
{
    const size_t cells = (size_t)map->rows * (size_t)map->columns;
    map->weights = calloc((size_t)map->layers * (size_t)map->heads * cells, sizeof *map->weights);
    *capture = (tr_attention_capture){map->weights, -1, -1, (size_t)map->heads * cells, cells, (size_t)map->columns};
    return map->weights;
}

/* Allocates the weights that alignments are made of, if there is no map of all layers and heads. */
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

/* Allocates the outputs of a pair as it enters a batch: for all pairs of a call at once they would be too large. */
static tr_status begin_pair(void *argument, size_t request, tr_error *error)
{
    scoring *w = argument;
    const tr_config *c = w->config;
    const tr_scored_pair *pair = &w->pairs[w->pair_of[request]];
    const tr_score_options *o = w->options;
    tr_score *score = &w->scores[w->pair_of[request]];
    tr_forced *f = &w->forced.targets[request];
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
    return complete ? TR_OK : tr_fail_memory(error, "scores");
}

/* Whether the network is given the target's first token, which then has no probability. */
static bool is_given(const scoring *w, const tr_scored_pair *pair)
{
    return w->start.first_id >= 0 && pair->target_length && pair->target[0] == w->start.first_id;
}

static tr_status align_pair(const scoring *w, const tr_scored_pair *pair, tr_attention_capture capture,
                            tr_alignment *alignment, tr_error *error)
{
    const tr_align_options *o = &w->options->alignment;
    const bool mean = o->head == TR_ALIGN_MEAN; /* also of a model with a single head */
    const int heads = mean ? w->config->decoder_heads : 1;
    if (capture.layer < 0) /* a map of all layers: the weights that make_guide would capture */
        capture.weights += (size_t)o->layer * capture.layer_stride + (mean ? 0 : (size_t)o->head * capture.head_stride);
    const align_span span = {pair->first, pair->tokens, is_given(w, pair), pair->target_length};
    return align(&capture, heads, &span, o->threshold, alignment, error);
}

static tr_status end_pair(void *argument, size_t request, tr_error *error)
{
    scoring *w = argument;
    const tr_scored_pair *pair = &w->pairs[w->pair_of[request]];
    tr_score *score = &w->scores[w->pair_of[request]];
    tr_forced *f = &w->forced.targets[request];
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

static tr_status count_requests(void *argument, const tr_request *list, tr_error *error)
{
    scoring *w = argument;
    for (; list; list = list->next)
        tr_progress_add(&w->counts, list, 1);
    return tr_progress_report(&w->counts, w->options->on_progress, w->options->on_progress_argument, error);
}

static tr_status make_requests(scoring *w, size_t count, tr_error *error)
{
    w->pair_of = calloc(count ? count : 1, sizeof *w->pair_of);
    w->job.requests = calloc(count ? count : 1, sizeof *w->job.requests);
    w->forced.targets = calloc(count ? count : 1, sizeof *w->forced.targets);
    if (!w->pair_of || !w->job.requests || !w->forced.targets)
        return tr_fail_memory(error, "scores");
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

tr_status tr_score_pairs(tr_scheduler *scheduler, const tr_scored_pair *pairs, size_t count, const tr_decoder_start *start,
                         const tr_score_options *options, tr_score *scores, tr_error *error)
{
    const tr_config *c = tr_scheduler_config(scheduler);
    scoring w = {.config = c, .pairs = pairs, .options = options, .scores = scores, .counts.texts = count};
    w.start = start ? *start : (tr_decoder_start){c->start_id, c->forced_first_id};
    tr_status status = make_requests(&w, count, error);
    if (status == TR_OK) {
        w.job.start = &w.start;
        w.job.done = options->on_progress ? count_requests : NULL;
        w.job.argument = &w;
        w.forced.begin = begin_pair;
        w.forced.end = end_pair;
        status = tr_scheduler_score(scheduler, &w.job, &w.forced, error);
    }
    for (size_t u = 0; w.forced.targets && u < w.job.count;
         u++) /* after a failure: of pairs that begin_pair alone has seen */
        if (w.forced.targets[u].cross.weights != scores[w.pair_of[u]].cross.weights)
            free(w.forced.targets[u].cross.weights);
    free(w.pair_of);
    free(w.forced.targets);
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
