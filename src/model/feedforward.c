/* FFN(x) = W2 activation(W1 x + b1) + b2 (Vaswani et al., 2017, section 3.3) */
#include "model/sublayer.h"

void tr_feedforward_forward(tr_flow *flow, const tr_feedforward *weights)
{
    tr_state *s = flow->state;
    tr_sublayer_begin(flow, &weights->norm);
    const tr_range own = tr_share(weights->up.weight.outputs, TR_PANEL, flow->member, s->members);
    s->network->kernels->matmul(&(tr_matmul){.weight = &weights->up.weight,
                                             .bias = weights->up.bias,
                                             .rows = flow->rows,
                                             .x = flow->x,
                                             .x_stride = s->stride,
                                             .activation = s->network->config.activation,
                                             .y = s->hidden,
                                             .y_stride = s->ffn_stride}, /* [rows, ffn] */
                                own.first, own.last, s->member[flow->member].scratch);
    tr_state_meet(s);
    tr_sublayer_add(flow, &weights->down, s->hidden, s->ffn_stride);
    tr_sublayer_end(flow, &weights->norm);
}
