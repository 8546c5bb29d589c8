#include "model/attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------- keys and values */

static tr_kv_shape kv_shape(int layers, int heads, int head_size, tr_type type)
{
    const size_t row = (size_t)tr_pad16(head_size) * tr_type_size(type), all = TR_BLOCK * row;
    return (tr_kv_shape){layers, heads, head_size, type, row, 2 * (all + all / 16) / sizeof(float), false};
}

tr_kv_shape tr_encoder_kv_shape(const tr_network *network)
{
    const tr_config *c = &network->config;
    tr_kv_shape shape = kv_shape(1, c->encoder_heads, tr_config_head_size(c, c->encoder_heads), TR_TYPE_F32);
    shape.k_transposed = true;
    return shape;
}

tr_kv_shape tr_decoder_kv_shape(const tr_network *network)
{
    const tr_config *c = &network->config;
    return kv_shape(c->decoder_layers, c->decoder_heads, tr_config_head_size(c, c->decoder_heads),
                    network->int8 && !c->marian_int8 ? TR_TYPE_F16 : TR_TYPE_F32);
}

size_t tr_kv_block_floats(const tr_kv_shape *shape)
{
    return (size_t)shape->layers * (size_t)shape->heads * shape->head_floats;
}

size_t tr_kv_offset(const tr_kv_shape *shape, int layer, int head)
{
    return ((size_t)layer * (size_t)shape->heads + (size_t)head) * shape->head_floats;
}

/* ---------------------------------------------------------------------------------------------------------- binding */

tr_attention tr_attention_bind(tr_binder *b, const char *prefix, const char *kind, int heads)
{
    const tr_config *c = &b->network->config;
    const int d_model = c->d_model, head_size = tr_config_head_size(c, heads), width = tr_config_heads_width(c, heads);
    char part[32];
    tr_attention a = {.has_output = !c->no_output_projection,
                      .scale = c->attention_scale != 0 ? c->attention_scale : 1 / sqrtf((float)head_size)};
    const struct {
        const char *suffix;
        tr_linear *linear;
        int outputs, inputs;
    } parts[] = {{"q", &a.query, width, d_model},
                 {"k", &a.key, width, d_model},
                 {"v", &a.value, width, d_model},
                 {"o", &a.output, d_model, width}};
    const int count = a.has_output ? 4 : 3;
    for (int i = 0; i < count; i++) {
        snprintf(part, sizeof part, "%s_%s", kind, parts[i].suffix);
        *parts[i].linear = tr_bind_linear(b, prefix, part, parts[i].outputs, parts[i].inputs);
    }
    return a;
}

/* T5's bucket of a distance, position of the key - position of the query (Raffel et al., 2020, section 2.1). With both
 * directions, the first half of the buckets is for keys up to the query, the other half for keys after it. In each half,
 * small distances have a bucket each; larger ones share logarithmically wider buckets up to relative_distance. */
static int distance_bucket(const tr_config *c, int distance, bool both_directions)
{
    int buckets = c->relative_buckets, first = 0;
    if (both_directions) {
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

/* NAME [buckets, heads] spread over all distances: see tr_attention. NULL: a failure. */
static const float *bind_distance_bias(tr_binder *b, const char *name, int heads, bool both_directions)
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
    if (!tr_bind_may_make_table(b, (uint64_t)heads * distances * sizeof(float)))
        return NULL;
    float *stored = malloc(count * sizeof *stored), *table = tr_bind_memory(b, (size_t)heads * distances * sizeof *table);
    if (!stored)
        tr_bind_fail(b, TR_ERROR_MEMORY, "%s: out of memory", "network");
    if (stored && table) {
        tr_tensor_to_f32(t, 0, count, stored);
        for (size_t d = 0; d < distances; d++) {
            const int bucket = distance_bucket(c, (int)d - (c->max_positions - 1), both_directions);
            for (int h = 0; h < heads; h++)
                table[(size_t)h * distances + d] = stored[bucket * heads + h];
        }
    }
    free(stored);
    return table;
}

static void set_distance_bias(tr_layer *layers, int count, const float *bias)
{
    for (int l = 0; l < count; l++)
        for (int s = 0; s < layers[l].count; s++) {
            tr_sublayer *const sublayer = &layers[l].sublayers[s];
            if (sublayer->kind != TR_SUBLAYER_SELF_ATTENTION)
                continue;
            sublayer->attention.has_distance_bias = true;
            sublayer->attention.distance_bias = bias;
        }
}

void tr_attention_bind_distance_bias(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    if (b->status != TR_OK || c->positions != TR_POSITIONS_RELATIVE)
        return;
    set_distance_bias(n->encoder, c->encoder_layers,
                      bind_distance_bias(b, "enc.blk.0.attn_rel_b.weight", c->encoder_heads, true));
    set_distance_bias(n->decoder, c->decoder_layers,
                      bind_distance_bias(b, "dec.blk.0.attn_rel_b.weight", c->decoder_heads, false));
}

/* ------------------------------------------------------------------------------------------------------ computation */

static tr_range own_heads(const tr_forward *fwd, const tr_kv_shape *shape)
{
    return tr_share(shape->heads, 1, fwd->thread, fwd->ws->threads);
}

/* The columns of the thread's own heads, widened to whole panels: q, k and v belong to the thread, so that it may write
 * columns of its neighbours' heads. */
static tr_range own_columns(const tr_forward *fwd, const tr_kv_shape *shape)
{
    const tr_range heads = own_heads(fwd, shape);
    const int end = tr_pad16(heads.end * shape->head_size), all = shape->heads * shape->head_size;
    return (tr_range){heads.begin * shape->head_size / TR_PANEL * TR_PANEL, end < all ? end : all};
}

/* The layer's entries in the cache. */
static int cache_layer(const tr_forward *fwd, const tr_kv_shape *shape)
{
    return shape->layers == 1 ? 0 : fwd->layer;
}

/* Where the columns of a head begin in a row of q, k, v or context. */
static size_t head_at(const tr_forward *fwd, const tr_kv_shape *shape, int row, int head)
{
    return (size_t)row * fwd->ws->stride + (size_t)head * (size_t)shape->head_size;
}

/* Stores rows of a sequence from position 0 on in whole blocks, for tr_attn_prefill. */
static void store_blocks(const tr_forward *fwd, const tr_kv_shape *shape, const tr_seq *seq)
{
    const tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    const tr_range heads = own_heads(fwd, shape);
    for (int r = 0; r < seq->rows; r += TR_BLOCK)
        for (int h = heads.begin; h < heads.end; h++) {
            const size_t at = head_at(fwd, shape, seq->first_row + r, h);
            float *keys = seq->cache->blocks[r / TR_BLOCK] + tr_kv_offset(shape, cache_layer(fwd, shape), h);
            ws->network->kernels->attn_pack(&(tr_attn_pack){.n = seq->rows - r < TR_BLOCK ? seq->rows - r : TR_BLOCK,
                                                            .head_size = shape->head_size,
                                                            .value_size = shape->head_size,
                                                            .from = TR_TYPE_F32,
                                                            .keys = own->k + at,
                                                            .values = own->v + at,
                                                            .key_stride = ws->stride,
                                                            .value_stride = ws->stride,
                                                            .packed_keys = keys,
                                                            .packed_values = keys + shape->head_floats / 2});
        }
}

/* Stores rows of a sequence from its position on, one by one, for tr_attn_decode. */
static void store_rows(const tr_forward *fwd, const tr_kv_shape *shape, const tr_seq *seq)
{
    const tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    const tr_range heads = own_heads(fwd, shape);
    for (int r = 0; r < seq->rows; r++) {
        const int position = seq->position + r;
        float *block = seq->cache->blocks[position / TR_BLOCK];
        for (int h = heads.begin; h < heads.end; h++) {
            const size_t at = head_at(fwd, shape, seq->first_row + r, h);
            float *keys = block + tr_kv_offset(shape, cache_layer(fwd, shape), h);
            ws->network->kernels->kv_store(&(tr_kv_store){shape->head_size, position % TR_BLOCK, own->k + at, own->v + at,
                                                          shape->type, keys, keys + shape->head_floats / 2});
        }
    }
}

void tr_attention_project(tr_forward *fwd, const tr_attention *w, const tr_kv_shape *shape, const tr_seq *seqs, int count)
{
    const tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    const tr_range columns = own_columns(fwd, shape);
    tr_linear_forward(fwd, &w->key, columns, (tr_matmul){.y = own->k, .y_stride = ws->stride});
    tr_linear_forward(fwd, &w->value, columns, (tr_matmul){.y = own->v, .y_stride = ws->stride});
    for (int i = 0; i < count; i++)
        if (shape->k_transposed)
            store_blocks(fwd, shape, &seqs[i]);
        else
            store_rows(fwd, shape, &seqs[i]);
}

/* Where the weights of heads begin .. end - 1 of a sequence are stored; NULL: they are not. *only_head: the one of them
 * that is stored, counted from heads.begin; -1: all. */
static float *captured_weights(const tr_forward *fwd, const tr_seq *seq, tr_range heads, int *only_head)
{
    const tr_attention_capture *c = seq->capture;
    *only_head = -1;
    if (!c || (c->layer >= 0 && c->layer != fwd->layer))
        return NULL;
    float *weights = c->weights + (c->layer >= 0 ? 0 : (size_t)fwd->layer * c->layer_stride);
    if (c->head < 0)
        return weights + (size_t)heads.begin * c->head_stride;
    *only_head = c->head - heads.begin;
    return c->head >= heads.begin && c->head < heads.end ? weights : NULL;
}

/* context = softmax(scale q k^T + bias) v of a sequence, for few rows. next: the sequence that follows, or NULL. */
static void attend_rows(const tr_forward *fwd, const tr_attention *w, const tr_kv_shape *shape, const tr_seq *seq,
                        const tr_seq *next)
{
    const tr_workspace *ws = fwd->ws;
    const tr_range heads = own_heads(fwd, shape);
    const int max_distance = ws->network->config.max_positions - 1;
    const size_t at = head_at(fwd, shape, seq->first_row, heads.begin), distances = 2 * (size_t)max_distance + 1;
    const size_t keys = tr_kv_offset(shape, cache_layer(fwd, shape), heads.begin);
    tr_attn_decode op = {.heads = heads.end - heads.begin,
                         .queries = seq->rows,
                         .head_size = shape->head_size,
                         .length = seq->length,
                         .causal = seq->causal,
                         .scale = w->scale,
                         .q = ws->buffers[fwd->thread].q + at,
                         .q_stride = ws->stride,
                         .type = shape->type,
                         .blocks = (const float *const *)seq->cache->blocks,
                         .key_offset = keys,
                         .value_offset = keys + shape->head_floats / 2,
                         .head_offset = shape->head_floats,
                         .prefetch = next ? next->cache->blocks[0] + keys : NULL,
                         .bias_step = -1,
                         .bias_head = (ptrdiff_t)distances,
                         .out = ws->context + at,
                         .out_stride = ws->stride};
    if (w->has_distance_bias)
        op.bias = w->distance_bias + (size_t)heads.begin * distances + max_distance - seq->position;
    if ((op.weights = captured_weights(fwd, seq, heads, &op.only_head))) {
        op.weights_stride = seq->capture->row_stride;
        op.weights_head = seq->capture->head_stride;
    }
    ws->network->kernels->attn_decode(&op);
}

/* The same of a whole sentence over itself: all queries of a head together. */
static void attend_blocks(const tr_forward *fwd, const tr_attention *w, const tr_kv_shape *shape, const tr_seq *seq)
{
    const tr_workspace *ws = fwd->ws;
    const tr_range heads = own_heads(fwd, shape);
    const int max_distance = ws->network->config.max_positions - 1, *windows = ws->network->windows;
    for (int h = heads.begin; h < heads.end; h++) {
        const size_t at = head_at(fwd, shape, seq->first_row, h);
        const size_t keys = tr_kv_offset(shape, cache_layer(fwd, shape), h);
        const int window = windows[h] >= 0 ? windows[h] : TR_ATTN_ALL;
        int only_head;
        tr_attn_prefill op = {.queries = seq->rows,
                              .keys = seq->length,
                              .head_size = shape->head_size,
                              .value_size = shape->head_size,
                              .scale = w->scale,
                              .q = ws->buffers[fwd->thread].q + at,
                              .q_stride = ws->stride,
                              .blocks = (const float *const *)seq->cache->blocks,
                              .key_offset = keys,
                              .value_offset = keys + shape->head_floats / 2,
                              .back = window,
                              .on = window,
                              .bias_step = -1,
                              .out = ws->context + at,
                              .out_stride = ws->stride};
        if (w->has_distance_bias)
            op.bias = w->distance_bias + (size_t)h * (2 * (size_t)max_distance + 1) + max_distance;
        if ((op.weights = captured_weights(fwd, seq, (tr_range){h, h + 1}, &only_head)))
            op.weights_stride = seq->capture->row_stride;
        ws->network->kernels->attn_prefill(&op);
    }
}

typedef enum seq_choice { ALL_SEQS, SEQS_AT_START, SEQS_AFTER_START } seq_choice;

static void attend(const tr_forward *fwd, const tr_attention *w, const tr_kv_shape *shape, const tr_seq *seqs, int count,
                   seq_choice choice)
{
    for (int i = 0; i < count; i++)
        if (choice != ALL_SEQS && (seqs[i].position == 0) != (choice == SEQS_AT_START))
            continue;
        else if (shape->k_transposed)
            attend_blocks(fwd, w, shape, &seqs[i]);
        else
            attend_rows(fwd, w, shape, &seqs[i], i + 1 < count ? &seqs[i + 1] : NULL);
}

/* See tr_config.unnormalised_kv. The first token of a sequence attends only to itself, with the key and value of LN(x),
 * which are replaced by those of x afterwards. A first token is a sequence (tr_seq) of its own, also where several tokens of
 * a sentence are computed together. */
static void attend_unnormalised_kv(tr_forward *fwd, const tr_attention *w, const tr_kv_shape *shape, const tr_seq *seqs,
                                   int count)
{
    bool at_start = false;
    for (int i = 0; i < count; i++)
        at_start = at_start || seqs[i].position == 0;
    if (at_start) {
        tr_attention_project(fwd, w, shape, seqs, count);
        attend(fwd, w, shape, seqs, count, SEQS_AT_START);
    }
    tr_forward_set_x(fwd, fwd->residual);
    tr_attention_project(fwd, w, shape, seqs, count);
    attend(fwd, w, shape, seqs, count, SEQS_AFTER_START);
}

void tr_attention_sublayer(tr_forward *fwd, const tr_attention *w, const tr_kv_shape *shape, const tr_seq *seqs, int count)
{
    tr_workspace *ws = fwd->ws;
    const tr_range columns = tr_forward_columns(fwd, ws->network->config.d_model);
    tr_linear_forward(fwd, &w->query, own_columns(fwd, shape),
                      (tr_matmul){.y = ws->buffers[fwd->thread].q, .y_stride = ws->stride});
    if (w->unnormalised_kv)
        attend_unnormalised_kv(fwd, w, shape, seqs, count);
    else
        attend(fwd, w, shape, seqs, count, ALL_SEQS);
    tr_workspace_barrier(ws);
    if (w->has_output)
        tr_linear_forward_shared(fwd, &w->output, ws->context, ws->stride, columns, tr_forward_add_to_stream(fwd));
    else
        tr_forward_add(fwd, ws->context, fwd->residual, columns, ws->stream);
}
