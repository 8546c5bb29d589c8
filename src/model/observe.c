/* What happens at the points of the forward pass that are measured or traced: see tr_forward_at. */
#include "model/forward.h"

#include <stdlib.h>

/* Positions that the rows of a sequence attend to. */
static uint64_t decoder_positions(const tr_seq *s)
{
    const uint64_t rows = (uint64_t)s->rows;
    return rows * (uint64_t)s->length + (uint64_t)s->causal * (rows * (rows - 1) / 2);
}

/* The same of a sentence in the encoder, the mean over heads, of which each may have a window. */
static uint64_t encoder_positions(const tr_network *n, const tr_seq *s)
{
    const int64_t length = s->length, heads = n->config.encoder_heads;
    int64_t positions = 0;
    for (int h = 0; h < heads; h++) {
        const int64_t window = n->windows[h] < 0 || n->windows[h] >= length ? length - 1 : n->windows[h];
        positions += length * (2 * window + 1) - window * (window + 1); /* less what lies outside of the sentence */
    }
    return (uint64_t)(positions / heads);
}

static void measure(const tr_forward *fwd, tr_forward_point point, const tr_seq *seqs, int count)
{
    tr_profile *p = fwd->ws->profile;
    switch (point) {
    case TR_AT_ENCODER:
        tr_profile_enter(p, TR_PROFILE_ENCODER);
        p->encoder_batches++;
        p->source_rows += (uint64_t)fwd->rows;
        for (int i = 0; i < count; i++)
            p->encoder_pairs += encoder_positions(fwd->ws->network, &seqs[i]);
        break;
    case TR_AT_DECODER:
        p->steps++;
        p->rows += (uint64_t)fwd->rows;
        break;
    case TR_AT_SELF_ATTENTION:
        tr_profile_enter(p, TR_PROFILE_SELF_ATTENTION);
        for (int i = 0; fwd->layer == 0 && i < count; i++)
            p->self_positions += decoder_positions(&seqs[i]);
        break;
    case TR_AT_CROSS_ATTENTION:
        tr_profile_enter(p, TR_PROFILE_CROSS_ATTENTION);
        for (int i = 0; fwd->layer == 0 && i < count; i++)
            p->cross_positions += decoder_positions(&seqs[i]);
        break;
    case TR_AT_FEED_FORWARD: tr_profile_enter(p, TR_PROFILE_FEED_FORWARD); break;
    case TR_AT_OUTPUT: tr_profile_enter(p, TR_PROFILE_OUTPUT); break;
    case TR_AT_SCREEN: p->screened++; break;
    case TR_AT_ENCODER_LAYER_END:
    case TR_AT_ENCODER_END:
    case TR_AT_DECODER_LAYER_END:
    case TR_AT_DECODER_END: break;
    }
}

static void trace_rows(const tr_forward *fwd, const char *where, int layer, const float *rows)
{
    const tr_workspace *ws = fwd->ws;
    const int width = ws->network->config.d_model;
    float *packed = malloc((size_t)fwd->rows * (size_t)width * sizeof *packed);
    if (!packed)
        return;
    tr_forward_copy(fwd, rows, ws->stride, (tr_range){0, width}, packed, (size_t)width);
    ws->trace(ws->trace_argument, where, layer, packed, fwd->rows, width);
    free(packed);
}

static void trace(const tr_forward *fwd, tr_forward_point point)
{
    const bool final_norm = fwd->ws->network->config.final_norm;
    switch (point) {
    case TR_AT_ENCODER: trace_rows(fwd, "source.embedding", 0, fwd->x); break;
    case TR_AT_ENCODER_LAYER_END: trace_rows(fwd, "encoder", fwd->layer, fwd->residual); break;
    case TR_AT_DECODER: trace_rows(fwd, "target.embedding", 0, fwd->x); break;
    case TR_AT_DECODER_LAYER_END: trace_rows(fwd, "decoder", fwd->layer, fwd->residual); break;
    case TR_AT_ENCODER_END:
    case TR_AT_DECODER_END:
        if (final_norm)
            trace_rows(fwd, point == TR_AT_ENCODER_END ? "encoder.output" : "decoder.output", 0, fwd->x);
        break;
    case TR_AT_SELF_ATTENTION:
    case TR_AT_CROSS_ATTENTION:
    case TR_AT_FEED_FORWARD:
    case TR_AT_OUTPUT:
    case TR_AT_SCREEN: break;
    }
}

void tr_forward_observe(const tr_forward *fwd, tr_forward_point point, const tr_seq *seqs, int count)
{
    if (fwd->ws->profile)
        measure(fwd, point, seqs, count);
    if (fwd->ws->trace)
        trace(fwd, point);
}
