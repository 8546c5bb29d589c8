/* Embeddings and positions: x = scale E[token] + P[position], then LayerNorm if config.embedding_norm is set (Vaswani et
 * al., 2017, sections 3.4 and 3.5). */
#ifndef TR_MODEL_EMBEDDING_H
#define TR_MODEL_EMBEDDING_H

#include "model/bind.h"
#include "model/workspace.h"

/* The embeddings and norms of both sides: token_embd, or enc.token_embd and dec.token_embd; SIDE.embd_norm,
 * SIDE.output_norm. */
void tr_embedding_bind(tr_binder *b);
/* The tables of positions that are added to embeddings, after all matrices: see tr_bind_may_make_table. */
void tr_embedding_bind_positions(tr_binder *b);

/* stream[row] = the embedding of token id at position; id -1: zeros in place of scale E[id]. One thread. */
void tr_embed(tr_workspace *ws, const tr_side *side, int row, int32_t id, int position);

#endif
