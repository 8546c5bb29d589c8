/* What attention and feed-forward share: the frame of LayerNorm and residual around a sublayer's function. */
#ifndef TR_MODEL_SUBLAYER_H
#define TR_MODEL_SUBLAYER_H

#include "model/state.h"

/* Makes flow->x the sublayer's input. */
void tr_sublayer_begin(tr_flow *flow, const tr_norm *norm);
/* y[rows, columns] = activation(W x + b) of the flow's rows x; gated: times what y holds */
void tr_sublayer_product(tr_flow *flow, const tr_linear *linear, tr_range columns, tr_activation activation, bool gated,
                         float *y, size_t y_stride);
/* stream = residual + linear(x), x [rows, linear's inputs] what all members have written; ends with a barrier. */
void tr_sublayer_add(tr_flow *flow, const tr_linear *linear, const float *x, size_t x_stride);
/* Makes flow->x and flow->residual what the next sublayer starts from. */
void tr_sublayer_end(tr_flow *flow, const tr_norm *norm);

#endif
