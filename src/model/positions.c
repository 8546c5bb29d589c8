/* Positions, of each kind (see tr_positions): tables added to the embeddings, or to the scores of self-attention. */
#include "model/bind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POSITION_BYTES = 16 << 20 };

/* Tables whose size a file only claims may be no larger than the weights that are there, or than what costs nothing. */
static bool may_make_table(tr_binder *b, uint64_t bytes)
{
    const bool may = bytes <= POSITION_BYTES || bytes / 4 <= b->network->parameters;
    if (!may)
        tr_bind_fail(b, TR_ERROR_UNSUPPORTED, "%s: so many need a table larger than the model's weights", "max_positions");
    return may;
}

/* P[p, i] = sin(p w_i), P[p, half + i] = cos(p w_i), w_i = 10000^(-2i/d). Marian puts all sines before all cosines; with an
 * odd d there is one sine more. Rows follow each other by rotation, afresh every 64 rows so that errors stay far below
 * f32. */
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

static void bind_learned(tr_binder *b)
{
    tr_network *n = b->network;
    n->source.positions = learned_positions(b, "enc.position_embd.weight", &n->config);
    n->target.positions = learned_positions(b, "dec.position_embd.weight", &n->config);
}

static void bind_relative(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    const float *source = relative_positions(b, "enc.blk.0.attn_rel_b.weight", c->encoder_heads, true);
    const float *target = relative_positions(b, "dec.blk.0.attn_rel_b.weight", c->decoder_heads, false);
    for (int i = 0; i < c->encoder_layers; i++)
        n->encoder[i].self.relative = source;
    for (int i = 0; i < c->decoder_layers; i++)
        n->decoder[i].self.relative = target;
}

void tr_bind_positions(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    if (b->status != TR_OK)
        return;
    switch (c->positions) {
    case TR_POSITIONS_LEARNED: bind_learned(b); break;
    case TR_POSITIONS_RELATIVE: bind_relative(b); break;
    case TR_POSITIONS_NONE: break;
    case TR_POSITIONS_SINUSOIDAL:
        n->source.positions = n->target.positions = sinusoidal_positions(b, c->max_positions, c->d_model);
        break;
    case TR_POSITIONS_STRETCHED:
        n->source.positions = n->target.positions = stretched_positions(b, c->max_positions, c->position_offset, c->d_model);
        break;
    }
}
