#include "model/state.h"

#include <stdlib.h>

static tr_cache_shape cache_shape(int layers, int heads, int head_size, tr_type type)
{
    const size_t row = (size_t)tr_pad16(head_size) * tr_type_size(type), all = TR_BLOCK * row;
    return (tr_cache_shape){layers, heads, head_size, type, row, 2 * (all + all / 16) / sizeof(float), 0, false};
}

tr_cache_shape tr_encoder_cache_shape(const tr_network *network)
{
    const tr_config *c = &network->config;
    tr_cache_shape shape = cache_shape(1, c->encoder_heads, tr_config_head_size(c, c->encoder_heads), TR_TYPE_F32);
    shape.across = true;
    return shape;
}

tr_cache_shape tr_decoder_cache_shape(const tr_network *network)
{
    const tr_config *c = &network->config;
    return cache_shape(c->decoder_layers, c->decoder_heads, tr_config_head_size(c, c->decoder_heads),
                       network->int8 && !c->marian_int8 ? TR_TYPE_F16 : TR_TYPE_F32);
}

size_t tr_cache_block_floats(const tr_cache_shape *shape)
{
    return (size_t)shape->layers * (size_t)shape->heads * shape->piece;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int widest_ffn(const tr_config *c)
{
    return larger(c->average_ffn, larger(c->encoder_ffn, c->decoder_ffn));
}

/* Whether a feed-forward network has products between two hidden layers. */
static bool is_deep(const tr_config *c)
{
    return c->encoder_ffn_depth > 2 || c->decoder_ffn_depth > 2 || c->average_depth > 2;
}

/* Rows of the stream, and of queries, keys, values and context. */
static int row_width(const tr_config *c)
{
    const int encoder = tr_config_heads_width(c, c->encoder_heads), decoder = tr_config_heads_width(c, c->decoder_heads);
    return larger(c->d_model, larger(encoder, decoder));
}

tr_status tr_state_init(tr_state *state, const tr_network *network, int members, size_t bytes, tr_error *error)
{
    const tr_config *c = &network->config;
    *state = (tr_state){.network = network, .members = members};
    state->stride = (size_t)tr_pad16(row_width(c));
    state->ffn_stride = (size_t)tr_pad16(widest_ffn(c));
    tr_barrier_init(&state->barrier, members);
    const tr_status status = tr_arena_init(&state->arena, bytes, error);
    if (status != TR_OK)
        return status;
    state->member = calloc((size_t)members, sizeof *state->member);
    if (!state->member) {
        tr_state_free(state);
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    }
    return TR_OK;
}

void tr_state_free(tr_state *state)
{
    tr_arena_free(&state->arena);
    free(state->member);
    state->member = NULL;
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
    return network->screen ? TR_SCREEN_ROWS * (size_t)tr_pad16(network->logits.weight.outputs) * sizeof(float) + 64 : 0;
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

size_t tr_state_rows_bytes(const tr_network *network, int members, int rows)
{
    const tr_config *c = &network->config;
    const size_t stride = (size_t)tr_pad16(row_width(c)) * sizeof(float);
    const size_t ffn_stride = (size_t)tr_pad16(widest_ffn(c)) * sizeof(float) * (is_deep(c) ? 2 : 1);
    const size_t shared = (2 * stride + ffn_stride) * (size_t)rows + 4 * 64;
    const size_t own = ((c->post_norm ? 5 : 4) * stride + sizeof(tr_best)) * (size_t)rows + scratch_bytes(network) + 7 * 64;
    const size_t own8 = network->int8 ? quantised_bytes(rows, c->d_model) + quantised_bytes(rows, widest(network)) : 0;
    return shared + (size_t)members * (own + own8) + upper_bytes(network);
}

bool tr_state_rows(tr_state *state, int rows)
{
    tr_arena *a = &state->arena;
    const size_t bytes = (size_t)rows * state->stride * sizeof(float);
    state->stream = tr_arena_alloc(a, bytes);
    state->context = tr_arena_alloc(a, bytes);
    state->hidden = tr_arena_alloc(a, (size_t)rows * state->ffn_stride * sizeof(float));
    bool complete = state->stream && state->context && state->hidden;
    if (is_deep(&state->network->config)) {
        state->deeper = tr_arena_alloc(a, (size_t)rows * state->ffn_stride * sizeof(float));
        complete = complete && state->deeper;
    }
    if (state->network->screen) {
        state->upper = tr_arena_alloc(a, upper_bytes(state->network));
        complete = complete && state->upper;
    }
    for (int m = 0; m < state->members; m++) {
        tr_member *own = &state->member[m];
        own->x = tr_arena_alloc(a, bytes);
        if (state->network->config.post_norm) {
            own->inner = tr_arena_alloc(a, bytes);
            complete = complete && own->inner;
        }
        own->q = tr_arena_alloc(a, bytes);
        own->k = tr_arena_alloc(a, bytes);
        own->v = tr_arena_alloc(a, bytes);
        own->best = tr_arena_alloc(a, (size_t)rows * sizeof *own->best);
        own->scratch = tr_arena_alloc(a, scratch_bytes(state->network));
        if (state->network->int8)
            complete = complete && quantised_rows(a, &own->x8, rows, state->network->config.d_model) &&
                       quantised_rows(a, &own->in8, rows, widest(state->network));
        complete = complete && own->x && own->q && own->k && own->v && own->best && own->scratch;
    }
    return complete;
}

void tr_trace_rows(tr_flow *flow, const char *where, int layer, const float *rows)
{
    tr_state *s = flow->state;
    if (!s->trace || flow->member != 0)
        return;
    const int width = s->network->config.d_model;
    float *packed = malloc((size_t)flow->rows * (size_t)width * sizeof *packed); /* tests alone come here */
    if (!packed)
        return;
    for (int r = 0; r < flow->rows; r++)
        for (int i = 0; i < width; i++)
            packed[(size_t)r * (size_t)width + (size_t)i] = rows[(size_t)r * s->stride + (size_t)i];
    s->trace(s->trace_argument, where, layer, packed, flow->rows, width);
    free(packed);
}
