#include "decoding/sample.h"

#include <math.h>
#include <string.h>

#include "util/numbers.h"

enum { DRAWN_ROWS = 32 }; /* rows whose logits are in memory at a time */

tr_status tr_sampler_init(tr_sampler *s, const tr_candidates *candidates, int threads, tr_error *error)
{
    const size_t m = (size_t)threads, n = (size_t)candidates->max_rows;
    *s = (tr_sampler){.candidates = candidates, .outputs = candidates->network->output.weight.outputs};
    const size_t outputs = (size_t)s->outputs, segments = (size_t)candidates->segments;
    const size_t models = (size_t)candidates->models->count, logits = models * DRAWN_ROWS * outputs;
    const size_t mixed = models > 1 ? m * outputs : 0;
    const tr_status status = tr_arena_init(
        &s->arena,
        n * sizeof *s->draws + (logits + mixed) * sizeof *s->logits +
            m * (outputs * (sizeof *s->heaps + sizeof *s->weights + sizeof *s->scaled) + segments * sizeof *s->sums) +
            (size_t)7 * 64,
        error);
    if (status != TR_OK)
        return status;
    s->draws = tr_arena_alloc(&s->arena, n * sizeof *s->draws);
    s->logits = tr_arena_alloc(&s->arena, logits * sizeof *s->logits);
    s->heaps = tr_arena_alloc(&s->arena, m * outputs * sizeof *s->heaps);
    s->weights = tr_arena_alloc(&s->arena, m * outputs * sizeof *s->weights);
    s->mixed = mixed ? tr_arena_alloc(&s->arena, mixed * sizeof *s->mixed) : NULL;
    s->scaled = tr_arena_alloc(&s->arena, m * outputs * sizeof *s->scaled);
    s->sums = tr_arena_alloc(&s->arena, m * segments * sizeof *s->sums);
    return TR_OK;
}

void tr_sampler_free(tr_sampler *sampler)
{
    tr_arena_free(&sampler->arena);
    *sampler = (tr_sampler){0};
}

/* ------------------------------------------------------------------------------------------------------- random numbers */

uint64_t tr_sample_key(uint64_t seed, const int32_t *source, int length)
{
    uint64_t key = tr_random_key(seed);
    for (int i = 0; i < length; i++)
        key = tr_random_add(key, (uint64_t)(uint32_t)source[i]);
    return key;
}

/* A number in [0, 1). */
static double uniform_number(const tr_draw *draw)
{
    const uint64_t x = tr_random_add(tr_random_add(draw->key, (uint64_t)draw->number), (uint64_t)draw->step);
    return (double)(x >> 11) * 0x1p-53;
}

/* ------------------------------------------------------------------------------------------------- the most likely ones */

/* Outputs by their logits, the greatest at the top; of equal ones the lower. */
typedef struct heap {
    const float *x;
    int32_t *outputs;
    int count;
} heap;

static bool is_before(const heap *h, int32_t a, int32_t b)
{
    return h->x[a] > h->x[b] || (h->x[a] == h->x[b] && a < b);
}

static void sift_down(heap *h, int at)
{
    const int32_t moving = h->outputs[at];
    for (int child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && is_before(h, h->outputs[child + 1], h->outputs[child]))
            child++;
        if (!is_before(h, h->outputs[child], moving))
            break;
        h->outputs[at] = h->outputs[child];
    }
    h->outputs[at] = moving;
}

static heap make_heap(const float *x, int outputs, int32_t *memory)
{
    heap h = {x, memory, 0};
    for (int i = 0; i < outputs; i++)
        if (x[i] > -INFINITY)
            memory[h.count++] = i;
    for (int i = h.count / 2; i-- > 0;)
        sift_down(&h, i);
    return h;
}

/* Moves the top to the place after the heap's end: those taken lie there, the first one last. */
static int32_t take_top(heap *h)
{
    const int32_t top = h->outputs[0];
    h->outputs[0] = h->outputs[--h->count];
    h->outputs[h->count] = top;
    if (h->count)
        sift_down(h, 0);
    return top;
}

/* The draw of one row by a thread. */
typedef struct row_draw {
    const tr_search_options *search;
    const tr_kernels *kernels;
    float *x; /* [outputs] logits / temperature; -inf: may not come */
    int outputs;
    int32_t *heap;
    float *weights;
    tr_exp_sum *sums; /* [segments] */
} row_draw;

/* Draws among the most likely top_k, and of these the first that have the probability top_p together. u in [0, 1); total:
 * the sum of exp(x - most). Returns the output; -1: none may come. */
static int32_t draw_of_top(const row_draw *l, double total, double most, double u)
{
    heap h = make_heap(l->x, l->outputs, l->heap);
    const int all = h.count, limit = l->search->top_k && l->search->top_k < all ? l->search->top_k : all;
    double sum = 0;
    int taken = 0;
    if (l->search->top_k)
        total = INFINITY; /* not known before they are taken */
    while (taken < limit && (taken == 0 || !(sum >= l->search->top_p * total))) {
        l->weights[taken] = (float)tr_exp(l->x[take_top(&h)] - most);
        sum += l->weights[taken++];
    }
    if (l->search->top_k && l->search->top_p < 1) {
        const double enough = sum * l->search->top_p;
        int kept = 0;
        for (sum = 0; kept < taken && (kept == 0 || !(sum >= enough));)
            sum += l->weights[kept++];
        taken = kept;
    }
    double at = u * sum;
    int i = 0;
    while (i + 1 < taken && at >= l->weights[i])
        at -= l->weights[i++];
    return taken ? l->heap[all - 1 - i] : -1;
}

/* Draws among all outputs: first a segment, then one of its outputs. */
static int32_t draw_of_all(const row_draw *l, double total, double most, double u)
{
    double at = u * total;
    int last = -1;
    for (int first = 0; first < l->outputs; first += TR_LOGITS_SEGMENT) {
        const tr_exp_sum *sum = &l->sums[first / TR_LOGITS_SEGMENT];
        const double weight = sum->sum > 0 ? sum->sum * tr_exp(sum->max - most) : 0;
        const int end = l->outputs - first < TR_LOGITS_SEGMENT ? l->outputs : first + TR_LOGITS_SEGMENT;
        const bool here = at < weight;
        for (int i = first; weight > 0 && i < end; i++) {
            if (!(l->x[i] > -INFINITY))
                continue;
            last = i;
            if (here && (at -= tr_exp(l->x[i] - most)) < 0)
                return i;
        }
        if (here)
            return last; /* rounding has left a rest */
        at -= weight;
    }
    return last;
}

/* ---------------------------------------------------------------------------------------------------------------- rows */

static double sum_segments(const row_draw *l, const float *x, double *most)
{
    const int segments = tr_logits_segments(l->outputs);
    for (int i = 0; i < segments; i++) {
        const int first = i * TR_LOGITS_SEGMENT,
                  n = l->outputs - first < TR_LOGITS_SEGMENT ? l->outputs - first : TR_LOGITS_SEGMENT;
        l->sums[i] = l->kernels->exp_sum(x + first, n);
    }
    return tr_exp_sum_total(l->sums, segments, most);
}

/* A row's logits, weighted and added over the models; and likewise the log of the softmax's denominator. */
static const float *weigh_row(const tr_sampler *s, const row_draw *l, int thread, int row, double *log_all)
{
    const tr_ensemble *models = s->candidates->models;
    const size_t outputs = (size_t)s->outputs;
    const float *x = s->logits + (size_t)(row % DRAWN_ROWS) * outputs;
    float *mixed = s->mixed ? s->mixed + (size_t)thread * outputs : NULL;
    *log_all = 0;
    for (int m = 0; m < models->count; m++) {
        const float *own = x + (size_t)m * DRAWN_ROWS * outputs;
        double most;
        const double all = sum_segments(l, own, &most);
        *log_all += models->weights[m] * (most + tr_log(all));
        if (mixed)
            tr_logits_weigh(models->weights[m], own, mixed, (size_t)l->outputs, m > 0);
    }
    return mixed ? mixed : x;
}

static void draw_row(tr_sampler *s, const tr_search_options *search, int thread, int row)
{
    const tr_candidates *c = s->candidates;
    const tr_logits_rules *rules = &c->rules[row];
    tr_draw *draw = &s->draws[row];
    const size_t at = (size_t)thread * (size_t)s->outputs;
    row_draw l = {search,
                  c->network->kernels,
                  s->scaled + at,
                  rules->shortlist ? rules->shortlist->count : s->outputs,
                  s->heaps + at,
                  s->weights + at,
                  s->sums + (size_t)thread * (size_t)c->segments};
    double most, log_all;
    const float *x = weigh_row(s, &l, thread, row, &log_all);
    draw->drawn = (tr_candidate){-1, 0, 0};
    draw->nan = isnan(log_all);
    if (draw->nan)
        return;
    memcpy(l.x, x, (size_t)l.outputs * sizeof *l.x);
    tr_candidates_apply_rules(c, row, l.x);
    for (int i = 0; search->temperature != 1 && i < l.outputs; i++)
        l.x[i] /= search->temperature;
    const double total = sum_segments(&l, l.x, &most);
    const bool few = search->top_k || search->top_p < 1;
    const int32_t output =
        few ? draw_of_top(&l, total, most, uniform_number(draw)) : draw_of_all(&l, total, most, uniform_number(draw));
    if (output >= 0)
        draw->drawn = (tr_candidate){tr_candidates_token(c, row, output), 0, (float)(x[output] - log_all)};
}

/* A thread's share of the logits of rows begin, end, which have the same outputs, by one of the models. */
static void compute_logits(tr_sampler *s, tr_forward *fwd, int model, int begin, int end)
{
    const tr_shortlist_output *shortlist = s->candidates->rules[begin].shortlist;
    const tr_network *n = s->candidates->models->networks[model];
    const tr_linear *linear = shortlist ? &shortlist->linear : &n->output;
    const tr_range own = tr_share(linear->weight.outputs, TR_PANEL, fwd->thread, fwd->ws->threads);
    const size_t row = (size_t)model * DRAWN_ROWS + (size_t)(begin % DRAWN_ROWS), outputs = (size_t)s->outputs;
    if (own.begin < own.end)
        tr_output_logits_tile(fwd, linear, shortlist ? shortlist->bias_unmasked : n->output_bias, begin, end - begin,
                              own.begin, own.end, s->logits + row * outputs + own.begin, outputs);
}

void tr_sampler_draw(tr_sampler *s, const tr_search_options *search, tr_forward *fwds)
{
    const tr_forward *fwd = &fwds[0];
    tr_workspace *ws = fwd->ws;
    const tr_logits_rules *rules = s->candidates->rules;
    tr_workspace_enter(ws, fwd->thread, TR_PROFILE_OUTPUT);
    for (int row = 0; row < fwd->rows; row += DRAWN_ROWS) {
        const int end = fwd->rows - row < DRAWN_ROWS ? fwd->rows : row + DRAWN_ROWS;
        for (int first = row, next; first < end; first = next) {
            for (next = first + 1;
                 next < end && rules[next].shortlist == rules[first].shortlist && rules[next].skip == rules[first].skip;)
                next++;
            for (int m = 0; !rules[first].skip && m < s->candidates->models->count; m++)
                compute_logits(s, &fwds[m], m, first, next);
        }
        tr_workspace_barrier(ws);
        for (int r = row + fwd->thread; r < end; r += ws->threads)
            if (!rules[r].skip)
                draw_row(s, search, fwd->thread, r);
        tr_workspace_barrier(ws);
    }
}
