#include "model/bind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/windows.h"

static tr_linear bind_linear(tr_binder *b, const char *prefix, const char *part, int outputs, int inputs)
{
    char name[TR_TENSOR_NAME];
    tr_linear l;
    l.weight = tr_bind_matrix(b, tr_bind_name(name, "%s.%s.weight", prefix, part), outputs, inputs);
    l.bias = tr_bind_vector(b, tr_bind_name(name, "%s.%s.bias", prefix, part), outputs, false);
    return l;
}

static tr_norm bind_norm(tr_binder *b, const char *prefix, const char *part, int width)
{
    char name[TR_TENSOR_NAME];
    tr_norm n;
    n.gamma = tr_bind_vector(b, tr_bind_name(name, "%s.%s.weight", prefix, part), width, true);
    n.beta = NULL;
    if (b->network->config.norm == TR_NORM_LAYER)
        n.beta = tr_bind_vector(b, tr_bind_name(name, "%s.%s.bias", prefix, part), width, true);
    return n;
}

/* KIND_norm; where there are two, KIND_norm before and KIND_post_norm after. */
static tr_norms bind_norms(tr_binder *b, const char *prefix, const char *kind)
{
    const tr_config *c = &b->network->config;
    tr_norms norms = {0};
    char part[32];
    snprintf(part, sizeof part, "%s_norm", kind);
    *(c->pre_norm ? &norms.before : &norms.after) = bind_norm(b, prefix, part, c->d_model);
    snprintf(part, sizeof part, "%s_post_norm", kind);
    if (c->post_norm)
        norms.after = bind_norm(b, prefix, part, c->d_model);
    return norms;
}

/* kind: "attn" or "cross_attn" */
static tr_attention bind_attention(tr_binder *b, const char *prefix, const char *kind, int heads)
{
    const tr_config *c = &b->network->config;
    const int d_model = c->d_model, head_size = tr_config_head_size(c, heads), inner = tr_config_heads_width(c, heads);
    char part[32];
    tr_attention a = {.scale = c->attention_scale != 0 ? c->attention_scale : 1 / sqrtf((float)head_size)};
    const struct {
        const char *suffix;
        tr_linear *linear;
        int outputs, inputs;
    } parts[] = {{"q", &a.query, inner, d_model},
                 {"k", &a.key, inner, d_model},
                 {"v", &a.value, inner, d_model},
                 {"o", &a.output, d_model, inner}};
    const size_t count = sizeof parts / sizeof *parts - c->no_output_projection;
    for (size_t i = 0; i < count; i++) {
        snprintf(part, sizeof part, "%s_%s", kind, parts[i].suffix);
        *parts[i].linear = bind_linear(b, prefix, part, parts[i].outputs, parts[i].inputs);
    }
    a.norms = bind_norms(b, prefix, kind);
    return a;
}

/* KIND_mid_2 and on: the products between the first and the last. */
static void bind_middle(tr_binder *b, tr_feedforward *f, const char *prefix, const char *kind, int ffn, int depth)
{
    char part[32];
    const int middles = depth - 2;
    if (middles <= 0 || !(f->middle = tr_bind_memory(b, (size_t)middles * sizeof *f->middle)))
        return;
    f->middles = middles;
    for (int i = 0; i < middles; i++) {
        snprintf(part, sizeof part, "%s_mid_%d", kind, i + 2);
        f->middle[i] = bind_linear(b, prefix, part, ffn, ffn);
    }
}

static tr_feedforward bind_feedforward(tr_binder *b, const char *prefix, int ffn, int depth)
{
    const tr_config *c = &b->network->config;
    tr_feedforward f = {.activation = c->activation, .norms = bind_norms(b, prefix, "ffn")};
    if (depth >= 2)
        f.up = bind_linear(b, prefix, "ffn_up", ffn, c->d_model);
    bind_middle(b, &f, prefix, "ffn", ffn, depth);
    f.down = bind_linear(b, prefix, "ffn_down", c->d_model, depth >= 2 ? ffn : c->d_model);
    if (c->gated)
        f.gate = bind_linear(b, prefix, "ffn_gate", ffn, c->d_model);
    return f;
}

static tr_ssru bind_ssru(tr_binder *b, const char *prefix)
{
    const tr_config *c = &b->network->config;
    tr_ssru s = {.input = bind_linear(b, prefix, "ssru_x", c->d_model, c->d_model),
                 .forget = bind_linear(b, prefix, "ssru_f", c->d_model, c->d_model),
                 .norms = bind_norms(b, prefix, "ssru")};
    if (c->ssru_projection)
        s.output = bind_linear(b, prefix, "ssru_o", c->d_model, c->d_model);
    return s;
}

static tr_aan bind_average(tr_binder *b, const char *prefix)
{
    const tr_config *c = &b->network->config;
    const int d_model = c->d_model, ffn = c->aan_ffn, depth = c->aan_depth;
    tr_aan a = {.ffn = {.activation = c->aan_activation, .norms = bind_norms(b, prefix, "avg")}};
    if (depth >= 2)
        a.ffn.up = bind_linear(b, prefix, "avg_up", ffn, d_model);
    bind_middle(b, &a.ffn, prefix, "avg", ffn, depth);
    if (depth >= 2 && ffn != d_model)
        a.ffn.down = bind_linear(b, prefix, "avg_down", d_model, ffn);
    if (c->aan_ungated)
        return a;
    a.gate_input = bind_linear(b, prefix, "avg_gate_x", d_model, d_model);
    a.gate_mean = bind_linear(b, prefix, "avg_gate_y", d_model, d_model);
    return a;
}

static void bind_history(tr_binder *b, tr_decoder_layer *layer, const char *prefix)
{
    const tr_config *c = &b->network->config;
    switch (c->mixer) {
    case TR_MIXER_SELF_ATTENTION:
        layer->self = bind_attention(b, prefix, "attn", c->decoder_heads);
        layer->self.unnormalised_kv = c->unnormalised_kv;
        break;
    case TR_MIXER_SSRU: layer->ssru = bind_ssru(b, prefix); break;
    case TR_MIXER_AAN: layer->aan = bind_average(b, prefix); break;
    }
}

/* One matrix for both sides, or one each. */
static void bind_embeddings(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    if (!tr_weights_has_matrix(b->weights, "token_embd.weight")) {
        n->source.embedding = tr_bind_matrix(b, "enc.token_embd.weight", c->source_vocabulary, c->d_model);
        n->target.embedding = tr_bind_matrix(b, "dec.token_embd.weight", c->target_vocabulary, c->d_model);
        return;
    }
    if (c->source_vocabulary != c->target_vocabulary)
        tr_bind_fail(b, TR_ERROR_FORMAT, "tensor %s: is shared, but the two vocabularies differ in size",
                     "token_embd.weight");
    n->source.embedding = n->target.embedding = tr_bind_matrix(b, "token_embd.weight", c->source_vocabulary, c->d_model);
}

/* prefix: "enc" or "dec" */
static void bind_side(tr_binder *b, tr_side *side, const char *prefix)
{
    const tr_config *c = &b->network->config;
    if (c->embedding_norm)
        side->embedding_norm = bind_norm(b, prefix, "embd_norm", c->d_model);
    if (c->final_norm)
        side->final_norm = bind_norm(b, prefix, "output_norm", c->d_model);
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
    for (int i = 0; i < c->encoder_layers && b->status == TR_OK; i++) {
        snprintf(prefix, sizeof prefix, "enc.blk.%d", i);
        n->encoder[i].self = bind_attention(b, prefix, "attn", c->encoder_heads);
        n->encoder[i].feedforward = bind_feedforward(b, prefix, c->encoder_ffn, c->encoder_ffn_depth);
    }
    for (int i = 0; i < c->decoder_layers && b->status == TR_OK; i++) {
        snprintf(prefix, sizeof prefix, "dec.blk.%d", i);
        bind_history(b, &n->decoder[i], prefix);
        n->decoder[i].cross = bind_attention(b, prefix, "cross_attn", c->decoder_heads);
        n->decoder[i].feedforward = bind_feedforward(b, prefix, c->decoder_ffn, c->decoder_ffn_depth);
    }
}

/* A bias of their own for the outputs that can come: forbidden ones get -inf, so that every search honours them at no cost.
 */
static void bind_bias(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    const int outputs = n->output.weight.outputs;
    float *plain = tr_bind_memory(b, (size_t)outputs * sizeof *plain);
    float *bias = plain ? tr_bind_memory(b, (size_t)outputs * sizeof *bias) : NULL;
    if (!bias)
        return;
    for (int o = 0; o < outputs; o++)
        bias[o] = plain[o] = n->all_tokens_output.bias[tr_network_token(n, o)];
    for (int i = 0; i < c->forbidden_count; i++)
        if (tr_network_output(n, c->forbidden[i]) >= 0)
            bias[tr_network_output(n, c->forbidden[i])] = -INFINITY;
    n->output.bias = bias;
    n->output_bias = plain;
}

/* The output projection: tied to the target embedding unless it has a matrix of its own. */
static void bind_logits(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    const int vocabulary = c->target_vocabulary;
    const char *name = tr_weights_output(b->weights);
    const bool own = strcmp(name, "output.weight") == 0;
    n->all_tokens_output.weight = own ? tr_bind_matrix(b, name, vocabulary, c->d_model) : n->target.embedding;
    n->all_tokens_output.bias = tr_bind_vector(b, "output.bias", vocabulary, false);
    if (!n->all_tokens_output.bias) {
        float *zeros = tr_bind_memory(b, (size_t)vocabulary * sizeof *zeros);
        if (!zeros)
            return;
        memset(zeros, 0, (size_t)vocabulary * sizeof *zeros);
        n->all_tokens_output.bias = zeros;
    }
    n->output = n->all_tokens_output;
    if (b->status == TR_OK && c->allowed)
        tr_bind_allowed(b);
    if (b->status == TR_OK)
        bind_bias(b);
    tr_bind_screen(b, name);
}

/* logits_scale goes into the norm in front of the output projection. */
static void scale_final_norm(tr_binder *b, tr_norm *norm)
{
    const tr_config *c = &b->network->config;
    if (c->logits_scale == 1 || b->status != TR_OK)
        return;
    for (int i = 0; i < 2; i++) {
        const float **from = i == 0 ? &norm->gamma : &norm->beta;
        float *scaled = *from ? tr_bind_memory(b, (size_t)c->d_model * sizeof *scaled) : NULL;
        for (int k = 0; scaled && k < c->d_model; k++)
            scaled[k] = (*from)[k] * c->logits_scale;
        *from = scaled;
    }
}

static void bind_all(tr_binder *b)
{
    tr_network *n = b->network;
    bind_embeddings(b);
    bind_side(b, &n->source, "enc");
    bind_side(b, &n->target, "dec");
    scale_final_norm(b, &n->target.final_norm);
    bind_layers(b);
    bind_logits(b);
    tr_bind_positions(b);
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

tr_status tr_network_limit_attention(tr_network *network, const char *text, tr_error *error)
{
    const int heads = network->config.encoder_heads;
    if (!network->windows && !(network->windows = malloc((size_t)heads * sizeof *network->windows)))
        return tr_fail(error, TR_ERROR_MEMORY, "network: out of memory");
    return tr_windows_parse(text, heads, network->windows, error);
}

void tr_network_destroy(tr_network *network)
{
    if (!network)
        return;
    for (size_t i = 0; i < network->owned_count; i++)
        free(network->owned[i]);
    free(network->owned);
    free(network->spans);
    free(network->windows);
    free(network->encoder);
    free(network->decoder);
    free(network);
}
