/* What attention and feed-forward share: the frame of LayerNorms and residual around a sublayer's function. */
#ifndef TR_MODEL_SUBLAYER_H
#define TR_MODEL_SUBLAYER_H

#include "model/state.h"

/* Makes flow->x the sublayer's input. */
void tr_sublayer_begin(tr_forward *fwd, const tr_norms *norms);
/* The same of other rows than those of the stream, [rows, stride]. */
void tr_sublayer_begin_with(tr_forward *fwd, const tr_norms *norms, const float *x);
/* Makes rows [rows, stride], not normalised, what the next products read. */
void tr_sublayer_set_input(tr_forward *fwd, const float *x);
/* y[rows, columns] = activation(W x + b) of the flow's rows x; gated: times what y holds */
void tr_sublayer_linear(tr_forward *fwd, const tr_linear *linear, tr_range columns, tr_activation activation, bool gated,
                        float *y, size_t y_stride);
/* y[rows, columns] = activation(W x + b) of x [rows, linear's inputs], what all threads have written */
void tr_sublayer_linear_shared(tr_forward *fwd, const tr_linear *linear, const float *x, size_t x_stride, tr_range columns,
                               tr_activation activation, float *y, size_t y_stride);
/* stream = residual + linear(x), x [rows, linear's inputs] what all threads have written; ends with a barrier. Without
 * weights linear(x) is x. */
void tr_sublayer_add(tr_forward *fwd, const tr_linear *linear, const float *x, size_t x_stride);
/* Makes flow->residual, and with a norm behind the sum flow->x, what the next sublayer starts from. */
void tr_sublayer_end(tr_forward *fwd, const tr_norms *norms);

#endif
