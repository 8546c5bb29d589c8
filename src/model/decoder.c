#include "model/state.h"

static void see_history(tr_flow *flow, const tr_cache_shape *shape, const tr_segment *segments, int count)
{
    const tr_network *n = flow->state->network;
    const tr_decoder_layer *weights = &n->decoder[flow->layer];
    switch (n->config.history) {
    case TR_HISTORY_ATTENTION: tr_attention_sublayer(flow, &weights->self, shape, flow->layer, segments, count, true); break;
    case TR_HISTORY_SSRU: tr_ssru_forward(flow, &weights->ssru, segments, count); break;
    case TR_HISTORY_AVERAGE: tr_average_forward(flow, &weights->average, segments, count); break;
    }
}

static void count_step(tr_profile *p, const tr_flow *flow, const tr_segment *self, int self_count, const tr_segment *cross,
                       int cross_count)
{
    p->steps++;
    p->rows += (uint64_t)flow->rows;
    for (int i = 0; i < self_count; i++)
        p->self_positions += tr_segment_positions(&self[i]);
    for (int i = 0; i < cross_count; i++)
        p->cross_positions += tr_segment_positions(&cross[i]);
}

void tr_decoder_forward(tr_flow *flow, const tr_cache_shape *shape, const tr_segment *self, int self_count,
                        const tr_segment *cross, int cross_count)
{
    const tr_network *n = flow->state->network;
    tr_state *s = flow->state;
    if (s->profile && flow->member == 0)
        count_step(s->profile, flow, self, self_count, cross, cross_count);
    tr_trace_rows(flow, "target.embedding", 0, flow->x);
    for (int l = 0; l < n->config.decoder_layers; l++) {
        flow->layer = l;
        tr_state_enter(s, flow->member, TR_PART_SELF_ATTENTION);
        see_history(flow, shape, self, self_count);
        tr_state_enter(s, flow->member, TR_PART_CROSS_ATTENTION);
        tr_attention_sublayer(flow, &n->decoder[l].cross, shape, l, cross, cross_count, false);
        tr_state_enter(s, flow->member, TR_PART_FEED_FORWARD);
        tr_feedforward_forward(flow, &n->decoder[l].feedforward);
        tr_trace_rows(flow, "decoder", l, flow->residual);
    }
    tr_flow_finish(flow, &n->target.final_norm);
    if (n->target.final_norm.gamma)
        tr_trace_rows(flow, "decoder.output", 0, flow->x);
}
