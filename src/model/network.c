#include "model/bind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POSITION_BYTES = 16 << 20 };

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

/* kind: "attn" or "cross_attn" */
static tr_attention bind_attention(tr_binder *b, const char *prefix, const char *kind, int heads)
{
    const tr_config *c = &b->network->config;
    const int d_model = c->d_model, head_size = tr_config_head_size(c, heads), inner = heads * head_size;
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
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(part, sizeof part, "%s_%s", kind, parts[i].suffix);
        *parts[i].linear = bind_linear(b, prefix, part, parts[i].outputs, parts[i].inputs);
    }
    snprintf(part, sizeof part, "%s_norm", kind);
    a.norm = bind_norm(b, prefix, part, d_model);
    return a;
}

static tr_feedforward bind_feedforward(tr_binder *b, const char *prefix, int ffn, int d_model)
{
    tr_feedforward f = {
        .up = bind_linear(b, prefix, "ffn_up", ffn, d_model),
        .down = bind_linear(b, prefix, "ffn_down", d_model, ffn),
        .norm = bind_norm(b, prefix, "ffn_norm", d_model),
    };
    if (b->network->config.gated)
        f.gate = bind_linear(b, prefix, "ffn_gate", ffn, d_model);
    return f;
}

/* Tables whose size a file only claims may be no larger than the weights that are there, or than what costs nothing. */
static bool may_make_table(tr_binder *b, uint64_t bytes)
{
    const bool may = bytes <= POSITION_BYTES || bytes / 4 <= b->network->parameters;
    if (!may)
        tr_bind_fail(b, TR_ERROR_UNSUPPORTED, "%s: so many need a table larger than the model's weights", "max_positions");
    return may;
}

/* P[p, i] = sin(p w_i), P[p, half + i] = cos(p w_i), w_i = 10000^(-2i/d). Marian puts all sines before all cosines; with an
 * odd d there is one sine more. Rows follow each other by rotation, afresh every 64 rows so that errors stay far below f32.
 */
static float *sinusoidal_positions(tr_binder *b, int positions, int d)
{
    if (!may_make_table(b, (uint64_t)positions * (uint64_t)d * sizeof(float)))
        return NULL;
    float *table = tr_bind_memory(b, (size_t)positions * (size_t)d * sizeof *table);
    const int sines = (d + 1) / 2;
    for (int i = 0; table && i < sines; i++) {
        const double w = pow(10000.0, -2.0 * i / d), turn_sin = sin(w), turn_cos = cos(w);
        double s = 0, c = 1;
        for (int p = 0; p < positions; p++) {
            if (p % 64 == 0)
                s = sin(p * w), c = cos(p * w);
            float *row = table + (size_t)p * (size_t)d;
            row[i] = (float)s;
            if (sines + i < d)
                row[sines + i] = (float)c;
            const double next = s * turn_cos + c * turn_sin;
            c = c * turn_cos - s * turn_sin;
            s = next;
        }
    }
    return table;
}

/* P[p, i] = sin((p + offset) w_i), P[p, half + i] = cos(...), w_i = 10000^(-i / (half - 1)), half = d / 2, an odd last
 * column zero. In the precision of Hugging Face's M2M100, which has the angles in f32. */
static float *stretched_positions(tr_binder *b, int positions, int offset, int d)
{
    const int half = d / 2;
    if (!may_make_table(b, (uint64_t)positions * (uint64_t)d * sizeof(float)))
        return NULL;
    float *table = tr_bind_memory(b, (size_t)positions * (size_t)d * sizeof *table);
    const float step = (float)(-log(10000.0) / (half - 1));
    for (int i = 0; table && i < d; i++) {
        const float w = (float)exp((double)((float)(i % half) * step));
        for (int p = 0; p < positions; p++) {
            const double angle = (double)((float)(p + offset) * w);
            table[(size_t)p * (size_t)d + (size_t)i] = i >= 2 * half ? 0 : (float)(i < half ? sin(angle) : cos(angle));
        }
    }
    return table;
}

/* T5's bucket of a distance, key - query: half of the buckets for keys behind the query where both directions count; of each
 * half, one bucket a distance in its first half, then logarithmically wider ones up to relative_distance. */
static int relative_bucket(const tr_config *c, int distance, bool both)
{
    int buckets = c->relative_buckets, first = 0;
    if (both) {
        buckets /= 2;
        first = distance > 0 ? buckets : 0;
        distance = distance < 0 ? -distance : distance;
    } else {
        distance = distance < 0 ? -distance : 0;
    }
    const int exact = buckets / 2;
    if (distance < exact)
        return first + distance;
    const float part = logf((float)distance / (float)exact) / (float)log((double)c->relative_distance / exact);
    const int wide = exact + (int)(part * (float)(buckets - exact));
    return first + (wide < buckets ? wide : buckets - 1);
}

/* NAME [buckets, heads] spread over all distances; see tr_attention. */
static const float *relative_positions(tr_binder *b, const char *name, int heads, bool both)
{
    const tr_config *c = &b->network->config;
    const tr_tensor *t = tr_bind_find(b, name, true);
    if (!t)
        return NULL;
    if (t->rank != 2 || t->shape[0] != c->relative_buckets || t->shape[1] != heads) {
        tr_bind_wrong_shape(b, t, c->relative_buckets, heads);
        return NULL;
    }
    const size_t distances = 2 * (size_t)c->max_positions - 1, count = (size_t)c->relative_buckets * (size_t)heads;
    b->network->parameters += count;
    if (!may_make_table(b, (uint64_t)heads * distances * sizeof(float)))
        return NULL;
    float *stored = malloc(count * sizeof *stored), *table = tr_bind_memory(b, (size_t)heads * distances * sizeof *table);
    if (!stored)
        tr_bind_fail(b, TR_ERROR_MEMORY, "%s: out of memory", "network");
    if (stored && table) {
        tr_tensor_to_f32(t, 0, count, stored);
        for (size_t d = 0; d < distances; d++) {
            const int bucket = relative_bucket(c, (int)d - (c->max_positions - 1), both);
            for (int h = 0; h < heads; h++)
                table[(size_t)h * distances + d] = stored[bucket * heads + h];
        }
    }
    free(stored);
    return table;
}

/* Learned positions [max_positions + offset, d_model]: position 0 is row offset. */
static const float *learned_positions(tr_binder *b, const char *name, const tr_config *c)
{
    const tr_tensor *t = tr_bind_find(b, name, true);
    const int rows = c->max_positions + c->position_offset;
    if (!t)
        return NULL;
    if (t->rank != 2 || t->shape[0] != rows || t->shape[1] != c->d_model) {
        tr_bind_wrong_shape(b, t, rows, c->d_model);
        return NULL;
    }
    const size_t count = (size_t)c->max_positions * (size_t)c->d_model,
                 skip = (size_t)c->position_offset * (size_t)c->d_model;
    b->network->parameters += count + skip;
    float *table = tr_bind_memory(b, count * sizeof *table);
    if (table)
        tr_tensor_to_f32(t, skip, count, table);
    return table;
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
    char name[TR_TENSOR_NAME];
    const bool source = side == &b->network->source;
    if (c->positions == TR_POSITIONS_LEARNED)
        side->positions = learned_positions(b, tr_bind_name(name, "%s.position_embd.weight", prefix), c);
    if (c->positions == TR_POSITIONS_RELATIVE)
        side->relative = relative_positions(b, tr_bind_name(name, "%s.blk.0.attn_rel_b.weight", prefix),
                                            source ? c->encoder_heads : c->decoder_heads, source);
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
        n->encoder[i].self.relative = n->source.relative;
        n->encoder[i].feedforward = bind_feedforward(b, prefix, c->encoder_ffn, c->d_model);
    }
    for (int i = 0; i < c->decoder_layers && b->status == TR_OK; i++) {
        snprintf(prefix, sizeof prefix, "dec.blk.%d", i);
        n->decoder[i].self = bind_attention(b, prefix, "attn", c->decoder_heads);
        n->decoder[i].self.relative = n->target.relative;
        n->decoder[i].cross = bind_attention(b, prefix, "cross_attn", c->decoder_heads);
        n->decoder[i].feedforward = bind_feedforward(b, prefix, c->decoder_ffn, c->d_model);
    }
}

/* The output projection: tied to the target embedding unless it has a matrix of its own. Forbidden tokens get a bias of
 * -inf, so that every search honours them at no cost. */
static void bind_logits(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    const int vocabulary = c->target_vocabulary;
    const char *name = tr_weights_output(b->weights);
    const bool own = strcmp(name, "output.weight") == 0;
    n->logits.weight = own ? tr_bind_matrix(b, name, vocabulary, c->d_model) : n->target.embedding;
    const float *stored = tr_bind_vector(b, "output.bias", vocabulary, false);
    float *bias = tr_bind_memory(b, (size_t)vocabulary * sizeof *bias);
    if (!bias)
        return;
    if (stored)
        memcpy(bias, stored, (size_t)vocabulary * sizeof *bias);
    else
        memset(bias, 0, (size_t)vocabulary * sizeof *bias);
    for (int i = 0; i < c->forbidden_count; i++)
        bias[c->forbidden[i]] = -INFINITY;
    n->logits.bias = bias;
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
    const tr_config *c = &n->config;
    bind_embeddings(b);
    bind_side(b, &n->source, "enc");
    bind_side(b, &n->target, "dec");
    scale_final_norm(b, &n->target.final_norm);
    bind_layers(b);
    bind_logits(b);
    if (b->status == TR_OK && c->positions == TR_POSITIONS_SINUSOIDAL)
        n->source.positions = n->target.positions = sinusoidal_positions(b, c->max_positions, c->d_model);
    if (b->status == TR_OK && c->positions == TR_POSITIONS_STRETCHED)
        n->source.positions = n->target.positions = stretched_positions(b, c->max_positions, c->position_offset, c->d_model);
    n->type = n->logits.weight.type;
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
    free(network->encoder);
    free(network->decoder);
    free(network);
}
