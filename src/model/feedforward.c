/* FFN(x) = W2 activation(W1 x + b1) + b2 (Vaswani et al., 2017, section 3.3), or W2 (activation(Wg x) W1 x) (Shazeer, 2020),
 * or with more or fewer products than two, all but the last of them activated (Marian). */
#include "model/sublayer.h"

const float *tr_feedforward_hidden(tr_forward *fwd, const tr_feedforward *weights)
{
    tr_workspace *ws = fwd->ws;
    const tr_range own = tr_share(weights->up.weight.outputs, TR_PANEL, fwd->thread, ws->threads);
    const bool gated = weights->gate.weight.data;
    const tr_activation activation = weights->activation;
    float *hidden = ws->hidden, *next = ws->hidden2; /* [rows, ffn] */
    tr_sublayer_linear(fwd, &weights->up, own, gated ? TR_ACTIVATION_NONE : activation, false, hidden, ws->ffn_stride);
    if (gated)
        tr_sublayer_linear(fwd, &weights->gate, own, activation, true, hidden, ws->ffn_stride);
    tr_workspace_barrier(ws);
    for (int i = 0; i < weights->middles; i++) {
        tr_sublayer_linear_shared(fwd, &weights->middle[i], hidden, ws->ffn_stride, own, activation, next, ws->ffn_stride);
        tr_workspace_barrier(ws);
        float *const last = hidden;
        hidden = next;
        next = last;
    }
    return hidden;
}

void tr_feedforward_forward(tr_forward *fwd, const tr_feedforward *weights)
{
    tr_workspace *ws = fwd->ws;
    tr_sublayer_begin(fwd, &weights->norms);
    if (weights->up.weight.data) {
        const float *hidden = tr_feedforward_hidden(fwd, weights);
        tr_sublayer_add(fwd, &weights->down, hidden, ws->ffn_stride);
    } else {
        tr_workspace_barrier(ws); /* nobody reads the stream any more */
        tr_sublayer_add(fwd, &weights->down, fwd->x, ws->stride);
    }
    tr_sublayer_end(fwd, &weights->norms);
}
