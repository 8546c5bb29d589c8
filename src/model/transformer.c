#include "model/transformer.h"

#include <stdio.h>
#include <stdlib.h>

#include "model/aan.h"
#include "model/attention.h"
#include "model/embedding.h"
#include "model/feedforward.h"
#include "model/output.h"
#include "model/ssru.h"

/* ----------------------------------------------------------------------------------------------------------- creation */

static void bind_attention(tr_binder *b, tr_sublayer *s, tr_sublayer_kind kind, const char *prefix, const char *name,
                           int heads)
{
    s->kind = kind;
    s->attention = tr_attention_bind(b, prefix, name, heads);
    s->norms = tr_bind_norms(b, prefix, name);
}

static void bind_feedforward(tr_binder *b, tr_sublayer *s, const char *prefix, int ffn, int depth)
{
    const tr_config *c = &b->network->config;
    s->kind = TR_SUBLAYER_FEED_FORWARD;
    s->feedforward.kind = depth == 1 ? TR_FFN_LINEAR : c->gated ? TR_FFN_GATED : depth == 2 ? TR_FFN_PLAIN : TR_FFN_DEEP;
    s->feedforward.activation = c->activation;
    s->feedforward.has_down = true;
    tr_feedforward_bind(b, &s->feedforward, prefix, "ffn", ffn, depth);
    s->norms = tr_bind_norms(b, prefix, "ffn");
}

/* The sublayer by which a decoder layer reads the tokens before. */
static void bind_mixer(tr_binder *b, tr_sublayer *s, const char *prefix)
{
    const tr_config *c = &b->network->config;
    switch (c->mixer) {
    case TR_MIXER_SELF_ATTENTION:
        bind_attention(b, s, TR_SUBLAYER_SELF_ATTENTION, prefix, "attn", c->decoder_heads);
        s->attention.unnormalised_kv = c->unnormalised_kv;
        break;
    case TR_MIXER_SSRU:
        s->kind = TR_SUBLAYER_SSRU;
        s->ssru = tr_ssru_bind(b, prefix);
        s->norms = tr_bind_norms(b, prefix, "ssru");
        break;
    case TR_MIXER_AAN:
        s->kind = TR_SUBLAYER_AAN;
        s->norms = tr_bind_norms(b, prefix, "avg");
        s->aan = tr_aan_bind(b, prefix, &s->norms);
        break;
    }
}

static void bind_layers(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    char prefix[32];
    n->encoder = calloc((size_t)c->encoder_layers, sizeof *n->encoder);
    n->decoder = calloc((size_t)c->decoder_layers, sizeof *n->decoder);
    if (!n->encoder || !n->decoder) {
        tr_bind_fail(b, TR_ERROR_MEMORY, "%s: out of memory", "network");
        return;
    }
    for (int l = 0; l < c->encoder_layers && b->status == TR_OK; l++) {
        tr_layer *layer = &n->encoder[l];
        snprintf(prefix, sizeof prefix, "enc.blk.%d", l);
        bind_attention(b, &layer->sublayers[layer->count++], TR_SUBLAYER_SELF_ATTENTION, prefix, "attn", c->encoder_heads);
        bind_feedforward(b, &layer->sublayers[layer->count++], prefix, c->encoder_ffn, c->encoder_ffn_depth);
    }
    for (int l = 0; l < c->decoder_layers && b->status == TR_OK; l++) {
        tr_layer *layer = &n->decoder[l];
        snprintf(prefix, sizeof prefix, "dec.blk.%d", l);
        bind_mixer(b, &layer->sublayers[layer->count++], prefix);
        bind_attention(b, &layer->sublayers[layer->count++], TR_SUBLAYER_CROSS_ATTENTION, prefix, "cross_attn",
                       c->decoder_heads);
        bind_feedforward(b, &layer->sublayers[layer->count++], prefix, c->decoder_ffn, c->decoder_ffn_depth);
    }
}

/* Multiplies the norm before the output projection by logits_scale. */
static void scale_final_norm(tr_binder *b, tr_norm *norm)
{
    const tr_config *c = &b->network->config;
    if (c->logits_scale == 1 || b->status != TR_OK)
        return;
    const float **const vectors[] = {&norm->gamma, &norm->beta};
    for (int i = 0; i < 2; i++) {
        const float *from = *vectors[i];
        float *scaled = from ? tr_bind_memory(b, (size_t)c->d_model * sizeof *scaled) : NULL;
        for (int k = 0; scaled && k < c->d_model; k++)
            scaled[k] = from[k] * c->logits_scale;
        *vectors[i] = scaled;
    }
}

static void bind_all(tr_binder *b)
{
    tr_network *n = b->network;
    const int heads = n->config.encoder_heads;
    n->windows = tr_bind_memory(b, (size_t)heads * sizeof *n->windows);
    for (int h = 0; n->windows && h < heads; h++)
        n->windows[h] = -1;
    tr_embedding_bind(b);
    scale_final_norm(b, &n->target.final_norm);
    bind_layers(b);
    tr_output_bind(b);
    tr_embedding_bind_positions(b);
    tr_attention_bind_distance_bias(b);
    n->type = n->output.weight.type;
}

tr_status tr_network_create(const tr_config *config, const tr_weights *weights, tr_compute compute,
                            const tr_kernels *kernels, tr_network **network, tr_error *error)
{
    *network = NULL;
    const tr_status status = tr_config_check(config, error);
    if (status != TR_OK)
        return status;
    tr_network *n = calloc(1, sizeof *n);
    if (!n)
        return tr_fail(error, TR_ERROR_MEMORY, "network: out of memory");
    n->config = *config;
    n->kernels = kernels;
    tr_binder b = {.network = n, .weights = weights, .compute = compute, .error = error};
    bind_all(&b);
    if (b.status != TR_OK) {
        tr_network_destroy(n);
        return b.status;
    }
    *network = n;
    return TR_OK;
}

void tr_network_destroy(tr_network *network)
{
    if (!network)
        return;
    for (size_t i = 0; i < network->owned_count; i++)
        free(network->owned[i]);
    free(network->owned);
    free(network->spans);
    free(network->encoder);
    free(network->decoder);
    free(network);
}

tr_status tr_network_limit_attention(tr_network *network, const char *text, tr_error *error)
{
    return tr_windows_parse(text, network->config.encoder_heads, network->windows, error);
}

/* ------------------------------------------------------------------------------------------------------- forward pass */

void tr_encoder_forward(tr_forward *fwd, const tr_kv_shape *shape, const tr_seq *seqs, int count)
{
    const tr_network *n = fwd->ws->network;
    fwd->seqs = seqs;
    fwd->seq_count = count;
    tr_forward_at(fwd, TR_AT_ENCODER, seqs, count);
    for (int l = 0; l < n->config.encoder_layers; l++) {
        fwd->layer = l;
        for (int i = 0; i < n->encoder[l].count; i++) {
            const tr_sublayer *s = &n->encoder[l].sublayers[i];
            tr_sublayer_begin(fwd, &s->norms);
            if (s->kind == TR_SUBLAYER_SELF_ATTENTION) {
                tr_attention_project(fwd, &s->attention, shape, seqs, count);
                tr_attention_sublayer(fwd, &s->attention, shape, seqs, count);
            } else {
                tr_feedforward_forward(fwd, &s->feedforward, tr_forward_add_to_stream(fwd));
            }
            tr_sublayer_end(fwd, &s->norms);
        }
        tr_forward_at(fwd, TR_AT_ENCODER_LAYER_END, NULL, 0);
    }
    tr_forward_end(fwd, n->config.final_norm ? &n->source.final_norm : NULL);
    tr_forward_at(fwd, TR_AT_ENCODER_END, NULL, 0);
}

void tr_decoder_project_source(tr_forward *fwd, const tr_kv_shape *shape, const tr_seq *seqs, int count)
{
    const tr_network *n = fwd->ws->network;
    for (int l = 0; l < n->config.decoder_layers; l++) {
        fwd->layer = l;
        for (int i = 0; i < n->decoder[l].count; i++)
            if (n->decoder[l].sublayers[i].kind == TR_SUBLAYER_CROSS_ATTENTION)
                tr_attention_project(fwd, &n->decoder[l].sublayers[i].attention, shape, seqs, count);
    }
}

static const tr_forward_point decoder_points[] = {
    [TR_SUBLAYER_SELF_ATTENTION] = TR_AT_SELF_ATTENTION, [TR_SUBLAYER_CROSS_ATTENTION] = TR_AT_CROSS_ATTENTION,
    [TR_SUBLAYER_SSRU] = TR_AT_SELF_ATTENTION,           [TR_SUBLAYER_AAN] = TR_AT_SELF_ATTENTION,
    [TR_SUBLAYER_FEED_FORWARD] = TR_AT_FEED_FORWARD,
};

void tr_decoder_forward(tr_forward *fwd, const tr_kv_shape *shape, const tr_seq *self, int self_count, const tr_seq *cross,
                        int cross_count)
{
    const tr_network *n = fwd->ws->network;
    tr_forward_at(fwd, TR_AT_DECODER, NULL, 0);
    for (int l = 0; l < n->config.decoder_layers; l++) {
        fwd->layer = l;
        for (int i = 0; i < n->decoder[l].count; i++) {
            const tr_sublayer *s = &n->decoder[l].sublayers[i];
            const tr_seq *seqs = s->kind == TR_SUBLAYER_CROSS_ATTENTION ? cross : self;
            const int count = s->kind == TR_SUBLAYER_CROSS_ATTENTION ? cross_count : self_count;
            tr_forward_at(fwd, decoder_points[s->kind], seqs, count);
            tr_sublayer_begin(fwd, &s->norms);
            switch (s->kind) {
            case TR_SUBLAYER_SELF_ATTENTION:
                if (!s->attention.unnormalised_kv)
                    tr_attention_project(fwd, &s->attention, shape, seqs, count);
                tr_attention_sublayer(fwd, &s->attention, shape, seqs, count);
                break;
            case TR_SUBLAYER_CROSS_ATTENTION: tr_attention_sublayer(fwd, &s->attention, shape, seqs, count); break;
            case TR_SUBLAYER_SSRU: tr_ssru_sublayer(fwd, &s->ssru, seqs, count); break;
            case TR_SUBLAYER_AAN: tr_aan_sublayer(fwd, &s->aan, seqs, count); break;
            case TR_SUBLAYER_FEED_FORWARD:
                tr_feedforward_forward(fwd, &s->feedforward, tr_forward_add_to_stream(fwd));
                break;
            }
            tr_sublayer_end(fwd, &s->norms);
        }
        tr_forward_at(fwd, TR_AT_DECODER_LAYER_END, NULL, 0);
    }
    tr_forward_end(fwd, n->config.final_norm ? &n->target.final_norm : NULL);
    tr_forward_at(fwd, TR_AT_DECODER_END, NULL, 0);
}
