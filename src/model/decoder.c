#include "model/state.h"

static void see_history(tr_forward *fwd, const tr_kv_shape *shape, const tr_seq *seqs, int count)
{
    const tr_network *n = fwd->ws->network;
    const tr_decoder_layer *weights = &n->decoder[fwd->layer];
    switch (n->config.mixer) {
    case TR_MIXER_SELF_ATTENTION: tr_attention_sublayer(fwd, &weights->self, shape, fwd->layer, seqs, count, true); break;
    case TR_MIXER_SSRU: tr_ssru_forward(fwd, &weights->ssru, seqs, count); break;
    case TR_MIXER_AAN: tr_aan_forward(fwd, &weights->aan, seqs, count); break;
    }
}

static void count_step(tr_profile *p, const tr_forward *fwd, const tr_seq *self, int self_count, const tr_seq *cross,
                       int cross_count)
{
    p->steps++;
    p->rows += (uint64_t)fwd->rows;
    for (int i = 0; i < self_count; i++)
        p->self_positions += tr_seq_positions(&self[i]);
    for (int i = 0; i < cross_count; i++)
        p->cross_positions += tr_seq_positions(&cross[i]);
}

void tr_decoder_forward(tr_forward *fwd, const tr_kv_shape *shape, const tr_seq *self, int self_count, const tr_seq *cross,
                        int cross_count)
{
    const tr_network *n = fwd->ws->network;
    tr_workspace *ws = fwd->ws;
    if (ws->profile && fwd->thread == 0)
        count_step(ws->profile, fwd, self, self_count, cross, cross_count);
    tr_trace_rows(fwd, "target.embedding", 0, fwd->x);
    for (int l = 0; l < n->config.decoder_layers; l++) {
        fwd->layer = l;
        tr_workspace_enter(ws, fwd->thread, TR_PROFILE_SELF_ATTENTION);
        see_history(fwd, shape, self, self_count);
        tr_workspace_enter(ws, fwd->thread, TR_PROFILE_CROSS_ATTENTION);
        tr_attention_sublayer(fwd, &n->decoder[l].cross, shape, l, cross, cross_count, false);
        tr_workspace_enter(ws, fwd->thread, TR_PROFILE_FEED_FORWARD);
        tr_feedforward_forward(fwd, &n->decoder[l].feedforward);
        tr_trace_rows(fwd, "decoder", l, fwd->residual);
    }
    tr_forward_end(fwd, &n->target.final_norm);
    if (n->target.final_norm.gamma)
        tr_trace_rows(fwd, "decoder.output", 0, fwd->x);
}
