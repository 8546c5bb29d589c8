/* The simpler simple recurrent unit (Kim et al., 2019, section 3.3), which decoder layers may have in place of
 * self-attention. It keeps d_model numbers of each sequence, whatever its length:
 *     c = f c + (1 - f) W x,   f = sigmoid(Wf x + bf),   y = ReLU(c), or Wo ReLU(c) */
#ifndef TR_MODEL_SSRU_H
#define TR_MODEL_SSRU_H

#include "model/bind.h"
#include "model/forward.h"

/* PREFIX.ssru_x, ssru_f and, with config.ssru_projection, ssru_o. */
tr_ssru tr_ssru_bind(tr_binder *b, const char *prefix);

/* stream = residual + SSRU(x) */
void tr_ssru_sublayer(tr_forward *fwd, const tr_ssru *weights, const tr_seq *seqs, int count);

#endif
