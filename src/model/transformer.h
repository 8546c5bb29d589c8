/* The encoder-decoder Transformer as lists of sublayers: tr_network_create settles their kinds, tr_encoder_forward and
 * tr_decoder_forward run them. Another architecture is new kinds of sublayers here, and a page for each. */
#ifndef TR_MODEL_TRANSFORMER_H
#define TR_MODEL_TRANSFORMER_H

#include "model/forward.h"

/* Makes a network from tensors, which must outlive it; kernels too. TR_ERROR_FORMAT: a setting is invalid, or the tensor
 * that is named is missing or has another shape than the settings ask for; TR_ERROR_UNSUPPORTED, TR_ERROR_NUMERIC,
 * TR_ERROR_MEMORY. */
tr_status tr_network_create(const tr_config *config, const tr_weights *weights, tr_compute compute,
                            const tr_kernels *kernels, tr_network **network, tr_error *error);
void tr_network_destroy(tr_network *network); /* NULL is allowed */

/* Limits how far encoder heads attend, as text says: see tr_windows_parse. Before the network is used. */
tr_status tr_network_limit_attention(tr_network *network, const char *text, tr_error *error);

/* All encoder layers; seqs hold all rows. Afterwards fwd->x is the encoder's output, in every thread. */
void tr_encoder_forward(tr_forward *fwd, const tr_kv_shape *shape, const tr_seq *seqs, int count);

/* Keys and values of the encoder's output x into the caches that all decoder layers' cross-attention reads. */
void tr_decoder_project_source(tr_forward *fwd, const tr_kv_shape *shape, const tr_seq *seqs, int count);

/* All decoder layers. Both self and cross hold each row once, in the same order: a sequence of self has consecutive new
 * tokens of one hypothesis, a sequence of cross the rows that read one source. */
void tr_decoder_forward(tr_forward *fwd, const tr_kv_shape *shape, const tr_seq *self, int self_count, const tr_seq *cross,
                        int cross_count);

#endif
