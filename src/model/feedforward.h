/* Feed-forward networks: W2 act(W1 x + b1) + b2 (Vaswani et al., 2017, section 3.3), gated (Shazeer, 2020), and with more or
 * fewer products than two (Marian). See tr_feedforward_kind. */
#ifndef TR_MODEL_FEEDFORWARD_H
#define TR_MODEL_FEEDFORWARD_H

#include "model/bind.h"
#include "model/forward.h"

/* PREFIX.NAME_up, _gate, _mid_2, ..., _down; name: "ffn" or "avg". kind, activation and has_down of f are set; ffn is its
 * width, depth the number of products. */
void tr_feedforward_bind(tr_binder *b, tr_feedforward *f, const char *prefix, const char *name, int ffn, int depth);

/* The thread's own columns of FFN(x) go to target: see tr_linear_forward. Not for TR_FFN_NONE. */
void tr_feedforward_forward(tr_forward *fwd, const tr_feedforward *weights, tr_matmul target);

#endif
