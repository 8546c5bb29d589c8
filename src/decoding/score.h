/* What hypotheses are compared by: log-probability / length^length_penalty (Wu et al., 2016, eq. 14, without their 5 + and
 * 6), and the coverage penalty of the same equation, by which hypotheses lose that leave source tokens without attention. */
#ifndef TR_DECODING_SCORE_H
#define TR_DECODING_SCORE_H

#include "decoding/search.h"

/* sum / tokens^length_penalty. EOS counts among the tokens, a prefix does not. */
float tr_length_normalised(const tr_search *s, const tr_sequence *seq, float sum, int tokens);
/* The score that a hypothesis has, or would have if its sum were this: length-normalised, plus its coverage penalty. */
float tr_hyp_score(const tr_search *s, const tr_sequence *seq, const tr_live_hyp *hyp, float sum, int tokens);

/* The attention of a step's rows, where the search has a coverage penalty: threads leave the weights of the first model's
 * cross-attention after the step, and thread 0 adds them to the hypotheses. */
typedef struct tr_coverage {
    int heads, positions;           /* heads that are captured; see tr_config_alignment_head */
    float *weights;                 /* [rows, heads, positions] */
    tr_attention_capture *captures; /* [seqs] */
} tr_coverage;

tr_status tr_coverage_init(tr_coverage *c, const tr_config *config, int seqs, int rows, int positions, tr_error *error);
void tr_coverage_free(tr_coverage *c); /* a zeroed struct is allowed */
/* Before a step: captures the attention of the rows of cross-attention seq number i. */
void tr_coverage_capture(tr_coverage *c, const tr_config *config, int i, tr_seq *cross);
/* After the step: adds the attention of a row to the coverage of its hypothesis. */
void tr_coverage_add(const tr_coverage *c, int row, tr_live_hyp *hyp, int source_length);

#endif
