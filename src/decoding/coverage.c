/* The coverage penalty (Wu et al., 2016, eq. 14): hypotheses are worth less by the source tokens that none of their tokens
 * attends to. Members leave the weights of each row's cross-attention behind the step, thread 0 adds them up. */
#include <float.h>

#include "decoding/worker.h"
#include "util/numbers.h"

/* Heads whose weights are taken. */
static size_t heads_of(const tr_worker *w)
{
    int layer, head;
    const tr_config *c = &w->ws->network->config;
    tr_config_alignment_head(c, &layer, &head);
    return head < 0 ? (size_t)c->decoder_heads : 1;
}

size_t tr_coverage_floats(const tr_worker *w, int rows)
{
    return (size_t)rows * heads_of(w) * (size_t)w->max_positions;
}

void tr_coverage_capture(tr_worker *w, int i)
{
    const tr_config *c = &w->ws->network->config;
    const size_t positions = (size_t)w->max_positions, heads = heads_of(w);
    tr_seq *cross = &w->cross_seqs[i];
    tr_attention_capture *capture = &w->watches[i];
    *capture = (tr_attention_capture){.weights = w->attended + (size_t)cross->first_row * heads * positions,
                                      .head_stride = positions,
                                      .row_stride = heads * positions};
    tr_config_alignment_head(c, &capture->layer, &capture->head);
    cross->capture = capture;
}

void tr_coverage_add(tr_worker *w, int i)
{
    const tr_slot *slot = tr_worker_slot(w, i);
    const int heads = (int)heads_of(w);
    int row = 0;
    for (int l = 0; l < w->shape.beams; l++)
        for (int p = 0; p < slot->beams[l].live_count; p++, row++)
            for (int s = 0; s < slot->sequence->source_length; s++)
                slot->beams[l].live[p]->coverage[s] += tr_attention_capture_mean(&w->watches[i], heads, row, s);
}

/* A token that nothing attends to, not even by a rounding error, costs as much as can be told. */
static double logarithm_of(float coverage)
{
    return coverage >= 1 ? 0 : tr_log(coverage > FLT_MIN ? (double)coverage : (double)FLT_MIN);
}

float tr_hyp_score(const tr_worker *w, const tr_sequence *seq, const tr_live_hyp *hyp, float sum, int tokens)
{
    const float rate = tr_length_normalised(w, seq, sum, tokens);
    double penalty = 0;
    if (!w->shape.coverage)
        return rate;
    for (int i = 0; i < seq->source_length; i++)
        penalty += logarithm_of(hyp->coverage[i]);
    return (float)((double)rate + (double)w->search.coverage_penalty * penalty);
}
