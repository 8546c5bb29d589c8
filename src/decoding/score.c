#include "decoding/score.h"

#include <float.h>
#include <stdlib.h>

#include "util/numbers.h"

float tr_length_normalised(const tr_search *s, const tr_sequence *seq, float sum, int tokens)
{
    const int counted = tokens - seq->prefix_length;
    return (float)(sum / tr_exp(s->options.length_penalty * tr_log(counted < 1 ? 1 : counted)));
}

/* The lowest float stands for the coverage 0: the penalty stays finite. */
static double log_coverage(float coverage)
{
    return coverage >= 1 ? 0 : tr_log(coverage > FLT_MIN ? (double)coverage : (double)FLT_MIN);
}

float tr_hyp_score(const tr_search *s, const tr_sequence *seq, const tr_live_hyp *hyp, float sum, int tokens)
{
    const float normalised = tr_length_normalised(s, seq, sum, tokens);
    double penalty = 0;
    if (!s->shape.coverage)
        return normalised;
    for (int i = 0; i < seq->source_length; i++)
        penalty += log_coverage(hyp->coverage[i]);
    return (float)((double)normalised + (double)s->options.coverage_penalty * penalty);
}

tr_status tr_coverage_init(tr_coverage *c, const tr_config *config, int seqs, int rows, int positions, tr_error *error)
{
    int layer, head;
    tr_config_alignment_head(config, &layer, &head);
    *c = (tr_coverage){.heads = head < 0 ? config->decoder_heads : 1, .positions = positions};
    c->weights = calloc((size_t)rows * (size_t)c->heads * (size_t)positions, sizeof *c->weights);
    c->captures = calloc((size_t)seqs, sizeof *c->captures);
    if (c->weights && c->captures)
        return TR_OK;
    tr_coverage_free(c);
    return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
}

void tr_coverage_free(tr_coverage *c)
{
    free(c->weights);
    free(c->captures);
    *c = (tr_coverage){0};
}

void tr_coverage_capture(tr_coverage *c, const tr_config *config, int i, tr_seq *cross)
{
    const size_t row = (size_t)c->heads * (size_t)c->positions;
    tr_attention_capture *capture = &c->captures[i];
    *capture = (tr_attention_capture){
        .weights = c->weights + (size_t)cross->first_row * row, .head_stride = (size_t)c->positions, .row_stride = row};
    tr_config_alignment_head(config, &capture->layer, &capture->head);
    cross->capture = capture;
}

void tr_coverage_add(const tr_coverage *c, int row, tr_live_hyp *hyp, int source_length)
{
    const tr_attention_capture all = {
        .weights = c->weights, .head_stride = (size_t)c->positions, .row_stride = (size_t)c->heads * (size_t)c->positions};
    for (int i = 0; i < source_length; i++)
        hyp->coverage[i] += tr_attention_capture_mean(&all, c->heads, row, i);
}
