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
        for (int r = 0; r < segments[i].rows; r++) {
            const int position = segments[i].position + r;
            float *block = segments[i].cache->blocks[position / TR_BLOCK];
            const size_t row = (size_t)(segments[i].first + r) * s->stride;
            for (int h = heads.first; h < heads.last; h++) {
                float *keys = block + tr_cache_offset(shape, layer, h);
                const size_t at = row + (size_t)h * (size_t)shape->head_size;
                s->network->kernels->kv_put(&(tr_kv_row){shape->head_size, position % TR_BLOCK, own->k + at, own->v + at,
                                                         shape->type, keys, keys + shape->piece / 2});
            }
        }
}

/* Which segments: those at the very beginning of a sentence, or the others. */
typedef enum places { ALL, FIRST, LATER } places;

static bool is_one_of(const tr_segment *segment, places part)
{
    return part == ALL || (segment->position == 0) == (part == FIRST);
}

/* Where a segment's weights of a head go, row by row; NULL: nobody asks for them. */
static float *watched(const tr_watch *watch, int layer, int head)
{
    if (!watch || (watch->only_layer >= 0 && watch->only_layer != layer) ||
        (watch->only_head >= 0 && watch->only_head != head))
        return NULL;
    return watch->weights + (watch->only_layer >= 0 ? 0 : (size_t)layer * watch->layer_stride) +
           (watch->only_head >= 0 ? 0 : (size_t)head * watch->head_stride);
}

/* context[rows, own columns] = softmax(scale q k^T + bias) v, head by head */
static void attend(const tr_flow *flow, const tr_attention *weights, const tr_cache_shape *shape, int layer,
                   const tr_segment *segments, int count, places part)
{
    tr_state *s = flow->state;
    const tr_range heads = tr_share(shape->heads, 1, flow->member, s->members);
    const int farthest = s->network->config.max_positions - 1;
    for (int i = 0; i < count; i++) {
        const tr_watch *watch = s->unwatched ? NULL : segments[i].watch;
        for (int h = heads.first; h < heads.last && is_one_of(&segments[i], part); h++) {
            const size_t at = (size_t)segments[i].first * s->stride + (size_t)h * (size_t)shape->head_size;
            const size_t keys = tr_cache_offset(shape, layer, h);
            const float *bias = NULL, *ahead = NULL;
            if (h + 1 < heads.last)
                ahead = segments[i].cache->blocks[0] + keys + shape->piece;
            else if (i + 1 < count)
                ahead = segments[i + 1].cache->blocks[0] + tr_cache_offset(shape, layer, heads.first);
            if (weights->relative)
                bias = weights->relative + (size_t)h * (2 * (size_t)farthest + 1) + farthest - segments[i].position;
            s->network->kernels->attend(&(tr_attend){.queries = segments[i].rows,
                                                     .head_size = shape->head_size,
                                                     .length = segments[i].length,
                                                     .growth = segments[i].growth,
                                                     .scale = weights->scale,
                                                     .q = s->member[flow->member].q + at,
                                                     .q_stride = s->stride,
                                                     .type = shape->type,
                                                     .blocks = (const float *const *)segments[i].cache->blocks,
                                                     .key_offset = keys,
                                                     .value_offset = keys + shape->piece / 2,
                                                     .ahead = ahead,
                                                     .bias = bias,
                                                     .bias_step = -1,
                                                     .out = s->context + at,
                                                     .out_stride = s->stride,
                                                     .weights = watched(watch, flow->layer, h),
                                                     .weights_stride = watch ? watch->row_stride : 0});
        }
    }
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

void tr_attention_forward(tr_flow *flow, const tr_attention *weights, const tr_cache_shape *shape, int layer,
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
