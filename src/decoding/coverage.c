/* The coverage penalty (Wu et al., 2016, eq. 14): hypotheses are worth less by the source tokens that none of their tokens
 * attends to. Members leave the weights of each row's cross-attention behind the step, member 0 adds them up. */
#include <float.h>

#include "decoding/worker.h"
#include "util/numbers.h"

/* Heads whose weights are taken. */
static size_t heads_of(const tr_worker *w)
{
    int layer, head;
    const tr_config *c = &w->state->network->config;
    tr_config_guide(c, &layer, &head);
    return head < 0 ? (size_t)c->decoder_heads : 1;
}

size_t tr_coverage_floats(const tr_worker *w, int rows)
{
    return (size_t)rows * heads_of(w) * (size_t)w->max_positions;
}

void tr_coverage_watch(tr_worker *w, int i)
{
    const tr_config *c = &w->state->network->config;
    const size_t positions = (size_t)w->max_positions, heads = heads_of(w);
    tr_segment *cross = &w->cross_segments[i];
    tr_watch *watch = &w->watches[i];
    *watch = (tr_watch){.weights = w->attended + (size_t)cross->first * heads * positions,
                        .head_stride = positions,
                        .row_stride = heads * positions};
    tr_config_guide(c, &watch->only_layer, &watch->only_head);
    cross->watch = watch;
}

void tr_coverage_add(tr_worker *w, int i)
{
    const tr_slot *slot = tr_worker_slot(w, i);
    const int heads = (int)heads_of(w);
    int row = 0;
    for (int l = 0; l < w->breadth.lanes; l++)
        for (int p = 0; p < slot->lanes[l].following; p++, row++)
            for (int s = 0; s < slot->sentence->source_length; s++)
                slot->lanes[l].paths[p]->coverage[s] += tr_watch_mean(&w->watches[i], heads, row, s);
}

/* A token that nothing attends to, not even by a rounding error, costs as much as can be told. */
static double logarithm_of(float coverage)
{
    return coverage >= 1 ? 0 : tr_log(coverage > FLT_MIN ? (double)coverage : (double)FLT_MIN);
}

float tr_path_score(const tr_worker *w, const tr_sentence *s, const tr_path *path, float sum, int tokens)
{
    const float rate = tr_rate(w, s, sum, tokens);
    double penalty = 0;
    if (!w->breadth.coverage)
        return rate;
    for (int i = 0; i < s->source_length; i++)
        penalty += logarithm_of(path->coverage[i]);
    return (float)((double)rate + (double)w->search.coverage_penalty * penalty);
}
