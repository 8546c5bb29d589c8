/* FFN(x) = W2 activation(W1 x + b1) + b2 (Vaswani et al., 2017, section 3.3), or W2 (activation(Wg x) W1 x) (Shazeer, 2020),
 * or with more or fewer products than two, all but the last of them activated (Marian). */
#include "model/sublayer.h"

const float *tr_feedforward_hidden(tr_flow *flow, const tr_feedforward *weights)
{
    tr_state *s = flow->state;
    const tr_range own = tr_share(weights->up.weight.outputs, TR_PANEL, flow->member, s->members);
    const bool gated = weights->gate.weight.data;
    const tr_activation activation = weights->activation;
    float *hidden = s->hidden, *next = s->deeper; /* [rows, ffn] */
    tr_sublayer_product(flow, &weights->up, own, gated ? TR_ACTIVATION_NONE : activation, false, hidden, s->ffn_stride);
    if (gated)
        tr_sublayer_product(flow, &weights->gate, own, activation, true, hidden, s->ffn_stride);
    tr_state_meet(s);
    for (int i = 0; i < weights->middles; i++) {
        tr_sublayer_onward(flow, &weights->middle[i], hidden, s->ffn_stride, own, activation, next, s->ffn_stride);
        tr_state_meet(s);
        float *const last = hidden;
        hidden = next;
        next = last;
    }
    return hidden;
}

void tr_feedforward_forward(tr_flow *flow, const tr_feedforward *weights)
{
    tr_state *s = flow->state;
    tr_sublayer_begin(flow, &weights->norms);
    if (weights->up.weight.data) {
        const float *hidden = tr_feedforward_hidden(flow, weights);
        tr_sublayer_add(flow, &weights->down, hidden, s->ffn_stride);
    } else {
        tr_state_meet(s); /* nobody reads the stream any more */
        tr_sublayer_add(flow, &weights->down, flow->x, s->stride);
    }
    tr_sublayer_end(flow, &weights->norms);
}
