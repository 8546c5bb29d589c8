/* The residual stream and its LayerNorms (Xiong et al., 2020, for where they stand):
 *     post-norm  x = LN(x + f(x))         pre-norm  x = x + f(LN(x))         both  x = LN(x + f(LN(x)))
 * stream holds the sums; with a norm behind them each member keeps the normalised rows for itself, as the next input and
 * residual. */
#include "model/state.h"
#include "model/sublayer.h"

#include <math.h>

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

/* Rows of f32 [rows, width] as a matrix with this alpha takes them. Marian takes the greatest number of a whole activation
 * matrix where it has no alpha, which would make a sentence depend on the others in its batch: here it is that of the
 * sentence, Marian's own result for a batch of one. */
static void quantise(const tr_flow *flow, const float *x, size_t stride, int width, float alpha, const tr_quantised *q)
{
    const tr_network *n = flow->state->network;
    const bool together = n->config.marian_int8 && alpha == 0 && flow->sentences;
    if (!n->int8)
        return;
    if (!together) {
        n->kernels->quantise(&(tr_quantise){flow->rows, width, x, stride, q, alpha, false});
        return;
    }
    for (int i = 0; i < flow->sentence_count; i++) {
        const tr_segment *s = &flow->sentences[i];
        const tr_quantised own = {(char *)q->rows + (size_t)s->first * q->stride, q->stride, q->scale + s->first};
        n->kernels->quantise(&(tr_quantise){s->rows, width, x + (size_t)s->first * stride, stride, &own, 0, true});
    }
}

void tr_flow_quantise(tr_flow *flow, const tr_matrix *matrix)
{
    const tr_state *s = flow->state;
    if (matrix->type != TR_TYPE_I8 || matrix->alpha == flow->alpha)
        return;
    quantise(flow, flow->x, s->stride, matrix->inputs, matrix->alpha, &s->member[flow->member].x8);
    flow->alpha = matrix->alpha;
}

/* flow->x = to = LN(from), in the member's own memory; from may be to. */
static void normalise(tr_flow *flow, const tr_norm *norm, const float *from, float *to)
{
    tr_state *s = flow->state;
    const tr_config *c = &s->network->config;
    tr_member *own = &s->member[flow->member];
    const bool early = s->network->int8 && !c->marian_int8; /* rows are quantised where they are made */
    s->network->kernels->layernorm(&(tr_layernorm){.rows = flow->rows,
                                                   .width = c->d_model,
                                                   .epsilon = c->layer_norm_epsilon,
                                                   .gamma = norm->gamma,
                                                   .beta = norm->beta,
                                                   .x = from,
                                                   .x_stride = s->stride,
                                                   .y = to,
                                                   .y_stride = s->stride,
                                                   .q = early ? &own->x8 : NULL});
    flow->x = to;
    flow->alpha = early ? 0 : NAN;
}

tr_flow tr_flow_start(tr_state *state, int member, int rows)
{
    return (tr_flow){state, member, rows, state->stream, state->stream, NAN, NULL, 0, 0};
}

void tr_sublayer_read(tr_flow *flow, const float *x)
{
    flow->x = x;
    flow->alpha = NAN;
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
    tr_flow_quantise(flow, &linear->weight);
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

/* The product of x, what all members have written, for these columns; *product says where it goes. */
static void multiply_onward(const tr_flow *flow, const tr_linear *linear, const float *x, size_t x_stride, tr_range columns,
                            tr_matmul *product)
{
    const tr_state *s = flow->state;
    const tr_member *own = &s->member[flow->member];
    quantise(flow, x, x_stride, linear->weight.inputs, linear->weight.alpha, &own->in8);
    product->weight = &linear->weight;
    product->bias = linear->bias;
    product->rows = flow->rows;
    product->x = x;
    product->x_stride = x_stride;
    product->q = &own->in8;
    s->network->kernels->matmul(product, columns.first, columns.last, own->scratch);
}

void tr_sublayer_onward(tr_flow *flow, const tr_linear *linear, const float *x, size_t x_stride, tr_range columns,
                        tr_activation activation, float *y, size_t y_stride)
{
    tr_matmul product = {.activation = activation, .y = y, .y_stride = y_stride};
    multiply_onward(flow, linear, x, x_stride, columns, &product);
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
    const tr_range columns = tr_share(s->network->config.d_model, TR_PANEL, flow->member, s->members);
    tr_matmul product = {.residual = flow->residual, .residual_stride = s->stride, .y = s->stream, .y_stride = s->stride};
    if (linear->weight.data)
        multiply_onward(flow, linear, x, x_stride, columns, &product);
    else
        add_rows(flow, x, x_stride, columns);
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
