#include "model/state.h"

static void see_history(tr_flow *flow, const tr_cache_shape *shape, int layer, const tr_segment *segments)
{
    const tr_network *n = flow->state->network;
    const tr_decoder_layer *weights = &n->decoder[layer];
    switch (n->config.history) {
    case TR_HISTORY_ATTENTION: tr_attention_forward(flow, &weights->self, shape, layer, segments, flow->rows, true); break;
    case TR_HISTORY_SSRU: tr_ssru_forward(flow, &weights->ssru, layer, segments); break;
    case TR_HISTORY_AVERAGE: tr_average_forward(flow, &weights->average, layer, segments); break;
    }
}

void tr_decoder_forward(tr_flow *flow, const tr_cache_shape *shape, const tr_segment *self, const tr_segment *cross)
{
    const tr_network *n = flow->state->network;
    tr_state *s = flow->state;
    if (s->profile && flow->member == 0)
        s->profile->steps++;
    tr_trace_rows(flow, "target.embedding", 0, flow->x);
    for (int l = 0; l < n->config.decoder_layers; l++) {
        tr_state_enter(s, flow->member, TR_PART_SELF_ATTENTION);
        see_history(flow, shape, l, self);
        tr_state_enter(s, flow->member, TR_PART_CROSS_ATTENTION);
        tr_attention_forward(flow, &n->decoder[l].cross, shape, l, cross, flow->rows, false);
        tr_state_enter(s, flow->member, TR_PART_FEED_FORWARD);
        tr_feedforward_forward(flow, &n->decoder[l].feedforward);
        tr_trace_rows(flow, "decoder", l, flow->residual);
    }
    tr_flow_finish(flow, &n->target.final_norm);
    if (n->target.final_norm.gamma)
        tr_trace_rows(flow, "decoder.output", 0, flow->x);
}
