#include "align/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAIRS = 64,
    ROWS = 256, /* that a thread gets at a time */
    LEAST = 1 << 12
};

tr_align_settings tr_align_default(void)
{
    return (tr_align_settings){.iterations = 5, .tension = 4, .null = 0.08, .alpha = 0.01};
}

/* Shared by all threads. */
typedef struct learning {
    const tr_parallel *text;
    int given;
    const tr_align_settings *settings;
    tr_align_model *model;
    atomic_size_t next; /* next pair or row */
    atomic_bool failed, stop;
    tr_align_progress *progress;
    void *argument;
    uint64_t done; /* before this iteration */
} learning;

/* Of one thread: a matrix [given, explained] of a pair, in rows of TR_PARALLEL_LENGTH. */
typedef struct workspace {
    float t[TR_PARALLEL_LENGTH * TR_PARALLEL_LENGTH];    /* t(e_j | g_i) */
    int32_t at[TR_PARALLEL_LENGTH * TR_PARALLEL_LENGTH]; /* where, in the row of g_i; -1: no candidate */
    float prior[TR_PARALLEL_LENGTH];                     /* of one j */
    int32_t order[TR_PARALLEL_LENGTH];                   /* positions of explained tokens, by token */
} workspace;

/* --------------------------------------------------------------------------------------------------------- expectation */

static void sort_positions(const int32_t *ids, int n, int32_t *order)
{
    for (int i = 0; i < n; i++) {
        int k = i;
        for (; k && ids[order[k - 1]] > ids[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

/* The index of the first element of ids[from .. count), which is ascending, that is not below id. */
static int lower_bound(const int32_t *ids, int from, int count, int32_t id)
{
    int step = 1, low = from;
    while (low + step < count && ids[low + step] < id) /* exponential search: the next one is near */
        low += step, step *= 2;
    int high = low + step < count ? low + step : count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Fills the row of a given token. */
static void look_up(const tr_align_model *model, int32_t token, const int32_t *explained, int n, const int32_t *order,
                    float *t, int32_t *at)
{
    const tr_align_candidates *c = &model->candidates;
    const size_t start = c->starts[token];
    const int count = (int)(c->starts[token + 1] - start);
    const int32_t *ids = c->ids + start;
    for (int k = 0, place = 0; k < n; k++) {
        const int j = order[k];
        place = lower_bound(ids, place, count, explained[j]);
        const bool there = place < count && ids[place] == explained[j];
        at[j] = there ? place : -1;
        t[j] = there ? model->t[start + (size_t)place] : 0;
    }
}

/* d(i | j) of the m given tokens: falls by a constant factor from position to position on both sides of the diagonal. */
static void diagonal(double tension, int j, int n, int m, float *prior)
{
    const double centre = (double)(j + 1) / n * m - 1, factor = exp(-tension / m);
    const int above = (int)floor(centre) + 1; /* the first position after the diagonal */
    double sum = 0, d = exp(-tension * (above - centre) / m);
    for (int i = above; i < m; i++, d *= factor)
        sum += d, prior[i] = (float)d;
    d = exp(-tension * (centre - (above - 1)) / m);
    for (int i = above - 1; i >= 0; i--, d *= factor)
        sum += d, prior[i] = (float)d;
    for (int i = 0; i < m; i++)
        prior[i] = (float)(prior[i] / sum);
}

/* Ignores shares below a millionth. */
static void add_count(_Atomic uint64_t *count, float share)
{
    const uint64_t units = (uint64_t)((double)share * TR_ALIGN_UNIT);
    if (units >= LEAST)
        atomic_fetch_add_explicit(count, units, memory_order_relaxed);
}

/* Computes the share of each given token in explaining token j. */
static void explain(const learning *l, workspace *w, const int32_t *given, int m, int32_t token, int j)
{
    tr_align_model *model = l->model;
    const float null = (float)l->settings->null;
    float none = null * model->null_t[token], sum = none;
    for (int i = 0; i < m; i++) {
        w->prior[i] *= (1 - null) * w->t[i * TR_PARALLEL_LENGTH + j];
        sum += w->prior[i];
    }
    if (!(sum > 0))
        return;
    add_count(&model->null_counts[token], none / sum);
    for (int i = 0; i < m; i++) {
        const int32_t at = w->at[i * TR_PARALLEL_LENGTH + j];
        if (at >= 0)
            add_count(&model->counts[model->candidates.starts[given[i]] + (size_t)at], w->prior[i] / sum);
    }
}

static void count_pair(const learning *l, workspace *w, size_t pair)
{
    int m, n;
    const int32_t *given = tr_parallel_sentence(l->text, l->given, pair, &m);
    const int32_t *explained = tr_parallel_sentence(l->text, !l->given, pair, &n);
    sort_positions(explained, n, w->order);
    for (int i = 0; i < m; i++)
        look_up(l->model, given[i], explained, n, w->order, w->t + i * TR_PARALLEL_LENGTH, w->at + i * TR_PARALLEL_LENGTH);
    for (int j = 0; j < n; j++) {
        diagonal(l->settings->tension, j, n, m, w->prior);
        explain(l, w, given, m, explained[j], j);
    }
}

static void run_expectation(void *argument, int thread)
{
    learning *l = argument;
    const size_t pairs = l->text->pairs;
    workspace *w = malloc(sizeof *w);
    if (!w)
        atomic_store(&l->failed, true);
    for (size_t p; w && !atomic_load(&l->stop) && (p = atomic_fetch_add(&l->next, PAIRS)) < pairs;) {
        for (size_t k = p; k < p + PAIRS && k < pairs; k++)
            count_pair(l, w, k);
        if (thread == 0 && l->progress && l->progress(l->argument, l->done + p, pairs * (uint64_t)l->settings->iterations))
            atomic_store(&l->stop, true);
    }
    free(w);
}

/* -------------------------------------------------------------------------------------------------------- maximisation */

/* By its recurrence up to 7, then asymptotically. */
static double digamma(double x)
{
    double result = 0;
    for (; x < 7; x++)
        result -= 1 / x;
    x -= 0.5;
    const double xx = 1 / x, xx2 = xx * xx, xx4 = xx2 * xx2;
    return result + log(x) + 1. / 24 * xx2 - 7. / 960 * xx4 + 31. / 8064 * xx4 * xx2 - 127. / 30720 * xx4 * xx4;
}

/* Computes t of n candidates from their counts; keeps t if the counts are 0. */
static void normalise(double alpha, const _Atomic uint64_t *counts, size_t n, float *t)
{
    uint64_t units = 0;
    for (size_t i = 0; i < n; i++)
        units += atomic_load_explicit(&counts[i], memory_order_relaxed);
    if (!units)
        return;
    const double sum = (double)units / TR_ALIGN_UNIT, whole = alpha > 0 ? digamma(sum + alpha * (double)n) : 0;
    for (size_t i = 0; i < n; i++) {
        const double count = (double)atomic_load_explicit(&counts[i], memory_order_relaxed) / TR_ALIGN_UNIT;
        t[i] = (float)(alpha > 0 ? exp(digamma(count + alpha) - whole) : count / sum);
    }
}

static void run_maximisation(void *argument, int thread)
{
    learning *l = argument;
    tr_align_model *model = l->model;
    const tr_align_candidates *c = &model->candidates;
    if (thread == 0)
        normalise(l->settings->alpha, model->null_counts, (size_t)c->explained, model->null_t);
    for (size_t first; (first = atomic_fetch_add(&l->next, ROWS)) < (size_t)c->given;)
        for (size_t g = first; g < first + ROWS && g < (size_t)c->given; g++)
            normalise(l->settings->alpha, model->counts + c->starts[g], c->starts[g + 1] - c->starts[g],
                      model->t + c->starts[g]);
}

/* ------------------------------------------------------------------------------------------------------------ learning */

static bool init_model(tr_align_model *model)
{
    const tr_align_candidates *c = &model->candidates;
    const size_t all = c->starts[c->given], explained = (size_t)c->explained;
    model->t = malloc((all ? all : 1) * sizeof *model->t);
    model->counts = malloc((all ? all : 1) * sizeof *model->counts);
    model->null_t = malloc(explained * sizeof *model->null_t);
    model->null_counts = malloc(explained * sizeof *model->null_counts);
    if (!model->t || !model->counts || !model->null_t || !model->null_counts)
        return false;
    for (size_t i = 0; i < all; i++)
        model->t[i] = 1 / (float)explained;
    for (size_t i = 0; i < explained; i++)
        model->null_t[i] = 1 / (float)explained;
    return true;
}

static void clear_counts(tr_align_model *model)
{
    const tr_align_candidates *c = &model->candidates;
    for (size_t i = 0; i < c->starts[c->given]; i++)
        atomic_init(&model->counts[i], 0);
    for (int i = 0; i < c->explained; i++)
        atomic_init(&model->null_counts[i], 0);
}

static tr_status iterate(learning *l, tr_team *team, tr_error *error)
{
    clear_counts(l->model);
    atomic_store(&l->next, 0);
    tr_status status = tr_team_run(team, run_expectation, l, error);
    if (status == TR_OK && atomic_load(&l->failed))
        status = tr_fail(error, TR_ERROR_MEMORY, "alignment model: out of memory");
    if (status == TR_OK && atomic_load(&l->stop))
        status = tr_fail(error, TR_ERROR_CANCELLED, "alignment model: cancelled");
    atomic_store(&l->next, 0);
    if (status == TR_OK)
        status = tr_team_run(team, run_maximisation, l, error);
    l->done += l->text->pairs;
    return status;
}

tr_status tr_align_learn(const tr_parallel *text, int given, const int vocabulary[2], const tr_align_settings *settings,
                         tr_team *team, tr_align_progress *progress, void *argument, tr_align_model *model, tr_error *error)
{
    learning l = {
        .text = text, .given = given, .settings = settings, .model = model, .progress = progress, .argument = argument};
    *model = (tr_align_model){0};
    tr_status status = tr_align_candidates_find(text, given, vocabulary, team, &model->candidates, error);
    if (status != TR_OK)
        return status;
    if (!init_model(model))
        status = tr_fail(error, TR_ERROR_MEMORY, "alignment model: out of memory");
    for (int i = 0; status == TR_OK && i < settings->iterations; i++)
        status = iterate(&l, team, error);
    if (status != TR_OK)
        tr_align_free(model);
    return status;
}

void tr_align_free(tr_align_model *model)
{
    tr_align_candidates_free(&model->candidates);
    free(model->t);
    free((void *)model->counts);
    free(model->null_t);
    free((void *)model->null_counts);
    *model = (tr_align_model){0};
}
