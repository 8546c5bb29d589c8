/* The residual stream and its LayerNorms (Xiong et al., 2020, for where they stand):
 *     post-norm  x = LN(x + f(x))         pre-norm  x = x + f(LN(x))
 * stream holds the sums; with post-norm each member keeps the normalised rows for itself, as the next input and residual. */
#include "model/state.h"
#include "model/sublayer.h"

void tr_embed(tr_state *state, const tr_side *side, int row, int32_t id, int position)
{
    const tr_config *c = &state->network->config;
    const tr_kernels *kernels = state->network->kernels;
    float *out = state->stream + (size_t)row * state->stride;
    kernels->embed(out, &side->embedding, id, c->embedding_scale,
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

/* flow->x = LN(from), in the member's own memory; from may be that memory. */
static void normalise(tr_flow *flow, const tr_norm *norm, const float *from)
{
    tr_state *s = flow->state;
    const tr_config *c = &s->network->config;
    tr_member *own = &s->member[flow->member];
    s->network->kernels->layernorm(&(tr_layernorm){.rows = flow->rows,
                                                   .width = c->d_model,
                                                   .epsilon = c->layer_norm_epsilon,
                                                   .gamma = norm->gamma,
                                                   .beta = norm->beta,
                                                   .x = from,
                                                   .x_stride = s->stride,
                                                   .y = own->x,
                                                   .y_stride = s->stride,
                                                   .q = s->network->int8 ? &own->x8 : NULL});
    flow->x = own->x;
}

tr_flow tr_flow_start(tr_state *state, int member, int rows)
{
    tr_flow flow = {state, member, rows, state->stream, state->stream};
    if (!state->network->config.pre_norm)
        quantise(&flow, flow.x, state->stride, state->network->config.d_model, &state->member[member].x8);
    return flow;
}

void tr_sublayer_begin(tr_flow *flow, const tr_norm *norm)
{
    if (flow->state->network->config.pre_norm)
        normalise(flow, norm, flow->state->stream);
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

void tr_sublayer_add(tr_flow *flow, const tr_linear *linear, const float *x, size_t x_stride)
{
    tr_state *s = flow->state;
    const tr_member *own = &s->member[flow->member];
    const tr_range columns = tr_share(linear->weight.outputs, TR_PANEL, flow->member, s->members);
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

void tr_sublayer_end(tr_flow *flow, const tr_norm *norm)
{
    if (!flow->state->network->config.pre_norm) {
        normalise(flow, norm, flow->state->stream);
        flow->residual = flow->x;
    }
}

void tr_flow_finish(tr_flow *flow, const tr_norm *final)
{
    tr_state *s = flow->state;
    if (s->network->config.pre_norm) {
        flow->x = s->stream;
        if (!final->gamma)
            quantise(flow, flow->x, s->stride, s->network->config.d_model, &s->member[flow->member].x8);
    }
    if (final->gamma)
        normalise(flow, final, flow->x);
}
