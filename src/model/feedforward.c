/* FFN(x) = W2 activation(W1 x + b1) + b2 (Vaswani et al., 2017, section 3.3), or W2 (activation(Wg x) W1 x) (Shazeer, 2020)
 */
#include "model/sublayer.h"

void tr_feedforward_forward(tr_flow *flow, const tr_feedforward *weights)
{
    tr_state *s = flow->state;
    tr_sublayer_begin(flow, &weights->norm);
    const tr_range own = tr_share(weights->up.weight.outputs, TR_PANEL, flow->member, s->members);
    const bool gated = weights->gate.weight.data;
    const tr_activation activation = s->network->config.activation;
    /* hidden [rows, ffn] */
    tr_sublayer_product(flow, &weights->up, own, gated ? TR_ACTIVATION_NONE : activation, false, s->hidden, s->ffn_stride);
    if (gated)
        tr_sublayer_product(flow, &weights->gate, own, activation, true, s->hidden, s->ffn_stride);
    tr_state_meet(s);
    tr_sublayer_add(flow, &weights->down, s->hidden, s->ffn_stride);
    tr_sublayer_end(flow, &weights->norm);
}
