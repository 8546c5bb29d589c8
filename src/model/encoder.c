#include "model/state.h"

/* Positions that a sentence's rows attend to, the mean over heads. */
static uint64_t count_pairs(const tr_network *n, const tr_segment *segment)
{
    const int64_t length = segment->length, heads = n->config.encoder_heads;
    int64_t pairs = 0;
    if (!n->windows)
        return tr_segment_positions(segment);
    for (int h = 0; h < heads; h++) {
        const int64_t reach = n->windows[h] < 0 || n->windows[h] >= length ? length - 1 : n->windows[h];
        pairs += length * (2 * reach + 1) - reach * (reach + 1); /* less what would be outside */
    }
    return (uint64_t)(pairs / heads);
}

static void count_turn(const tr_network *n, tr_profile *p, int rows, const tr_segment *segments, int count)
{
    p->turns++;
    p->source_rows += (uint64_t)rows;
    for (int i = 0; i < count; i++)
        p->encoder_pairs += count_pairs(n, &segments[i]);
}

void tr_encoder_forward(tr_flow *flow, const tr_cache_shape *shape, const tr_segment *segments, int count)
{
    const tr_network *n = flow->state->network;
    tr_state_enter(flow->state, flow->member, TR_PART_ENCODER);
    if (flow->state->profile && flow->member == 0)
        count_turn(n, flow->state->profile, flow->rows, segments, count);
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
