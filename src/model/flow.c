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
    kernels->embed(out, &side->embedding, id, c->embedding_scale, side->positions + (size_t)position * (size_t)c->d_model);
    if (side->embedding_norm.gamma)
        kernels->layernorm(&(tr_layernorm){1, c->d_model, c->layer_norm_epsilon, side->embedding_norm.gamma,
                                           side->embedding_norm.beta, out, state->stride, out, state->stride, NULL});
}

/* flow->x = LN(from), in the member's own memory; from may be that memory. */
static void normalise(tr_flow *flow, const tr_norm *norm, const float *from)
{
    tr_state *s = flow->state;
    const tr_config *c = &s->network->config;
    float *x = s->member[flow->member].x;
    s->network->kernels->layernorm(&(tr_layernorm){flow->rows, c->d_model, c->layer_norm_epsilon, norm->gamma, norm->beta,
                                                   from, s->stride, x, s->stride, NULL});
    flow->x = x;
}

tr_flow tr_flow_start(tr_state *state, int member, int rows)
{
    return (tr_flow){state, member, rows, state->stream, state->stream};
}

void tr_sublayer_begin(tr_flow *flow, const tr_norm *norm)
{
    if (flow->state->network->config.pre_norm)
        normalise(flow, norm, flow->state->stream);
}

void tr_sublayer_add(tr_flow *flow, const tr_linear *linear, const float *x, size_t x_stride)
{
    tr_state *s = flow->state;
    const tr_range own = tr_share(linear->weight.outputs, TR_PANEL, flow->member, s->members);
    s->network->kernels->matmul(&(tr_matmul){.weight = &linear->weight,
                                             .bias = linear->bias,
                                             .rows = flow->rows,
                                             .x = x,
                                             .x_stride = x_stride,
                                             .residual = flow->residual,
                                             .residual_stride = s->stride,
                                             .y = s->stream,
                                             .y_stride = s->stride},
                                own.first, own.last, s->member[flow->member].scratch);
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
    if (flow->state->network->config.pre_norm)
        flow->x = flow->state->stream;
    if (final->gamma)
        normalise(flow, final, flow->x);
}
