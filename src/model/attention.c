/* Multi-head attention (Vaswani et al., 2017, section 3.2.2), for self-attention of the encoder, cached self-attention of
 * the decoder and cross-attention alike: they differ in where keys and values come from. */
#include "model/sublayer.h"

/* The columns of a thread's own heads, widened to whole panels: q, k and v are the thread's own, so that columns of
 * neighbours do no harm. */
static tr_range own_columns(tr_range heads, const tr_kv_shape *shape)
{
    const int last = tr_pad16(heads.end * shape->head_size), all = shape->heads * shape->head_size;
    return (tr_range){heads.begin * shape->head_size / TR_PANEL * TR_PANEL, last < all ? last : all};
}

/* Rows of a segment that begins at position 0 into blocks of its cache, whole blocks at a time. */
static void put_across(const tr_forward *fwd, const tr_kv_shape *shape, int layer, const tr_seq *seq, tr_range heads)
{
    const tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    for (int r = 0; r < seq->rows; r += TR_BLOCK)
        for (int h = heads.begin; h < heads.end; h++) {
            const size_t at = (size_t)(seq->first_row + r) * ws->stride + (size_t)h * (size_t)shape->head_size;
            float *keys = seq->cache->blocks[r / TR_BLOCK] + tr_kv_offset(shape, layer, h);
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

static void put_rows(const tr_forward *fwd, const tr_kv_shape *shape, int layer, const tr_seq *seq, tr_range heads)
{
    const tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    for (int r = 0; r < seq->rows; r++) {
        const int position = seq->position + r;
        float *block = seq->cache->blocks[position / TR_BLOCK];
        for (int h = heads.begin; h < heads.end; h++) {
            const size_t at = (size_t)(seq->first_row + r) * ws->stride + (size_t)h * (size_t)shape->head_size;
            float *keys = block + tr_kv_offset(shape, layer, h);
            ws->network->kernels->kv_store(&(tr_kv_store){shape->head_size, position % TR_BLOCK, own->k + at, own->v + at,
                                                          shape->type, keys, keys + shape->head_floats / 2});
        }
    }
}

void tr_attention_project(tr_forward *fwd, const tr_attention *weights, const tr_kv_shape *shape, int layer,
                          const tr_seq *seqs, int count)
{
    tr_workspace *ws = fwd->ws;
    const tr_range heads = tr_share(shape->heads, 1, fwd->thread, ws->threads);
    const tr_range columns = own_columns(heads, shape);
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    /* [rows, own heads, head_size] */
    tr_sublayer_linear(fwd, &weights->key, columns, TR_ACTIVATION_NONE, false, own->k, ws->stride);
    tr_sublayer_linear(fwd, &weights->value, columns, TR_ACTIVATION_NONE, false, own->v, ws->stride);
    for (int i = 0; i < count; i++)
        (shape->k_transposed ? put_across : put_rows)(fwd, shape, layer, &seqs[i], heads);
}

/* Which segments: those at the very beginning of a sentence, or the others. */
typedef enum places { ALL, FIRST, LATER } places;

static bool is_one_of(const tr_seq *seq, places part)
{
    return part == ALL || (seq->position == 0) == (part == FIRST);
}

/* Where a segment's weights of heads [first, last) of a layer go; only gets which of them is watched, counted from first,
 * -1: all. NULL: nobody asks for them. */
static float *watched(const tr_attention_capture *capture, int layer, tr_range heads, int *only)
{
    *only = -1;
    if (!capture || (capture->layer >= 0 && capture->layer != layer))
        return NULL;
    float *weights = capture->weights + (capture->layer >= 0 ? 0 : (size_t)layer * capture->layer_stride);
    if (capture->head < 0)
        return weights + (size_t)heads.begin * capture->head_stride;
    *only = capture->head - heads.begin;
    return capture->head >= heads.begin && capture->head < heads.end ? weights : NULL;
}

/* context[rows, own columns] = softmax(scale q k^T + bias) v of a segment */
static void attend_segment(const tr_forward *fwd, const tr_attention *weights, const tr_kv_shape *shape, int layer,
                           const tr_seq *seq, const tr_seq *next)
{
    tr_workspace *ws = fwd->ws;
    const tr_range heads = tr_share(shape->heads, 1, fwd->thread, ws->threads);
    const int farthest = ws->network->config.max_positions - 1;
    const size_t at = (size_t)seq->first_row * ws->stride + (size_t)heads.begin * (size_t)shape->head_size;
    const size_t keys = tr_kv_offset(shape, layer, heads.begin), distances = 2 * (size_t)farthest + 1;
    const tr_attention_capture *capture = seq->capture;
    tr_attn_decode op = {.heads = heads.end - heads.begin,
                         .queries = seq->rows,
                         .head_size = shape->head_size,
                         .length = seq->length,
                         .causal = seq->causal,
                         .scale = weights->scale,
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
    if (weights->relative)
        op.bias = weights->relative + (size_t)heads.begin * distances + farthest - seq->position;
    if (capture) {
        op.weights = watched(capture, fwd->layer, heads, &op.only_head);
        op.weights_stride = capture->row_stride;
        op.weights_head = capture->head_stride;
    }
    ws->network->kernels->attn_decode(&op);
}

/* The same of a whole sentence over itself: each head's queries together. */
static void attend_across(const tr_forward *fwd, const tr_attention *weights, const tr_kv_shape *shape, int layer,
                          const tr_seq *seq)
{
    tr_workspace *ws = fwd->ws;
    const tr_range heads = tr_share(shape->heads, 1, fwd->thread, ws->threads);
    const int farthest = ws->network->config.max_positions - 1, *windows = ws->network->windows;
    const tr_attention_capture *capture = seq->capture;
    for (int h = heads.begin; h < heads.end; h++) {
        const size_t at = (size_t)seq->first_row * ws->stride + (size_t)h * (size_t)shape->head_size;
        const int reach = windows && windows[h] >= 0 ? windows[h] : TR_ATTN_ALL;
        int only;
        tr_attn_prefill op = {.queries = seq->rows,
                              .keys = seq->length,
                              .head_size = shape->head_size,
                              .value_size = shape->head_size,
                              .scale = weights->scale,
                              .q = ws->buffers[fwd->thread].q + at,
                              .q_stride = ws->stride,
                              .blocks = (const float *const *)seq->cache->blocks,
                              .key_offset = tr_kv_offset(shape, layer, h),
                              .value_offset = tr_kv_offset(shape, layer, h) + shape->head_floats / 2,
                              .back = reach,
                              .on = reach,
                              .bias_step = -1,
                              .out = ws->context + at,
                              .out_stride = ws->stride};
        if (weights->relative)
            op.bias = weights->relative + (size_t)h * (2 * (size_t)farthest + 1) + farthest;
        if (capture) {
            op.weights = watched(capture, fwd->layer, (tr_range){h, h + 1}, &only);
            op.weights_stride = capture->row_stride;
        }
        ws->network->kernels->attn_prefill(&op);
    }
}

static void attend(const tr_forward *fwd, const tr_attention *weights, const tr_kv_shape *shape, int layer,
                   const tr_seq *seqs, int count, places part)
{
    for (int i = 0; i < count; i++)
        if (shape->k_transposed)
            attend_across(fwd, weights, shape, layer, &seqs[i]);
        else if (is_one_of(&seqs[i], part))
            attend_segment(fwd, weights, shape, layer, &seqs[i], i + 1 < count ? &seqs[i + 1] : NULL);
}

/* See raw_keys: what a first token attends to, itself alone, is put into the caches only to be replaced. Where several
 * tokens of a sentence go together, the first is a segment of its own. */
static void attend_raw(tr_forward *fwd, const tr_attention *weights, const tr_kv_shape *shape, int layer, const tr_seq *seqs,
                       int count)
{
    bool first = false;
    for (int i = 0; i < count; i++)
        first = first || is_one_of(&seqs[i], FIRST);
    if (first) {
        tr_attention_project(fwd, weights, shape, layer, seqs, count);
        attend(fwd, weights, shape, layer, seqs, count, FIRST);
    }
    tr_sublayer_set_input(fwd, fwd->residual);
    tr_attention_project(fwd, weights, shape, layer, seqs, count);
    attend(fwd, weights, shape, layer, seqs, count, LATER);
}

void tr_attention_sublayer(tr_forward *fwd, const tr_attention *weights, const tr_kv_shape *shape, int layer,
                           const tr_seq *seqs, int count, bool projecting)
{
    tr_workspace *ws = fwd->ws;
    tr_sublayer_begin(fwd, &weights->norms);
    const tr_range heads = tr_share(shape->heads, 1, fwd->thread, ws->threads);
    tr_sublayer_linear(fwd, &weights->query, own_columns(heads, shape), TR_ACTIVATION_NONE, false,
                       ws->buffers[fwd->thread].q, ws->stride);
    if (projecting && weights->unnormalised_kv) {
        attend_raw(fwd, weights, shape, layer, seqs, count);
    } else {
        if (projecting)
            tr_attention_project(fwd, weights, shape, layer, seqs, count);
        attend(fwd, weights, shape, layer, seqs, count, ALL); /* own heads only: no barrier before it */
    }
    tr_workspace_barrier(ws);
    tr_sublayer_add(fwd, &weights->output, ws->context, ws->stride);
    tr_sublayer_end(fwd, &weights->norms);
}
