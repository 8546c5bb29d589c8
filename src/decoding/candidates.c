#include "decoding/candidates.h"

#include <math.h>

/* Rows that go through a segment together: a tile of logits stays in the second cache. */
enum { TILE_ROWS = 128 };

/* A thread's tiles: the logits of all models together, and those of one of several. */
static size_t tile_floats(const tr_ensemble *models)
{
    return (size_t)TR_LOGITS_SEGMENT * TILE_ROWS * (models->count > 1 ? 2 : 1);
}

tr_status tr_candidates_init(tr_candidates *c, const tr_ensemble *models, const tr_forbidden *forbidden,
                             tr_candidates_size size, tr_error *error)
{
    const tr_network *network = models->networks[0];
    const int segments = tr_logits_segments(network->output.weight.outputs);
    const size_t rows = (size_t)size.rows, threads = (size_t)size.threads, most = (size_t)size.max_candidates;
    const size_t positions = rows * (size_t)size.positions, sums = rows * (size_t)models->count * (size_t)segments;
    const size_t tops = rows * threads, tiles = tile_floats(models) * threads, taken = (size_t)size.width * most;
    *c = (tr_candidates){.models = models,
                         .network = network,
                         .forbidden = forbidden,
                         .max_candidates = size.max_candidates,
                         .max_rows = size.rows,
                         .threads = size.threads,
                         .positions = size.positions,
                         .segments = segments};
    const size_t bytes = rows * sizeof *c->rules + positions * (sizeof *c->banned + sizeof *c->seen_logits) +
                         sums * sizeof *c->sums + tops * (sizeof *c->tops + most * (sizeof *c->values + sizeof *c->ids)) +
                         tiles * sizeof *c->tiles + taken * sizeof *c->taken + (size_t)9 * 64;
    const tr_status status = tr_arena_init(&c->arena, bytes, error);
    if (status != TR_OK)
        return status;
    c->rules = tr_arena_alloc(&c->arena, rows * sizeof *c->rules);
    c->banned = tr_arena_alloc(&c->arena, positions * sizeof *c->banned);
    c->seen_logits = tr_arena_alloc(&c->arena, positions * sizeof *c->seen_logits);
    c->sums = tr_arena_alloc(&c->arena, sums * sizeof *c->sums);
    c->tops = tr_arena_alloc(&c->arena, tops * sizeof *c->tops);
    c->values = tr_arena_alloc(&c->arena, tops * most * sizeof *c->values);
    c->ids = tr_arena_alloc(&c->arena, tops * most * sizeof *c->ids);
    c->tiles = tr_arena_alloc(&c->arena, tiles * sizeof *c->tiles);
    c->taken = tr_arena_alloc(&c->arena, taken * sizeof *c->taken);
    return TR_OK;
}

void tr_candidates_free(tr_candidates *c)
{
    tr_arena_free(&c->arena);
    *c = (tr_candidates){0};
}

void tr_candidates_set_rules(tr_candidates *c, const tr_search *s, int row, const tr_slot *slot, const tr_live_hyp *hyp,
                             const tr_shortlist_output *shortlist)
{
    const size_t at = (size_t)row * (size_t)c->positions;
    c->rules[row] = tr_rules_for(s, slot, hyp, shortlist, c->banned + at, c->seen_logits + at);
}

/* ---------------------------------------------------------------------------------------------------------- all threads */

/* The output of a token; -1: it has none. */
static int output_of(const tr_network *network, const tr_shortlist_output *shortlist, int32_t id)
{
    const int32_t output = tr_network_output(network, id);
    if (!shortlist || output < 0)
        return output;
    int begin = 0, end = shortlist->count;
    while (begin < end) {
        const int middle = begin + (end - begin) / 2;
        if (shortlist->outputs[middle] < output)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < shortlist->count && shortlist->outputs[begin] == output ? begin : -1;
}

/* Sets the logits of tokens that may not come in a row to -inf: x [n] are those of its outputs first, first + 1... */
static void ban_tokens(const tr_candidates *c, const tr_logits_rules *rules, const int32_t *ids, int count, float *x,
                       int first, int n)
{
    for (int i = 0; i < count; i++) {
        const int output = output_of(c->network, rules->shortlist, ids[i]);
        if (output >= first && output < first + n)
            x[output - first] = -INFINITY;
    }
}

/* The same for bytes that would not be UTF-8. */
static void ban_bytes(const tr_candidates *c, const tr_logits_rules *rules, float *x, int first, int n)
{
    const tr_forbidden *f = c->forbidden;
    if (rules->shortlist) {
        for (int i = 0; i < n; i++)
            if (f->shortlist_bias[rules->shortlist->outputs[first + i]] == -INFINITY)
                x[i] = -INFINITY;
        return;
    }
    const float *bias = rules->utf8_state ? f->utf8_bias[rules->utf8_state] : f->own_bias;
    const int begin = rules->utf8_state || f->first_byte < first ? first : f->first_byte;
    const int end = rules->utf8_state || f->last_byte >= first + n ? first + n : f->last_byte + 1;
    for (int i = begin; i < end; i++)
        if (bias[i] == -INFINITY)
            x[i - first] = -INFINITY;
}

static void apply_bans(const tr_candidates *c, const tr_logits_rules *rules, float *x, int first, int n)
{
    if (rules->banned_eos >= 0)
        ban_tokens(c, rules, &rules->banned_eos, 1, x, first, n);
    ban_tokens(c, rules, rules->banned, rules->banned_count, x, first, n);
    ban_tokens(c, rules, c->forbidden->ids, c->forbidden->count, x, first, n);
    for (int i = 0; rules->strays >> i; i++)
        if (rules->strays >> i & 1)
            ban_tokens(c, rules, &c->network->config.copy_symbols[i], 1, x, first, n);
    if (c->forbidden->shortlist_bias)
        ban_bytes(c, rules, x, first, n);
}

/* [segments] of a row's logits by one of the models. */
static tr_exp_sum *sums_of(const tr_candidates *c, int row, int model)
{
    return c->sums + ((size_t)row * (size_t)c->models->count + (size_t)model) * (size_t)c->segments;
}

void tr_logits_weigh(float weight, const float *x, float *y, size_t n, bool add)
{
    if (add)
        for (size_t i = 0; i < n; i++)
            y[i] += weight * x[i];
    else
        for (size_t i = 0; i < n; i++)
            y[i] = weight * x[i];
}

/* Whether no logit of a segment can be among the greatest: the weighted sum of the models' greatest logits is no greater
 * than the last of these. (Rounding keeps the order; NaN is found in the sums.) */
static bool cannot_be_top(const tr_candidates *c, const tr_top *top, int row, int segment)
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

/* Adds a segment to a row's greatest logits: x [n], the logits of outputs first, first + 1... by all models together. */
static void add_segment(tr_candidates *c, tr_top *top, int row, float *x, int first, int n)
{
    const tr_logits_rules *rules = &c->rules[row];
    if (!rules->seen_count && cannot_be_top(c, top, row, first / TR_LOGITS_SEGMENT))
        return;
    apply_bans(c, rules, x, first, n);
    for (int i = 0; i < rules->seen_count; i++) { /* their penalty needs the sum of all: see tr_candidates_take */
        const int output = output_of(c->network, rules->shortlist, rules->seen[i]);
        if (output >= first && output < first + n) {
            rules->seen_logits[i] = x[output - first]; /* -inf the second time */
            x[output - first] = -INFINITY;
        }
    }
    c->network->kernels->top(top, x, n, first);
}

/* tile [rows, n] = the logits of outputs output, output + 1..., weighted and added over the models; and each model's sums of
 * exponentials. */
static void compute_tile(tr_candidates *c, tr_forward *fwds, const tr_shortlist_output *shortlist, int row, int rows,
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

/* Finds the candidates of rows begin, end, which have the same outputs. */
static void find_in_rows(tr_candidates *c, tr_forward *fwds, const tr_shortlist_output *shortlist, int begin, int end)
{
    const tr_forward *fwd = &fwds[0];
    const int outputs = shortlist ? shortlist->count : c->network->output.weight.outputs;
    const tr_range own = tr_share(outputs, TR_LOGITS_SEGMENT, fwd->thread, fwd->ws->threads);
    float *tile = c->tiles + (size_t)fwd->thread * tile_floats(c->models);
    tr_top *tops = c->tops + (size_t)fwd->thread * (size_t)c->max_rows;
    for (int output = own.begin; output < own.end; output += TR_LOGITS_SEGMENT) {
        const int n = own.end - output < TR_LOGITS_SEGMENT ? own.end - output : TR_LOGITS_SEGMENT;
        for (int row = begin; row < end; row += TILE_ROWS) {
            const int rows = end - row < TILE_ROWS ? end - row : TILE_ROWS;
            compute_tile(c, fwds, shortlist, row, rows, output, n, tile);
            for (int r = 0; r < rows; r++)
                add_segment(c, &tops[row + r], row + r, tile + (size_t)r * TR_LOGITS_SEGMENT, output, n);
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
    for (int begin = 0, end; begin < fwd->rows; begin = end) {
        const tr_logits_rules *rules = &c->rules[begin];
        for (end = begin + 1;
             end < fwd->rows && c->rules[end].shortlist == rules->shortlist && c->rules[end].skip == rules->skip;)
            end++;
        if (!rules->skip)
            find_in_rows(c, fwds, rules->shortlist, begin, end);
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

void tr_candidates_apply_rules(const tr_candidates *c, int row, float *x)
{
    const tr_logits_rules *rules = &c->rules[row];
    apply_bans(c, rules, x, 0, rules->shortlist ? rules->shortlist->count : c->network->output.weight.outputs);
    for (int i = 0; i < rules->seen_count; i++) {
        const int output = output_of(c->network, rules->shortlist, rules->seen[i]);
        if (output >= 0 && !came_before(rules->seen, i))
            x[output] = penalised(x[output], rules->penalty);
    }
}

/* Inserts a candidate after those that are at least as good, and keeps the best `limit`. Returns their new count. */
static int insert_candidate(tr_candidate *found, int count, int limit, tr_candidate next)
{
    int at = count < limit ? count++ : limit;
    for (; at && found[at - 1].value < next.value; at--)
        if (at < limit)
            found[at] = found[at - 1];
    if (at < limit)
        found[at] = next;
    return count;
}

/* The log of the softmax's denominator, weighted and added over the models. */
static double log_denominator(const tr_candidates *c, int row, int outputs)
{
    double sum = 0;
    for (int m = 0; m < c->models->count; m++)
        sum += c->models->weights[m] * tr_log_sum_exp(sums_of(c, row, m), tr_logits_segments(outputs));
    return sum;
}

int tr_candidates_take(const tr_candidates *c, int row, tr_candidate *found)
{
    const tr_logits_rules *rules = &c->rules[row];
    const int outputs = rules->shortlist ? rules->shortlist->count : c->network->output.weight.outputs;
    const double all = log_denominator(c, row, outputs);
    int count = 0;
    bool nan = isnan(all);
    for (int m = 0; m < c->threads; m++) { /* in the order of their ids: the lowest wins a tie */
        const tr_top *top = &c->tops[(size_t)m * (size_t)c->max_rows + (size_t)row];
        nan = nan || top->nan;
        for (int i = 0; i < top->count; i++) {
            const int32_t id = rules->shortlist ? tr_shortlist_output_token(rules->shortlist, c->network, top->ids[i])
                                                : tr_network_token(c->network, top->ids[i]);
            count = insert_candidate(found, count, c->max_candidates, (tr_candidate){id, top->values[i], 0});
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
            count = insert_candidate(
                found, count, c->max_candidates,
                (tr_candidate){rules->seen[i], penalised(c->by_logits ? logit : likely, rules->penalty), likely});
    }
    return nan ? -1 : count;
}
