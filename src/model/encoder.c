#include "model/state.h"

/* Positions that a sentence's rows attend to, the mean over heads. */
static uint64_t count_pairs(const tr_network *n, const tr_seq *seq)
{
    const int64_t length = seq->length, heads = n->config.encoder_heads;
    int64_t pairs = 0;
    if (!n->windows)
        return tr_seq_positions(seq);
    for (int h = 0; h < heads; h++) {
        const int64_t reach = n->windows[h] < 0 || n->windows[h] >= length ? length - 1 : n->windows[h];
        pairs += length * (2 * reach + 1) - reach * (reach + 1); /* less what would be outside */
    }
    return (uint64_t)(pairs / heads);
}

static void count_turn(const tr_network *n, tr_profile *p, int rows, const tr_seq *seqs, int count)
{
    p->encoder_batches++;
    p->source_rows += (uint64_t)rows;
    for (int i = 0; i < count; i++)
        p->encoder_pairs += count_pairs(n, &seqs[i]);
}

void tr_encoder_forward(tr_forward *fwd, const tr_kv_shape *shape, const tr_seq *seqs, int count)
{
    const tr_network *n = fwd->ws->network;
    tr_workspace_enter(fwd->ws, fwd->thread, TR_PROFILE_ENCODER);
    if (fwd->ws->profile && fwd->thread == 0)
        count_turn(n, fwd->ws->profile, fwd->rows, seqs, count);
    fwd->seqs = seqs;
    fwd->seq_count = count;
    tr_trace_rows(fwd, "source.embedding", 0, fwd->x);
    for (int l = 0; l < n->config.encoder_layers; l++) {
        fwd->layer = l;
        /* one cache serves all layers: a thread reads only what it has put there itself */
        tr_attention_sublayer(fwd, &n->encoder[l].self, shape, 0, seqs, count, true);
        tr_feedforward_forward(fwd, &n->encoder[l].feedforward);
        tr_trace_rows(fwd, "encoder", l, fwd->residual);
    }
    tr_forward_end(fwd, &n->source.final_norm);
    if (n->source.final_norm.gamma)
        tr_trace_rows(fwd, "encoder.output", 0, fwd->x);
}
