/* The average attention network (Zhang et al., 2018), which decoder layers may have in place of self-attention. It keeps the
 * mean of all rows x so far, d_model numbers of each sequence:
 *     y = FFN(mean)                                                              not gated
 *     y = i * x + f * FFN(mean),   i = sigmoid(Wi x + bi),   f = sigmoid(Wf FFN(mean) + bf)  gated
 * In pre-norm networks x is not normalised, but the mean is, as in Marian. */
#ifndef TR_MODEL_AAN_H
#define TR_MODEL_AAN_H

#include "model/bind.h"
#include "model/forward.h"

/* PREFIX.avg_up, avg_mid_2, ..., avg_down, avg_gate_x, avg_gate_y. norms are those of the sublayer; a norm before it becomes
 * that of the mean. */
tr_aan tr_aan_bind(tr_binder *b, const char *prefix, tr_norms *norms);

/* stream = residual + AAN(x) */
void tr_aan_sublayer(tr_forward *fwd, const tr_aan *weights, const tr_seq *seqs, int count);

#endif
