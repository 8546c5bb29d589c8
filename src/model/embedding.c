#include "model/embedding.h"

#include <math.h>

/* ---------------------------------------------------------------------------------------------------------- binding */

/* prefix: "enc" or "dec" */
static void bind_norms_of_side(tr_binder *b, tr_side *side, const char *prefix)
{
    const tr_config *c = &b->network->config;
    if (c->embedding_norm)
        side->embedding_norm = tr_bind_norm(b, prefix, "embd_norm");
    if (c->final_norm)
        side->final_norm = tr_bind_norm(b, prefix, "output_norm");
}

void tr_embedding_bind(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    if (!tr_weights_has_matrix(b->weights, "token_embd.weight")) {
        n->source.embedding = tr_bind_matrix(b, "enc.token_embd.weight", c->source_vocabulary, c->d_model);
        n->target.embedding = tr_bind_matrix(b, "dec.token_embd.weight", c->target_vocabulary, c->d_model);
    } else {
        if (c->source_vocabulary != c->target_vocabulary)
            tr_bind_fail(b, TR_ERROR_FORMAT, "tensor %s: is shared, but the two vocabularies differ in size",
                         "token_embd.weight");
        n->source.embedding = n->target.embedding = tr_bind_matrix(b, "token_embd.weight", c->source_vocabulary, c->d_model);
    }
    bind_norms_of_side(b, &n->source, "enc");
    bind_norms_of_side(b, &n->target, "dec");
}

/* P[p, i] = sin(p w_i), P[p, half + i] = cos(p w_i), w_i = 10000^(-2i/d) (Vaswani et al., 2017, section 3.5), but with all
 * sines before all cosines, as in Marian; an odd d has one sine more. Each row is the one before rotated; every 64 rows the
 * rotation starts again from the exact angle, so that errors stay far below f32. */
static float *sinusoidal_positions(tr_binder *b, int positions, int d)
{
    if (!tr_bind_may_make_table(b, (uint64_t)positions * (uint64_t)d * sizeof(float)))
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

/* P[p, i] = sin((p + offset) w_i), P[p, half + i] = cos((p + offset) w_i), w_i = 10000^(-i / (half - 1)), half = d / 2; an
 * odd last column is zero. Angles are f32, as in Hugging Face's M2M100. */
static float *stretched_positions(tr_binder *b, int positions, int offset, int d)
{
    const int half = d / 2;
    if (!tr_bind_may_make_table(b, (uint64_t)positions * (uint64_t)d * sizeof(float)))
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

/* The tensor NAME [max_positions + position_offset, d_model], from row position_offset on. */
static const float *learned_positions(tr_binder *b, const char *name)
{
    const tr_config *c = &b->network->config;
    const tr_tensor *t = tr_bind_find(b, name, true);
    const int rows = c->max_positions + c->position_offset;
    if (!t)
        return NULL;
    if (t->rank != 2 || t->shape[0] != rows || t->shape[1] != c->d_model) {
        tr_bind_wrong_shape(b, t, rows, c->d_model);
        return NULL;
    }
    const size_t count = (size_t)c->max_positions * (size_t)c->d_model;
    const size_t skipped = (size_t)c->position_offset * (size_t)c->d_model;
    b->network->parameters += count + skipped;
    float *table = tr_bind_memory(b, count * sizeof *table);
    if (table)
        tr_tensor_to_f32(t, skipped, count, table);
    return table;
}

void tr_embedding_bind_positions(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    if (b->status != TR_OK)
        return;
    n->source.adds_positions = n->target.adds_positions = true;
    switch (c->positions) {
    case TR_POSITIONS_LEARNED:
        n->source.positions = learned_positions(b, "enc.position_embd.weight");
        n->target.positions = learned_positions(b, "dec.position_embd.weight");
        break;
    case TR_POSITIONS_SINUSOIDAL:
        n->source.positions = n->target.positions = sinusoidal_positions(b, c->max_positions, c->d_model);
        break;
    case TR_POSITIONS_STRETCHED:
        n->source.positions = n->target.positions = stretched_positions(b, c->max_positions, c->position_offset, c->d_model);
        break;
    case TR_POSITIONS_RELATIVE:
    case TR_POSITIONS_NONE: n->source.adds_positions = n->target.adds_positions = false; break;
    }
}

/* ------------------------------------------------------------------------------------------------------ computation */

void tr_embed(tr_workspace *ws, const tr_side *side, int row, int32_t id, int position)
{
    const tr_config *c = &ws->network->config;
    const tr_kernels *kernels = ws->network->kernels;
    float *x = ws->stream + (size_t)row * ws->stride;
    const bool zeros = id < 0; /* computed as 0 E[0] */
    kernels->embed_row(x, &side->embedding, zeros ? 0 : id, zeros ? 0 : c->embedding_scale,
                       side->adds_positions ? side->positions + (size_t)position * (size_t)c->d_model : NULL);
    if (c->embedding_norm)
        kernels->layernorm(&(tr_layernorm){1, c->d_model, c->layer_norm_epsilon, side->embedding_norm.gamma,
                                           side->embedding_norm.beta, x, ws->stride, x, ws->stride, NULL});
}
