/* Multi-head attention (Vaswani et al., 2017, section 3.2.2): Wo concat(softmax(scale q k^T + bias) v) over heads, with
 * q = Wq x, k = Wk x, v = Wv x. Self-attention of the encoder, cached self-attention of the decoder and cross-attention
 * differ only in where keys and values come from. */
#ifndef TR_MODEL_ATTENTION_H
#define TR_MODEL_ATTENTION_H

#include "model/bind.h"
#include "model/forward.h"

/* PREFIX.KIND_q, _k, _v, _o; kind: "attn" or "cross_attn". */
tr_attention tr_attention_bind(tr_binder *b, const char *prefix, const char *kind, int heads);
/* The biases of all self-attention sublayers by distance, after all matrices: see tr_bind_may_make_table. */
void tr_attention_bind_distance_bias(tr_binder *b);

/* Keys and values of the rows x into the caches of their sequences: those of the thread's own heads. Keys of row r of a
 * sequence go to position + r. */
void tr_attention_project(tr_forward *fwd, const tr_attention *weights, const tr_kv_shape *shape, const tr_seq *seqs,
                          int count);
/* stream = residual + attention of rows x over the caches of their sequences. The keys and values of the thread's own heads
 * must be there: no barrier is needed after tr_attention_project. With unnormalised_kv it projects by itself. */
void tr_attention_sublayer(tr_forward *fwd, const tr_attention *weights, const tr_kv_shape *shape, const tr_seq *seqs,
                           int count);

#endif
