/* The residual stream and its LayerNorms (Xiong et al., 2020, for where they stand):
 *     post-norm  x = LN(x + f(x))         pre-norm  x = x + f(LN(x))         both  x = LN(x + f(LN(x)))
 * stream holds the sums; with a norm behind them each member keeps the normalised rows for itself, as the next input and
 * residual. */
#include "model/state.h"
#include "model/sublayer.h"

void tr_embed(tr_state *state, const tr_side *side, int row, int32_t id, int position)
{
    const tr_config *c = &state->network->config;
    const tr_kernels *kernels = state->network->kernels;
    float *out = state->stream + (size_t)row * state->stride;
    const bool zeros = id < 0; /* any row's, times nothing */
    kernels->embed(out, &side->embedding, zeros ? 0 : id, zeros ? 0 : c->embedding_scale,
                   side->positions ? side->positions + (size_t)position * (size_t)c->d_model : NULL);
    if (side->embedding_norm.gamma)
        kernels->layernorm(&(tr_layernorm){1, c->d_model, c->layer_norm_epsilon, side->embedding_norm.gamma,
                                           side->embedding_norm.beta, out, state->stride, out, state->stride, NULL});
}

/* Rows of f32, quantised for int8 matrices. */
static void quantise(tr_flow *flow, const float *x, size_t stride, int width, const tr_quantised *q)
{
    if (flow->state->network->int8)
        flow->state->network->kernels->quantise(&(tr_quantise){flow->rows, width, x, stride, q});
}

/* flow->x = to = LN(from), in the member's own memory; from may be to. */
static void normalise(tr_flow *flow, const tr_norm *norm, const float *from, float *to)
{
    tr_state *s = flow->state;
    const tr_config *c = &s->network->config;
    s->network->kernels->layernorm(&(tr_layernorm){.rows = flow->rows,
                                                   .width = c->d_model,
                                                   .epsilon = c->layer_norm_epsilon,
                                                   .gamma = norm->gamma,
                                                   .beta = norm->beta,
                                                   .x = from,
                                                   .x_stride = s->stride,
                                                   .y = to,
                                                   .y_stride = s->stride,
                                                   .q = s->network->int8 ? &s->member[flow->member].x8 : NULL});
    flow->x = to;
}

tr_flow tr_flow_start(tr_state *state, int member, int rows)
{
    tr_flow flow = {state, member, rows, state->stream, state->stream};
    if (!state->network->config.pre_norm)
        tr_sublayer_read(&flow, flow.x);
    return flow;
}

void tr_sublayer_read(tr_flow *flow, const float *x)
{
    const tr_state *s = flow->state;
    quantise(flow, x, s->stride, s->network->config.d_model, &s->member[flow->member].x8);
    flow->x = x;
}

void tr_sublayer_begin_with(tr_flow *flow, const tr_norms *norms, const float *x)
{
    const tr_member *own = &flow->state->member[flow->member];
    if (norms->before.gamma)
        normalise(flow, &norms->before, x, flow->residual == own->x ? own->inner : own->x);
    else
        tr_sublayer_read(flow, x);
}

void tr_sublayer_begin(tr_flow *flow, const tr_norms *norms)
{
    if (norms->before.gamma) /* else the sublayer before has left it so */
        tr_sublayer_begin_with(flow, norms, flow->residual);
}

void tr_sublayer_product(tr_flow *flow, const tr_linear *linear, tr_range columns, tr_activation activation, bool gated,
                         float *y, size_t y_stride)
{
    tr_state *s = flow->state;
    const tr_member *own = &s->member[flow->member];
    s->network->kernels->matmul(&(tr_matmul){.weight = &linear->weight,
                                             .bias = linear->bias,
                                             .rows = flow->rows,
                                             .x = flow->x,
                                             .x_stride = s->stride,
                                             .q = &own->x8,
                                             .activation = activation,
                                             .gate = gated ? y : NULL,
                                             .y = y,
                                             .y_stride = y_stride},
                                columns.first, columns.last, own->scratch);
}

void tr_sublayer_onward(tr_flow *flow, const tr_linear *linear, const float *x, size_t x_stride, tr_range columns,
                        tr_activation activation, float *y, size_t y_stride)
{
    tr_state *s = flow->state;
    const tr_member *own = &s->member[flow->member];
    quantise(flow, x, x_stride, linear->weight.inputs, &own->in8);
    s->network->kernels->matmul(&(tr_matmul){.weight = &linear->weight,
                                             .bias = linear->bias,
                                             .rows = flow->rows,
                                             .x = x,
                                             .x_stride = x_stride,
                                             .q = &own->in8,
                                             .activation = activation,
                                             .y = y,
                                             .y_stride = y_stride},
                                columns.first, columns.last, own->scratch);
}

static void add_rows(tr_flow *flow, const float *x, size_t x_stride, tr_range columns)
{
    tr_state *s = flow->state;
    for (int r = 0; r < flow->rows; r++) {
        const size_t at = (size_t)r * s->stride + (size_t)columns.first;
        s->network->kernels->add(s->stream + at, x + (size_t)r * x_stride + columns.first, flow->residual + at,
                                 columns.last - columns.first);
    }
}

void tr_sublayer_add(tr_flow *flow, const tr_linear *linear, const float *x, size_t x_stride)
{
    tr_state *s = flow->state;
    const tr_member *own = &s->member[flow->member];
    const tr_range columns = tr_share(s->network->config.d_model, TR_PANEL, flow->member, s->members);
    if (!linear->weight.data) {
        add_rows(flow, x, x_stride, columns);
        tr_state_meet(s);
        return;
    }
    quantise(flow, x, x_stride, linear->weight.inputs, &own->in8);
    s->network->kernels->matmul(&(tr_matmul){.weight = &linear->weight,
                                             .bias = linear->bias,
                                             .rows = flow->rows,
                                             .x = x,
                                             .x_stride = x_stride,
                                             .q = &own->in8,
                                             .residual = flow->residual,
                                             .residual_stride = s->stride,
                                             .y = s->stream,
                                             .y_stride = s->stride},
                                columns.first, columns.last, own->scratch);
    tr_state_meet(s);
}

void tr_sublayer_end(tr_flow *flow, const tr_norms *norms)
{
    tr_state *s = flow->state;
    if (norms->after.gamma)
        normalise(flow, &norms->after, s->stream, s->member[flow->member].x);
    flow->residual = norms->after.gamma ? flow->x : s->stream;
}

void tr_flow_finish(tr_flow *flow, const tr_norm *final)
{
    tr_state *s = flow->state;
    if (final->gamma)
        normalise(flow, final, flow->residual, s->member[flow->member].x);
    else if (flow->residual == s->stream)
        tr_sublayer_read(flow, s->stream);
}
