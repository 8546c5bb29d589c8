#include "model/state.h"

#include <stdlib.h>

static tr_kv_shape cache_shape(int layers, int heads, int head_size, tr_type type)
{
    const size_t row = (size_t)tr_pad16(head_size) * tr_type_size(type), all = TR_BLOCK * row;
    return (tr_kv_shape){layers, heads, head_size, type, row, 2 * (all + all / 16) / sizeof(float), false};
}

tr_kv_shape tr_encoder_kv_shape(const tr_network *network)
{
    const tr_config *c = &network->config;
    tr_kv_shape shape = cache_shape(1, c->encoder_heads, tr_config_head_size(c, c->encoder_heads), TR_TYPE_F32);
    shape.k_transposed = true;
    return shape;
}

tr_kv_shape tr_decoder_kv_shape(const tr_network *network)
{
    const tr_config *c = &network->config;
    return cache_shape(c->decoder_layers, c->decoder_heads, tr_config_head_size(c, c->decoder_heads),
                       network->int8 && !c->marian_int8 ? TR_TYPE_F16 : TR_TYPE_F32);
}

size_t tr_kv_block_floats(const tr_kv_shape *shape)
{
    return (size_t)shape->layers * (size_t)shape->heads * shape->head_floats;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int widest_ffn(const tr_config *c)
{
    return larger(c->aan_ffn, larger(c->encoder_ffn, c->decoder_ffn));
}

/* Whether a feed-forward network has products between two hidden layers. */
static bool is_deep(const tr_config *c)
{
    return c->encoder_ffn_depth > 2 || c->decoder_ffn_depth > 2 || c->aan_depth > 2;
}

/* Rows of the stream, and of queries, keys, values and context. */
static int row_width(const tr_config *c)
{
    const int encoder = tr_config_heads_width(c, c->encoder_heads), decoder = tr_config_heads_width(c, c->decoder_heads);
    return larger(c->d_model, larger(encoder, decoder));
}

tr_status tr_workspace_init(tr_workspace *ws, const tr_network *network, int threads, size_t bytes, tr_error *error)
{
    const tr_config *c = &network->config;
    *ws = (tr_workspace){.network = network, .threads = threads};
    ws->stride = (size_t)tr_pad16(row_width(c));
    ws->ffn_stride = (size_t)tr_pad16(widest_ffn(c));
    tr_barrier_init(&ws->barrier, threads);
    const tr_status status = tr_arena_init(&ws->arena, bytes, error);
    if (status != TR_OK)
        return status;
    ws->buffers = calloc((size_t)threads, sizeof *ws->buffers);
    if (!ws->buffers) {
        tr_workspace_free(ws);
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    }
    return TR_OK;
}

void tr_workspace_free(tr_workspace *ws)
{
    tr_arena_free(&ws->arena);
    free(ws->buffers);
    ws->buffers = NULL;
}

static int widest(const tr_network *network)
{
    const tr_config *c = &network->config;
    return larger(row_width(c), widest_ffn(c));
}

static size_t scratch_bytes(const tr_network *network)
{
    return tr_matmul_scratch(widest(network)) * sizeof(float);
}

static size_t upper_bytes(const tr_network *network)
{
    return network->screen ? TR_SCREEN_ROWS * (size_t)tr_pad16(network->output.weight.outputs) * sizeof(float) + 64 : 0;
}

static size_t quantised_bytes(int rows, int width)
{
    return (size_t)rows * (tr_quantised_bytes(width) + sizeof(float)) + 2 * 64;
}

static bool quantised_rows(tr_arena *arena, tr_quantised *q, int rows, int width)
{
    q->stride = tr_quantised_bytes(width);
    q->rows = tr_arena_alloc(arena, (size_t)rows * q->stride);
    q->scale = tr_arena_alloc(arena, (size_t)rows * sizeof *q->scale);
    return q->rows && q->scale;
}

size_t tr_workspace_bytes(const tr_network *network, int threads, int rows)
{
    const tr_config *c = &network->config;
    const size_t stride = (size_t)tr_pad16(row_width(c)) * sizeof(float);
    const size_t ffn_stride = (size_t)tr_pad16(widest_ffn(c)) * sizeof(float) * (is_deep(c) ? 2 : 1);
    const size_t shared = (2 * stride + ffn_stride) * (size_t)rows + 4 * 64;
    const size_t own = ((c->post_norm ? 5 : 4) * stride + sizeof(tr_best)) * (size_t)rows + scratch_bytes(network) + 7 * 64;
    const size_t own8 = network->int8 ? quantised_bytes(rows, c->d_model) + quantised_bytes(rows, widest(network)) : 0;
    return shared + (size_t)threads * (own + own8) + upper_bytes(network);
}

bool tr_workspace_set_rows(tr_workspace *ws, int rows)
{
    tr_arena *a = &ws->arena;
    const size_t bytes = (size_t)rows * ws->stride * sizeof(float);
    ws->stream = tr_arena_alloc(a, bytes);
    ws->context = tr_arena_alloc(a, bytes);
    ws->hidden = tr_arena_alloc(a, (size_t)rows * ws->ffn_stride * sizeof(float));
    bool complete = ws->stream && ws->context && ws->hidden;
    if (is_deep(&ws->network->config)) {
        ws->hidden2 = tr_arena_alloc(a, (size_t)rows * ws->ffn_stride * sizeof(float));
        complete = complete && ws->hidden2;
    }
    if (ws->network->screen) {
        ws->upper_bounds = tr_arena_alloc(a, upper_bytes(ws->network));
        complete = complete && ws->upper_bounds;
    }
    for (int m = 0; m < ws->threads; m++) {
        tr_thread_buffers *own = &ws->buffers[m];
        own->x = tr_arena_alloc(a, bytes);
        if (ws->network->config.post_norm) {
            own->x_norm2 = tr_arena_alloc(a, bytes);
            complete = complete && own->x_norm2;
        }
        own->q = tr_arena_alloc(a, bytes);
        own->k = tr_arena_alloc(a, bytes);
        own->v = tr_arena_alloc(a, bytes);
        own->best = tr_arena_alloc(a, (size_t)rows * sizeof *own->best);
        own->scratch = tr_arena_alloc(a, scratch_bytes(ws->network));
        if (ws->network->int8)
            complete = complete && quantised_rows(a, &own->x_i8, rows, ws->network->config.d_model) &&
                       quantised_rows(a, &own->input_i8, rows, widest(ws->network));
        complete = complete && own->x && own->q && own->k && own->v && own->best && own->scratch;
    }
    return complete;
}

void tr_trace_rows(tr_forward *fwd, const char *where, int layer, const float *rows)
{
    tr_workspace *ws = fwd->ws;
    if (!ws->trace || fwd->thread != 0)
        return;
    const int width = ws->network->config.d_model;
    float *packed = malloc((size_t)fwd->rows * (size_t)width * sizeof *packed); /* tests alone come here */
    if (!packed)
        return;
    for (int r = 0; r < fwd->rows; r++)
        for (int i = 0; i < width; i++)
            packed[(size_t)r * (size_t)width + (size_t)i] = rows[(size_t)r * ws->stride + (size_t)i];
    ws->trace(ws->trace_argument, where, layer, packed, fwd->rows, width);
    free(packed);
}
