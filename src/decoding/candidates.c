#include "decoding/candidates.h"

#include <math.h>

/* Rows that go through a segment together: a tile of logits stays in the second cache. */
enum { TILE_ROWS = 128 };

/* Of a thread: logits of all models together, and of one of several. */
static size_t tile_floats(const tr_ensemble *models)
{
    return (size_t)TR_LOGITS_SEGMENT * TILE_ROWS * (models->count > 1 ? 2 : 1);
}

tr_status tr_candidates_init(tr_candidates *c, const tr_ensemble *models, int threads, int rows, int most, tr_error *error)
{
    const tr_network *network = models->networks[0];
    const size_t n = (size_t)rows, m = (size_t)threads, all = n * m, k = (size_t)most;
    const size_t segments = (size_t)tr_logits_segments(network->output.weight.outputs);
    const size_t tile = tile_floats(models) * m, sums = n * (size_t)models->count * segments;
    *c = (tr_candidates){.models = models,
                         .network = network,
                         .max_candidates = most,
                         .max_rows = rows,
                         .max_threads = threads,
                         .segments = (int)segments};
    const tr_status status = tr_arena_init(&c->arena,
                                           n * sizeof *c->rules + sums * sizeof *c->sums +
                                               all * (sizeof *c->tops + k * (sizeof *c->values + sizeof *c->ids)) +
                                               tile * sizeof *c->tiles + (size_t)6 * 64,
                                           error);
    if (status != TR_OK)
        return status;
    c->rules = tr_arena_alloc(&c->arena, n * sizeof *c->rules);
    c->sums = tr_arena_alloc(&c->arena, sums * sizeof *c->sums);
    c->tops = tr_arena_alloc(&c->arena, all * sizeof *c->tops);
    c->values = tr_arena_alloc(&c->arena, all * k * sizeof *c->values);
    c->ids = tr_arena_alloc(&c->arena, all * k * sizeof *c->ids);
    c->tiles = tr_arena_alloc(&c->arena, tile * sizeof *c->tiles);
    return TR_OK;
}

void tr_candidates_free(tr_candidates *c)
{
    tr_arena_free(&c->arena);
    *c = (tr_candidates){0};
}

/* ---------------------------------------------------------------------------------------------------------- all threads */

/* Which output stands for a token; -1: none. */
static int output_of(const tr_network *network, const tr_shortlist_output *shortlist, int32_t id)
{
    const int32_t output = tr_network_output(network, id);
    if (!shortlist || output < 0)
        return output;
    int first = 0, last = shortlist->count;
    while (first < last) {
        const int middle = first + (last - first) / 2;
        if (shortlist->outputs[middle] < output)
            first = middle + 1;
        else
            last = middle;
    }
    return first < shortlist->count && shortlist->outputs[first] == output ? first : -1;
}

static void ban(const tr_network *network, const tr_shortlist_output *shortlist, int32_t id, float *x, int first, int n)
{
    const int output = output_of(network, shortlist, id);
    if (output >= first && output < first + n)
        x[output - first] = -INFINITY;
}

/* Of a row's logits by one of the models: [segments] */
static tr_exp_sum *sums_of(const tr_candidates *c, int row, int model)
{
    return c->sums + ((size_t)row * (size_t)c->models->count + (size_t)model) * (size_t)c->segments;
}

void tr_logits_weigh(float weight, const float *x, float *y, size_t n, bool more)
{
    if (more)
        for (size_t i = 0; i < n; i++)
            y[i] += weight * x[i];
    else
        for (size_t i = 0; i < n; i++)
            y[i] = weight * x[i];
}

/* Whether nothing of a segment is among the best: what the models' greatest logits add up to is no greater than the last of
 * these (rounding keeps order; NaN is seen in the sums). */
static bool is_passed_over(const tr_candidates *c, const tr_top *top, int row, int segment)
{
    float greatest = 0;
    if (top->count < top->capacity)
        return false;
    for (int m = 0; m < c->models->count; m++) {
        const tr_exp_sum *sum = &sums_of(c, row, m)[segment];
        if (!(sum->sum > 0))
            return false;
        tr_logits_weigh(c->models->weights[m], &sum->max, &greatest, 1, m > 0);
    }
    return greatest <= top->values[top->capacity - 1];
}

/* Outputs [first, first + n) of a row, x, by all models together. */
static void see_segment(tr_candidates *c, tr_top *top, int row, float *x, int first, int n)
{
    const tr_kernels *kernels = c->network->kernels;
    const tr_logits_rules *rules = &c->rules[row];
    if (!rules->seen_count && is_passed_over(c, top, row, first / TR_LOGITS_SEGMENT))
        return;
    if (rules->banned_eos >= 0)
        ban(c->network, rules->shortlist, rules->banned_eos, x, first, n);
    for (int i = 0; i < rules->banned_count; i++)
        ban(c->network, rules->shortlist, rules->banned[i], x, first, n);
    for (int i = 0; i < c->forbidden_count; i++)
        ban(c->network, rules->shortlist, c->forbidden[i], x, first, n);
    for (int i = 0; i < rules->seen_count; i++) { /* their penalty needs the sum of all: see tr_candidates_take */
        const int output = output_of(c->network, rules->shortlist, rules->seen[i]);
        if (output >= first && output < first + n) {
            rules->seen_logits[i] = x[output - first]; /* -inf the second time */
            x[output - first] = -INFINITY;
        }
    }
    kernels->top(top, x, n, first);
}

/* Logits [output, output + n) of rows, as the models' weights add them up, and of each model's the sums of exponentials. */
static void make_tile(tr_candidates *c, tr_forward *fwds, const tr_shortlist_output *shortlist, int row, int rows,
                      int output, int n, float *tile)
{
    const int count = c->models->count;
    float *own = count > 1 ? tile + TR_LOGITS_SEGMENT * TILE_ROWS : tile;
    for (int m = 0; m < count; m++) {
        const tr_network *network = c->models->networks[m];
        const tr_linear *linear = shortlist ? &shortlist->linear : &network->output;
        const float *bias = shortlist ? shortlist->bias_unmasked : network->output_bias;
        tr_output_logits_tile(&fwds[m], linear, bias, row, rows, output, output + n, own, TR_LOGITS_SEGMENT);
        for (int r = 0; r < rows; r++) {
            const size_t at = (size_t)r * TR_LOGITS_SEGMENT;
            sums_of(c, row + r, m)[output / TR_LOGITS_SEGMENT] = network->kernels->exp_sum(own + at, n);
            if (count > 1)
                tr_logits_weigh(c->models->weights[m], own + at, tile + at, (size_t)n, m > 0);
        }
    }
}

/* Rows that have the same outputs to choose from. */
static void see_rows(tr_candidates *c, tr_forward *fwds, const tr_shortlist_output *shortlist, int first, int last)
{
    const tr_forward *fwd = &fwds[0];
    const int outputs = shortlist ? shortlist->count : c->network->output.weight.outputs;
    const tr_range own = tr_share(outputs, TR_LOGITS_SEGMENT, fwd->thread, fwd->ws->threads);
    float *tile = c->tiles + (size_t)fwd->thread * tile_floats(c->models);
    tr_top *tops = c->tops + (size_t)fwd->thread * (size_t)c->max_rows;
    for (int output = own.begin; output < own.end; output += TR_LOGITS_SEGMENT) {
        const int n = own.end - output < TR_LOGITS_SEGMENT ? own.end - output : TR_LOGITS_SEGMENT;
        for (int row = first; row < last; row += TILE_ROWS) {
            const int rows = last - row < TILE_ROWS ? last - row : TILE_ROWS;
            make_tile(c, fwds, shortlist, row, rows, output, n, tile);
            for (int r = 0; r < rows; r++)
                see_segment(c, &tops[row + r], row + r, tile + (size_t)r * TR_LOGITS_SEGMENT, output, n);
        }
    }
}

void tr_candidates_find(tr_candidates *c, tr_forward *fwds)
{
    const tr_forward *fwd = &fwds[0];
    tr_workspace_enter(fwd->ws, fwd->thread, TR_PROFILE_OUTPUT);
    for (int r = 0; r < fwd->rows; r++) {
        const size_t at = (size_t)fwd->thread * (size_t)c->max_rows + (size_t)r;
        c->tops[at] = (tr_top){c->max_candidates, 0, false, c->values + at * (size_t)c->max_candidates,
                               c->ids + at * (size_t)c->max_candidates};
    }
    for (int first = 0, last; first < fwd->rows; first = last) {
        const tr_logits_rules *rules = &c->rules[first];
        for (last = first + 1;
             last < fwd->rows && c->rules[last].shortlist == rules->shortlist && c->rules[last].skip == rules->skip;)
            last++;
        if (!rules->skip)
            see_rows(c, fwds, rules->shortlist, first, last);
    }
}

/* ------------------------------------------------------------------------------------------------------------- thread 0 */

int32_t tr_candidates_token(const tr_candidates *c, int row, int32_t output)
{
    const tr_shortlist_output *shortlist = c->rules[row].shortlist;
    return shortlist ? tr_shortlist_output_token(shortlist, c->network, output) : tr_network_token(c->network, output);
}

/* Keskar et al., 2019: positive numbers are divided by the penalty, others multiplied. */
static float penalised(float value, float penalty)
{
    return value > 0 ? value / penalty : value * penalty;
}

static bool came_before(const int32_t *tokens, int at)
{
    for (int i = 0; i < at; i++)
        if (tokens[i] == tokens[at])
            return true;
    return false;
}

void tr_candidates_constrain(const tr_candidates *c, int row, float *x)
{
    const tr_logits_rules *rules = &c->rules[row];
    const int n = rules->shortlist ? rules->shortlist->count : c->network->output.weight.outputs;
    if (rules->banned_eos >= 0)
        ban(c->network, rules->shortlist, rules->banned_eos, x, 0, n);
    for (int i = 0; i < rules->banned_count; i++)
        ban(c->network, rules->shortlist, rules->banned[i], x, 0, n);
    for (int i = 0; i < c->forbidden_count; i++)
        ban(c->network, rules->shortlist, c->forbidden[i], x, 0, n);
    for (int i = 0; i < rules->seen_count; i++) {
        const int output = output_of(c->network, rules->shortlist, rules->seen[i]);
        if (output >= 0 && !came_before(rules->seen, i))
            x[output] = penalised(x[output], rules->penalty);
    }
}

/* One that comes behind all that are its equals; count of at most most. */
static int insert(tr_candidate *found, int count, int most, tr_candidate next)
{
    int at = count < most ? count++ : most;
    for (; at && found[at - 1].value < next.value; at--)
        if (at < most)
            found[at] = found[at - 1];
    if (at < most)
        found[at] = next;
    return count;
}

/* What a row's logits are over: the logarithms of each model's sum, as their weights add them up. */
static double log_sum(const tr_candidates *c, int row, int outputs)
{
    double sum = 0;
    for (int m = 0; m < c->models->count; m++)
        sum += c->models->weights[m] * tr_log_sum_exp(sums_of(c, row, m), tr_logits_segments(outputs));
    return sum;
}

int tr_candidates_take(const tr_candidates *c, int threads, int row, tr_candidate *found)
{
    const tr_logits_rules *rules = &c->rules[row];
    const int outputs = rules->shortlist ? rules->shortlist->count : c->network->output.weight.outputs;
    const double all = log_sum(c, row, outputs);
    int count = 0;
    bool nan = isnan(all);
    for (int m = 0; m < threads; m++) { /* in the order of their ids: the lowest wins a tie */
        const tr_top *top = &c->tops[(size_t)m * (size_t)c->max_rows + (size_t)row];
        nan = nan || top->nan;
        for (int i = 0; i < top->count; i++) {
            const int32_t id = rules->shortlist ? tr_shortlist_output_token(rules->shortlist, c->network, top->ids[i])
                                                : tr_network_token(c->network, top->ids[i]);
            count = insert(found, count, c->max_candidates, (tr_candidate){id, top->values[i], 0});
        }
    }
    while (count && found[count - 1].value - all < TR_LEAST_LOG_PROBABILITY)
        count--;
    for (int i = 0; i < count; i++) {
        found[i].log_probability = (float)(found[i].value - all);
        if (!c->by_logits)
            found[i].value = found[i].log_probability;
    }
    for (int i = 0; i < rules->seen_count; i++) {
        const float logit = rules->seen_logits[i], likely = (float)(logit - all);
        if (likely >= TR_LEAST_LOG_PROBABILITY)
            count = insert(found, count, c->max_candidates,
                           (tr_candidate){rules->seen[i], penalised(c->by_logits ? logit : likely, rules->penalty), likely});
    }
    return nan ? -1 : count;
}
