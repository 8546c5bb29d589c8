#include "model/state.h"

static void count_turn(tr_profile *p, int rows, const tr_segment *segments, int count)
{
    p->turns++;
    p->source_rows += (uint64_t)rows;
    for (int i = 0; i < count; i++)
        p->encoder_pairs += tr_segment_positions(&segments[i]);
}

void tr_encoder_forward(tr_flow *flow, const tr_cache_shape *shape, const tr_segment *segments, int count)
{
    const tr_network *n = flow->state->network;
    tr_state_enter(flow->state, flow->member, TR_PART_ENCODER);
    if (flow->state->profile && flow->member == 0)
        count_turn(flow->state->profile, flow->rows, segments, count);
    flow->sentences = segments;
    flow->sentence_count = count;
    tr_trace_rows(flow, "source.embedding", 0, flow->x);
    for (int l = 0; l < n->config.encoder_layers; l++) {
        flow->layer = l;
        /* one cache serves all layers: a member reads only what it has put there itself */
        tr_attention_sublayer(flow, &n->encoder[l].self, shape, 0, segments, count, true);
        tr_feedforward_forward(flow, &n->encoder[l].feedforward);
        tr_trace_rows(flow, "encoder", l, flow->residual);
    }
    tr_flow_finish(flow, &n->source.final_norm);
    if (n->source.final_norm.gamma)
        tr_trace_rows(flow, "encoder.output", 0, flow->x);
}
