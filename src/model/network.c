#include "model/network.h"

#include "util/arena.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEAD = 1024 }; /* the attention kernels' working memory */
enum { HUGE_PAGE = 2 << 20 };
enum { POSITION_BYTES = 16 << 20 };
enum { SCREEN_BYTES = 24 << 20 }; /* output matrices from this size on are screened: smaller ones stay in the cache anyway */

/* What binding needs at hand; the first failure sticks and makes the rest do nothing. */
typedef struct binder {
    tr_network *network;
    const tr_weights *weights;
    tr_compute compute;
    tr_error *error;
    tr_status status;
} binder;

static void fail(binder *b, tr_status status, const char *format, const char *name)
{
    if (b->status == TR_OK)
        b->status = tr_fail(b->error, status, format, name);
}

/* Memory that lives as long as the network. NULL: out of memory, said. */
static void *own(binder *b, size_t bytes)
{
    tr_network *n = b->network;
    if (n->owned_count % 64 == 0) {
        void **larger = realloc(n->owned, (n->owned_count + 64) * sizeof *larger);
        if (!larger) {
            fail(b, TR_ERROR_MEMORY, "%s: out of memory", "network");
            return NULL;
        }
        n->owned = larger;
    }
    const size_t alignment = bytes < HUGE_PAGE ? 64 : HUGE_PAGE;
    void *memory = aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
    if (!memory) {
        fail(b, TR_ERROR_MEMORY, "%s: out of memory", "network");
        return NULL;
    }
    if (bytes >= HUGE_PAGE)
        tr_huge_pages(memory, bytes);
    return n->owned[n->owned_count++] = memory;
}

static const tr_tensor *find(binder *b, const char *name, bool required)
{
    if (b->status != TR_OK)
        return NULL;
    const tr_tensor *t = tr_weights_find(b->weights, name);
    if (!t && required)
        fail(b, TR_ERROR_FORMAT, "tensor %s: is missing", name);
    if (t && t->type > TR_TYPE_BF16) {
        fail(b, TR_ERROR_FORMAT, "tensor %s: is not of a floating type", name);
        return NULL;
    }
    return t;
}

static void wrong_shape(binder *b, const tr_tensor *t, int64_t rows, int64_t columns)
{
    char shape[128] = "", wanted[64];
    for (int i = 0; i < t->rank; i++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%lld", i ? ", " : "", (long long)t->shape[i]);
    if (rows)
        snprintf(wanted, sizeof wanted, "%lld, %lld", (long long)rows, (long long)columns);
    else
        snprintf(wanted, sizeof wanted, "%lld", (long long)columns);
    if (b->status == TR_OK)
        b->status = tr_fail(b->error, TR_ERROR_FORMAT, "tensor %s: its shape is [%s], the configuration asks for [%s]",
                            t->name, shape, wanted);
}

/* A vector [n] as f32, NULL if absent and not required. A leading dimension of 1 is accepted. */
static const float *bind_vector(binder *b, const char *name, int n, bool required)
{
    const tr_tensor *t = find(b, name, required);
    if (!t)
        return NULL;
    if (!((t->rank == 1 && t->shape[0] == n) || (t->rank == 2 && t->shape[0] == 1 && t->shape[1] == n))) {
        wrong_shape(b, t, 0, n);
        return NULL;
    }
    b->network->parameters += (uint64_t)n;
    if (t->type == TR_TYPE_F32 && (uintptr_t)t->data % sizeof(float) == 0)
        return t->data;
    float *f = own(b, (size_t)n * sizeof *f);
    if (f)
        tr_tensor_to_f32(t, 0, (size_t)n, f);
    return f;
}

/* The type that a matrix stored as stored is used in: never more than it holds. */
static tr_type used_type(tr_compute compute, tr_type stored)
{
    if (stored == TR_TYPE_F32 && compute == TR_COMPUTE_F16)
        return TR_TYPE_F16;
    if (stored != TR_TYPE_BF16 && compute == TR_COMPUTE_BF16)
        return TR_TYPE_BF16;
    if (stored == TR_TYPE_BF16 && compute == TR_COMPUTE_F16)
        return TR_TYPE_F16;
    return stored; /* f32 arithmetic on widened halves is exact: nothing to convert */
}

static tr_matrix bind_matrix(binder *b, const char *name, int outputs, int inputs)
{
    tr_matrix m = {TR_TYPE_F32, outputs, inputs, NULL, NULL, NULL};
    const tr_tensor *t = find(b, name, true);
    if (!t)
        return m;
    if (t->rank != 2 || t->shape[0] != outputs || t->shape[1] != inputs) {
        wrong_shape(b, t, outputs, inputs);
        return m;
    }
    const size_t count = (size_t)outputs * (size_t)inputs;
    b->network->parameters += count;
    m.type = used_type(b->compute, t->type);
    m.data = t->data;
    if (m.type != t->type) {
        enum { CHUNK = 4096 };
        float chunk[CHUNK];
        unsigned char *rounded = own(b, count * tr_type_size(m.type));
        m.data = rounded;
        for (size_t i = 0; rounded && i < count; i += CHUNK) {
            const size_t n = count - i < CHUNK ? count - i : CHUNK;
            tr_tensor_to_f32(t, i, n, chunk);
            tr_from_f32(m.type, chunk, n, rounded + i * tr_type_size(m.type));
        }
    }
    return m;
}

/* PREFIX.PART.weight or .bias; names are short: layer numbers have at most four digits */
static const char *name_of(char name[TR_TENSOR_NAME], const char *format, ...) __attribute__((format(printf, 2, 3)));

static const char *name_of(char name[TR_TENSOR_NAME], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, TR_TENSOR_NAME, format, arguments);
    va_end(arguments);
    return name;
}

static tr_linear bind_linear(binder *b, const char *prefix, const char *part, int outputs, int inputs)
{
    char name[TR_TENSOR_NAME];
    tr_linear l;
    l.weight = bind_matrix(b, name_of(name, "%s.%s.weight", prefix, part), outputs, inputs);
    l.bias = bind_vector(b, name_of(name, "%s.%s.bias", prefix, part), outputs, false);
    return l;
}

static tr_norm bind_norm(binder *b, const char *prefix, const char *part, int width)
{
    char name[TR_TENSOR_NAME];
    tr_norm n;
    n.gamma = bind_vector(b, name_of(name, "%s.%s.weight", prefix, part), width, true);
    n.beta = bind_vector(b, name_of(name, "%s.%s.bias", prefix, part), width, true);
    return n;
}

/* kind: "attn" or "cross_attn" */
static tr_attention bind_attention(binder *b, const char *prefix, const char *kind, int heads, int d_model)
{
    char part[32];
    tr_attention a = {.heads = heads};
    const struct {
        const char *suffix;
        tr_linear *linear;
    } parts[] = {{"q", &a.query}, {"k", &a.key}, {"v", &a.value}, {"o", &a.output}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(part, sizeof part, "%s_%s", kind, parts[i].suffix);
        *parts[i].linear = bind_linear(b, prefix, part, d_model, d_model);
    }
    snprintf(part, sizeof part, "%s_norm", kind);
    a.norm = bind_norm(b, prefix, part, d_model);
    return a;
}

static tr_feedforward bind_feedforward(binder *b, const char *prefix, int ffn, int d_model)
{
    return (tr_feedforward){
        .up = bind_linear(b, prefix, "ffn_up", ffn, d_model),
        .down = bind_linear(b, prefix, "ffn_down", d_model, ffn),
        .norm = bind_norm(b, prefix, "ffn_norm", d_model),
    };
}

/* P[p, i] = sin(p w_i), P[p, half + i] = cos(p w_i), w_i = 10000^(-2i/d). Marian puts all sines before all cosines; with an
 * odd d there is one sine more. Rows follow each other by rotation, afresh every 64 rows so that errors stay far below f32.
 */
static float *sinusoidal_positions(binder *b, int positions, int d)
{
    /* the one table whose size a file only claims: no larger than weights that are there, or than what costs nothing */
    const uint64_t bytes = (uint64_t)positions * (uint64_t)d * sizeof(float);
    if (bytes > POSITION_BYTES && bytes / 4 > b->network->parameters) {
        fail(b, TR_ERROR_UNSUPPORTED, "%s: so many need a table larger than the model's weights", "max_positions");
        return NULL;
    }
    float *table = own(b, (size_t)positions * (size_t)d * sizeof *table);
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

/* Learned positions [max_positions + offset, d_model]: position 0 is row offset. */
static const float *learned_positions(binder *b, const char *name, const tr_config *c)
{
    const tr_tensor *t = find(b, name, true);
    const int rows = c->max_positions + c->position_offset;
    if (!t)
        return NULL;
    if (t->rank != 2 || t->shape[0] != rows || t->shape[1] != c->d_model) {
        wrong_shape(b, t, rows, c->d_model);
        return NULL;
    }
    const size_t count = (size_t)c->max_positions * (size_t)c->d_model,
                 skip = (size_t)c->position_offset * (size_t)c->d_model;
    b->network->parameters += count + skip;
    float *table = own(b, count * sizeof *table);
    if (table)
        tr_tensor_to_f32(t, skip, count, table);
    return table;
}

/* One matrix for both sides, or one each. */
static void bind_embeddings(binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    if (!tr_weights_find(b->weights, "token_embd.weight")) {
        n->source.embedding = bind_matrix(b, "enc.token_embd.weight", c->source_vocabulary, c->d_model);
        n->target.embedding = bind_matrix(b, "dec.token_embd.weight", c->target_vocabulary, c->d_model);
        return;
    }
    if (c->source_vocabulary != c->target_vocabulary)
        fail(b, TR_ERROR_FORMAT, "tensor %s: is shared, but the two vocabularies differ in size", "token_embd.weight");
    n->source.embedding = n->target.embedding = bind_matrix(b, "token_embd.weight", c->source_vocabulary, c->d_model);
}

/* prefix: "enc" or "dec" */
static void bind_side(binder *b, tr_side *side, const char *prefix)
{
    const tr_config *c = &b->network->config;
    char name[TR_TENSOR_NAME];
    if (c->positions == TR_POSITIONS_LEARNED)
        side->positions = learned_positions(b, name_of(name, "%s.position_embd.weight", prefix), c);
    if (c->embedding_norm)
        side->embedding_norm = bind_norm(b, prefix, "embd_norm", c->d_model);
    if (c->final_norm)
        side->final_norm = bind_norm(b, prefix, "output_norm", c->d_model);
}

static void bind_layers(binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    char prefix[32];
    n->encoder = calloc((size_t)c->encoder_layers, sizeof *n->encoder);
    n->decoder = calloc((size_t)c->decoder_layers, sizeof *n->decoder);
    if (!n->encoder || !n->decoder) {
        fail(b, TR_ERROR_MEMORY, "%s: out of memory", "network");
        return;
    }
    for (int i = 0; i < c->encoder_layers && b->status == TR_OK; i++) {
        snprintf(prefix, sizeof prefix, "enc.blk.%d", i);
        n->encoder[i].self = bind_attention(b, prefix, "attn", c->encoder_heads, c->d_model);
        n->encoder[i].feedforward = bind_feedforward(b, prefix, c->encoder_ffn, c->d_model);
    }
    for (int i = 0; i < c->decoder_layers && b->status == TR_OK; i++) {
        snprintf(prefix, sizeof prefix, "dec.blk.%d", i);
        n->decoder[i].self = bind_attention(b, prefix, "attn", c->decoder_heads, c->d_model);
        n->decoder[i].cross = bind_attention(b, prefix, "cross_attn", c->decoder_heads, c->d_model);
        n->decoder[i].feedforward = bind_feedforward(b, prefix, c->decoder_ffn, c->d_model);
    }
}

/* The output projection: tied to the target embedding unless it has a matrix of its own. Forbidden tokens get a bias of
 * -inf, so that every search honours them at no cost. */
static void bind_logits(binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    const int vocabulary = c->target_vocabulary;
    n->logits.weight = n->target.embedding;
    if (tr_weights_find(b->weights, "output.weight"))
        n->logits.weight = bind_matrix(b, "output.weight", vocabulary, c->d_model);
    const float *stored = bind_vector(b, "output.bias", vocabulary, false);
    float *bias = own(b, (size_t)vocabulary * sizeof *bias);
    if (!bias)
        return;
    if (stored)
        memcpy(bias, stored, (size_t)vocabulary * sizeof *bias);
    else
        memset(bias, 0, (size_t)vocabulary * sizeof *bias);
    for (int i = 0; i < c->forbidden_count; i++)
        bias[c->forbidden[i]] = -INFINITY;
    n->logits.bias = bias;
}

/* The coarse copy of a large output matrix, for decoding few sentences at a time. */
static void make_screen(binder *b)
{
    tr_network *n = b->network;
    const tr_matrix *m = &n->logits.weight;
    const size_t outputs = (size_t)m->outputs, count = outputs * (size_t)m->inputs;
    if (b->status != TR_OK || count * tr_type_size(m->type) < SCREEN_BYTES)
        return;
    tr_screen *s = own(b, sizeof *s);
    void *coarse = own(b, count);
    float *scale = own(b, outputs * sizeof *scale), *radius = own(b, outputs * sizeof *radius);
    if (b->status != TR_OK)
        return;
    *s = (tr_screen){m, coarse, scale, radius};
    n->kernels->screen_build(s, 0, m->outputs);
    for (int o = 0; o < m->outputs; o++) {
        const float slack = fabsf(n->logits.bias[o]) * 0x1p-22f;
        n->screen_slack = isfinite(slack) && slack > n->screen_slack ? slack : n->screen_slack;
    }
    n->screen = s;
}

static void bind_all(binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    if (c->d_model / c->encoder_heads > MAX_HEAD || c->d_model / c->decoder_heads > MAX_HEAD) {
        fail(b, TR_ERROR_UNSUPPORTED, "%s: larger than 1024", "head size");
        return;
    }
    bind_embeddings(b);
    bind_side(b, &n->source, "enc");
    bind_side(b, &n->target, "dec");
    bind_layers(b);
    bind_logits(b);
    make_screen(b);
    if (b->status == TR_OK && c->positions == TR_POSITIONS_SINUSOIDAL)
        n->source.positions = n->target.positions = sinusoidal_positions(b, c->max_positions, c->d_model);
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
    binder b = {n, weights, compute, error, TR_OK};
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
