/* Multi-head attention (Vaswani et al., 2017, section 3.2.2), for self-attention of the encoder, cached self-attention of
 * the decoder and cross-attention alike: they differ in where keys and values come from. */
#include "model/sublayer.h"

/* The columns of a member's own heads, widened to whole panels: q, k and v are the member's own, so that columns of
 * neighbours do no harm. */
static tr_range own_columns(tr_range heads, const tr_cache_shape *shape)
{
    const int last = tr_pad16(heads.last * shape->head_size), all = shape->heads * shape->head_size;
    return (tr_range){heads.first * shape->head_size / TR_PANEL * TR_PANEL, last < all ? last : all};
}

/* Rows of a segment that begins at position 0 into blocks of its cache, whole blocks at a time. */
static void put_across(const tr_flow *flow, const tr_cache_shape *shape, int layer, const tr_segment *segment,
                       tr_range heads)
{
    const tr_state *s = flow->state;
    const tr_member *own = &s->member[flow->member];
    for (int r = 0; r < segment->rows; r += TR_BLOCK)
        for (int h = heads.first; h < heads.last; h++) {
            const size_t at = (size_t)(segment->first + r) * s->stride + (size_t)h * (size_t)shape->head_size;
            float *keys = segment->cache->blocks[r / TR_BLOCK] + tr_cache_offset(shape, layer, h);
            s->network->kernels->attend_pack(
                &(tr_attend_pack){.n = segment->rows - r < TR_BLOCK ? segment->rows - r : TR_BLOCK,
                                  .head_size = shape->head_size,
                                  .value_size = shape->head_size,
                                  .from = TR_TYPE_F32,
                                  .keys = own->k + at,
                                  .values = own->v + at,
                                  .key_stride = s->stride,
                                  .value_stride = s->stride,
                                  .packed_keys = keys,
                                  .packed_values = keys + shape->piece / 2});
        }
}

static void put_rows(const tr_flow *flow, const tr_cache_shape *shape, int layer, const tr_segment *segment, tr_range heads)
{
    const tr_state *s = flow->state;
    const tr_member *own = &s->member[flow->member];
    for (int r = 0; r < segment->rows; r++) {
        const int position = segment->position + r;
        float *block = segment->cache->blocks[position / TR_BLOCK];
        for (int h = heads.first; h < heads.last; h++) {
            const size_t at = (size_t)(segment->first + r) * s->stride + (size_t)h * (size_t)shape->head_size;
            float *keys = block + tr_cache_offset(shape, layer, h);
            s->network->kernels->kv_put(&(tr_kv_row){shape->head_size, position % TR_BLOCK, own->k + at, own->v + at,
                                                     shape->type, keys, keys + shape->piece / 2});
        }
    }
}

void tr_attention_project(tr_flow *flow, const tr_attention *weights, const tr_cache_shape *shape, int layer,
                          const tr_segment *segments, int count)
{
    tr_state *s = flow->state;
    const tr_range heads = tr_share(shape->heads, 1, flow->member, s->members);
    const tr_range columns = own_columns(heads, shape);
    const tr_member *own = &s->member[flow->member];
    /* [rows, own heads, head_size] */
    tr_sublayer_product(flow, &weights->key, columns, TR_ACTIVATION_NONE, false, own->k, s->stride);
    tr_sublayer_product(flow, &weights->value, columns, TR_ACTIVATION_NONE, false, own->v, s->stride);
    for (int i = 0; i < count; i++)
        (shape->across ? put_across : put_rows)(flow, shape, layer, &segments[i], heads);
}

/* Which segments: those at the very beginning of a sentence, or the others. */
typedef enum places { ALL, FIRST, LATER } places;

static bool is_one_of(const tr_segment *segment, places part)
{
    return part == ALL || (segment->position == 0) == (part == FIRST);
}

/* Where a segment's weights of heads [first, last) of a layer go; only gets which of them is watched, counted from first,
 * -1: all. NULL: nobody asks for them. */
static float *watched(const tr_watch *watch, int layer, tr_range heads, int *only)
{
    *only = -1;
    if (!watch || (watch->only_layer >= 0 && watch->only_layer != layer))
        return NULL;
    float *weights = watch->weights + (watch->only_layer >= 0 ? 0 : (size_t)layer * watch->layer_stride);
    if (watch->only_head < 0)
        return weights + (size_t)heads.first * watch->head_stride;
    *only = watch->only_head - heads.first;
    return watch->only_head >= heads.first && watch->only_head < heads.last ? weights : NULL;
}

/* context[rows, own columns] = softmax(scale q k^T + bias) v of a segment */
static void attend_segment(const tr_flow *flow, const tr_attention *weights, const tr_cache_shape *shape, int layer,
                           const tr_segment *segment, const tr_segment *next)
{
    tr_state *s = flow->state;
    const tr_range heads = tr_share(shape->heads, 1, flow->member, s->members);
    const int farthest = s->network->config.max_positions - 1;
    const size_t at = (size_t)segment->first * s->stride + (size_t)heads.first * (size_t)shape->head_size;
    const size_t keys = tr_cache_offset(shape, layer, heads.first), distances = 2 * (size_t)farthest + 1;
    const tr_watch *watch = s->unwatched ? NULL : segment->watch;
    tr_attend op = {.heads = heads.last - heads.first,
                    .queries = segment->rows,
                    .head_size = shape->head_size,
                    .length = segment->length,
                    .growth = segment->growth,
                    .scale = weights->scale,
                    .q = s->member[flow->member].q + at,
                    .q_stride = s->stride,
                    .type = shape->type,
                    .blocks = (const float *const *)segment->cache->blocks,
                    .key_offset = keys,
                    .value_offset = keys + shape->piece / 2,
                    .head_offset = shape->piece,
                    .ahead = next ? next->cache->blocks[0] + keys : NULL,
                    .bias_step = -1,
                    .bias_head = (ptrdiff_t)distances,
                    .out = s->context + at,
                    .out_stride = s->stride};
    if (weights->relative)
        op.bias = weights->relative + (size_t)heads.first * distances + farthest - segment->position;
    if (watch) {
        op.weights = watched(watch, flow->layer, heads, &op.only_head);
        op.weights_stride = watch->row_stride;
        op.weights_head = watch->head_stride;
    }
    s->network->kernels->attend(&op);
}

/* The same of a whole sentence over itself: each head's queries together. */
static void attend_across(const tr_flow *flow, const tr_attention *weights, const tr_cache_shape *shape, int layer,
                          const tr_segment *segment)
{
    tr_state *s = flow->state;
    const tr_range heads = tr_share(shape->heads, 1, flow->member, s->members);
    const int farthest = s->network->config.max_positions - 1, *windows = s->network->windows;
    const tr_watch *watch = s->unwatched ? NULL : segment->watch;
    for (int h = heads.first; h < heads.last; h++) {
        const size_t at = (size_t)segment->first * s->stride + (size_t)h * (size_t)shape->head_size;
        const int reach = windows && windows[h] >= 0 ? windows[h] : TR_ATTEND_ALL;
        int only;
        tr_attend_rows op = {.queries = segment->rows,
                             .keys = segment->length,
                             .head_size = shape->head_size,
                             .value_size = shape->head_size,
                             .scale = weights->scale,
                             .q = s->member[flow->member].q + at,
                             .q_stride = s->stride,
                             .blocks = (const float *const *)segment->cache->blocks,
                             .key_offset = tr_cache_offset(shape, layer, h),
                             .value_offset = tr_cache_offset(shape, layer, h) + shape->piece / 2,
                             .back = reach,
                             .on = reach,
                             .bias_step = -1,
                             .out = s->context + at,
                             .out_stride = s->stride};
        if (weights->relative)
            op.bias = weights->relative + (size_t)h * (2 * (size_t)farthest + 1) + farthest;
        if (watch) {
            op.weights = watched(watch, flow->layer, (tr_range){h, h + 1}, &only);
            op.weights_stride = watch->row_stride;
        }
        s->network->kernels->attend_rows(&op);
    }
}

static void attend(const tr_flow *flow, const tr_attention *weights, const tr_cache_shape *shape, int layer,
                   const tr_segment *segments, int count, places part)
{
    for (int i = 0; i < count; i++)
        if (shape->across)
            attend_across(flow, weights, shape, layer, &segments[i]);
        else if (is_one_of(&segments[i], part))
            attend_segment(flow, weights, shape, layer, &segments[i], i + 1 < count ? &segments[i + 1] : NULL);
}

/* See raw_keys: what a first token attends to, itself alone, is put into the caches only to be replaced. Where several
 * tokens of a sentence go together, the first is a segment of its own. */
static void attend_raw(tr_flow *flow, const tr_attention *weights, const tr_cache_shape *shape, int layer,
                       const tr_segment *segments, int count)
{
    bool first = false;
    for (int i = 0; i < count; i++)
        first = first || is_one_of(&segments[i], FIRST);
    if (first) {
        tr_attention_project(flow, weights, shape, layer, segments, count);
        attend(flow, weights, shape, layer, segments, count, FIRST);
    }
    tr_sublayer_read(flow, flow->residual);
    tr_attention_project(flow, weights, shape, layer, segments, count);
    attend(flow, weights, shape, layer, segments, count, LATER);
}

void tr_attention_sublayer(tr_flow *flow, const tr_attention *weights, const tr_cache_shape *shape, int layer,
                           const tr_segment *segments, int count, bool projecting)
{
    tr_state *s = flow->state;
    tr_sublayer_begin(flow, &weights->norms);
    const tr_range heads = tr_share(shape->heads, 1, flow->member, s->members);
    tr_sublayer_product(flow, &weights->query, own_columns(heads, shape), TR_ACTIVATION_NONE, false,
                        s->member[flow->member].q, s->stride);
    if (projecting && weights->raw_keys) {
        attend_raw(flow, weights, shape, layer, segments, count);
    } else {
        if (projecting)
            tr_attention_project(flow, weights, shape, layer, segments, count);
        attend(flow, weights, shape, layer, segments, count, ALL); /* own heads only: no barrier before it */
    }
    tr_state_meet(s);
    tr_sublayer_add(flow, &weights->output, s->context, s->stride);
    tr_sublayer_end(flow, &weights->norms);
}
