#include "model/workspace.h"

#include <stdlib.h>

#include "util/numbers.h"

static int widest_ffn(const tr_config *c)
{
    return tr_max_int(c->aan_ffn, tr_max_int(c->encoder_ffn, c->decoder_ffn));
}

/* Width of rows of the stream, and of queries, keys, values and context. */
static int row_width(const tr_config *c)
{
    const int encoder = tr_config_heads_width(c, c->encoder_heads), decoder = tr_config_heads_width(c, c->decoder_heads);
    return tr_max_int(c->d_model, tr_max_int(encoder, decoder));
}

static int widest_input(const tr_network *network)
{
    return tr_max_int(row_width(&network->config), widest_ffn(&network->config));
}

/* Whether some feed-forward network is TR_FFN_DEEP. */
static bool is_deep(const tr_config *c)
{
    return c->encoder_ffn_depth > 2 || c->decoder_ffn_depth > 2 || c->aan_depth > 2;
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

static size_t scratch_bytes(const tr_network *network)
{
    return tr_matmul_scratch(widest_input(network)) * sizeof(float);
}

static size_t upper_bounds_bytes(const tr_network *network)
{
    return TR_SCREEN_ROWS * (size_t)tr_pad16(network->output.weight.outputs) * sizeof(float);
}

static size_t quantised_bytes(int rows, int width)
{
    return (size_t)rows * (tr_quantised_bytes(width) + sizeof(float)) + 2 * 64;
}

static bool alloc_quantised(tr_arena *arena, tr_quantised *q, int rows, int width)
{
    q->stride = tr_quantised_bytes(width);
    q->rows = tr_arena_alloc(arena, (size_t)rows * q->stride);
    q->scale = tr_arena_alloc(arena, (size_t)rows * sizeof *q->scale);
    return q->rows && q->scale;
}

/* 64: each allocation of the arena is aligned. */
size_t tr_workspace_bytes(const tr_network *network, int threads, int rows)
{
    const tr_config *c = &network->config;
    const size_t stride = (size_t)tr_pad16(row_width(c)) * sizeof(float);
    const size_t ffn_stride = (size_t)tr_pad16(widest_ffn(c)) * sizeof(float) * (is_deep(c) ? 2 : 1);
    const size_t shared = (2 * stride + ffn_stride) * (size_t)rows + 4 * 64;
    const size_t own = ((c->post_norm ? 5 : 4) * stride + sizeof(tr_best)) * (size_t)rows + scratch_bytes(network) + 7 * 64;
    const size_t own_i8 =
        network->int8 ? quantised_bytes(rows, c->d_model) + quantised_bytes(rows, widest_input(network)) : 0;
    return shared + (size_t)threads * (own + own_i8) + (network->screen_rows ? upper_bounds_bytes(network) + 64 : 0);
}

static bool set_thread_rows(tr_workspace *ws, tr_thread_buffers *own, int rows)
{
    tr_arena *a = &ws->arena;
    const tr_network *n = ws->network;
    const size_t bytes = (size_t)rows * ws->stride * sizeof(float);
    own->x = tr_arena_alloc(a, bytes);
    own->x_norm2 = n->config.post_norm ? tr_arena_alloc(a, bytes) : NULL;
    own->q = tr_arena_alloc(a, bytes);
    own->k = tr_arena_alloc(a, bytes);
    own->v = tr_arena_alloc(a, bytes);
    own->best = tr_arena_alloc(a, (size_t)rows * sizeof *own->best);
    own->scratch = tr_arena_alloc(a, scratch_bytes(n));
    if (!own->x || (n->config.post_norm && !own->x_norm2) || !own->q || !own->k || !own->v || !own->best || !own->scratch)
        return false;
    return !n->int8 || (alloc_quantised(a, &own->x_i8, rows, n->config.d_model) &&
                        alloc_quantised(a, &own->input_i8, rows, widest_input(n)));
}

bool tr_workspace_set_rows(tr_workspace *ws, int rows)
{
    tr_arena *a = &ws->arena;
    const tr_network *n = ws->network;
    const size_t bytes = (size_t)rows * ws->stride * sizeof(float),
                 ffn_bytes = (size_t)rows * ws->ffn_stride * sizeof(float);
    const bool deep = is_deep(&n->config), screened = n->screen_rows > 0;
    ws->stream = tr_arena_alloc(a, bytes);
    ws->context = tr_arena_alloc(a, bytes);
    ws->hidden = tr_arena_alloc(a, ffn_bytes);
    ws->hidden2 = deep ? tr_arena_alloc(a, ffn_bytes) : NULL;
    ws->upper_bounds = screened ? tr_arena_alloc(a, upper_bounds_bytes(n)) : NULL;
    bool complete = ws->stream && ws->context && ws->hidden && (!deep || ws->hidden2) && (!screened || ws->upper_bounds);
    for (int t = 0; complete && t < ws->threads; t++)
        complete = set_thread_rows(ws, &ws->buffers[t], rows);
    return complete;
}

size_t tr_recurrent_floats(const tr_config *config)
{
    return config->mixer == TR_MIXER_SELF_ATTENTION ? 0 : (size_t)config->decoder_layers * (size_t)tr_pad16(config->d_model);
}

void tr_workspace_barrier(tr_workspace *ws)
{
    tr_barrier_wait(&ws->barrier);
}

void tr_workspace_enter(tr_workspace *ws, int thread, tr_profile_part part)
{
    if (ws->profile && thread == 0)
        tr_profile_enter(ws->profile, part);
}

void tr_workspace_count_step(tr_workspace *ws, int rows)
{
    ws->few_steps += rows <= TR_SCREEN_I8_ROWS && ws->few_steps <= TR_SCREEN_AFTER;
}
