/* What decoder layers may have in place of self-attention: a recurrent unit, or the mean of all tokens so far. What they
 * keep of a sentence lies with it (tr_segment) and does not grow. */
#include "model/sublayer.h"

#include <string.h>

/* A segment's share of what its sentence keeps of the layer at hand. */
static float *kept(const tr_flow *flow, const tr_segment *segment, tr_range columns)
{
    const size_t stride = (size_t)tr_pad16(flow->state->network->config.d_model);
    return segment->history + flow->state->history_base + (size_t)flow->layer * stride + columns.first;
}

static tr_range own_columns(const tr_flow *flow)
{
    return tr_share(flow->state->network->config.d_model, TR_PANEL, flow->member, flow->state->members);
}

/* Columns of rows [rows, stride] copied to others. */
static void copy_columns(const tr_flow *flow, const float *from, size_t from_stride, tr_range columns, float *to)
{
    const size_t stride = flow->state->stride, bytes = (size_t)(columns.last - columns.first) * sizeof *to;
    for (int r = 0; bytes && r < flow->rows; r++)
        memcpy(to + (size_t)r * stride + columns.first, from + (size_t)r * from_stride + columns.first, bytes);
}

/* Row by row, since each needs what the one before has left. */
static void recur_rows(const tr_flow *flow, const tr_segment *segment, tr_range columns)
{
    const tr_state *s = flow->state;
    const tr_member *own = &s->member[flow->member];
    for (int r = segment->first; r < segment->first + segment->rows; r++) {
        const size_t at = (size_t)r * s->stride + (size_t)columns.first;
        s->network->kernels->recur(&(tr_recur){.width = columns.last - columns.first,
                                               .x = own->k + at,
                                               .forget = own->v + at,
                                               .state = kept(flow, segment, columns),
                                               .out = s->context + at});
    }
}

/* x = LN(x + ReLU(c)), c = f c + (1 - f) W x, f = sigmoid(Wf x + bf) */
void tr_ssru_forward(tr_flow *flow, const tr_ssru *weights, const tr_segment *segments, int count)
{
    tr_state *s = flow->state;
    const tr_member *own = &s->member[flow->member];
    const tr_range columns = own_columns(flow);
    tr_sublayer_begin(flow, &weights->norms);
    tr_sublayer_product(flow, &weights->input, columns, TR_ACTIVATION_NONE, false, own->k, s->stride);
    tr_sublayer_product(flow, &weights->forget, columns, TR_ACTIVATION_SIGMOID, false, own->v, s->stride);
    for (int i = 0; i < count; i++)
        recur_rows(flow, &segments[i], columns);
    tr_state_meet(s);
    tr_sublayer_add(flow, &weights->output, s->context, s->stride);
    tr_sublayer_end(flow, &weights->norms);
}

/* context = the mean of x and of all that came before it, row by row */
static void take_means(const tr_flow *flow, const tr_segment *segment, tr_range columns)
{
    const tr_state *s = flow->state;
    const int width = columns.last - columns.first;
    float *mean = kept(flow, segment, columns);
    for (int r = 0; width > 0 && r < segment->rows; r++) {
        const size_t at = (size_t)(segment->first + r) * s->stride + (size_t)columns.first;
        s->network->kernels->average(mean, flow->x + at, segment->position + r, width);
        memcpy(s->context + at, mean, (size_t)width * sizeof *mean);
    }
}

/* Makes what the feed-forward network makes of the means, if there is one, flow->x. */
static void run_stack(tr_flow *flow, const tr_feedforward *stack, tr_range columns)
{
    tr_state *s = flow->state;
    if (!stack->up.weight.data)
        return;
    const float *hidden = tr_feedforward_hidden(flow, stack); /* all have read the context */
    if (stack->down.weight.data)
        tr_sublayer_onward(flow, &stack->down, hidden, s->ffn_stride, columns, TR_ACTIVATION_NONE, s->context, s->stride);
    else
        copy_columns(flow, hidden, s->ffn_stride, columns, s->context);
    tr_state_meet(s);
    tr_sublayer_read(flow, s->context);
}

/* x = LN(x + i x + f y), y = FFN(mean), i = sigmoid(Wi x + bi), f = sigmoid(Wf y + bf); ungated: x = LN(x + y). A norm
 * before is that of the mean alone, as Marian has it. */
void tr_average_forward(tr_flow *flow, const tr_average *weights, const tr_segment *segments, int count)
{
    tr_state *s = flow->state;
    const tr_member *own = &s->member[flow->member];
    const tr_range columns = own_columns(flow);
    const bool gated = weights->gate_input.weight.data;
    if (weights->stack.norms.before.gamma)
        tr_sublayer_read(flow, flow->residual);
    for (int i = 0; i < count; i++)
        take_means(flow, &segments[i], columns);
    if (gated) {
        copy_columns(flow, flow->x, s->stride, columns, own->k);
        tr_sublayer_product(flow, &weights->gate_input, columns, TR_ACTIVATION_SIGMOID, true, own->k, s->stride);
    }
    tr_state_meet(s);
    tr_sublayer_begin_with(flow, &weights->stack.norms, s->context);
    run_stack(flow, &weights->stack, columns);
    copy_columns(flow, flow->x, s->stride, columns, own->v);
    if (gated) {
        tr_sublayer_product(flow, &weights->gate_mean, columns, TR_ACTIVATION_SIGMOID, true, own->v, s->stride);
        for (int r = 0; r < flow->rows; r++) {
            const size_t at = (size_t)r * s->stride + (size_t)columns.first;
            s->network->kernels->add(own->v + at, own->k + at, own->v + at, columns.last - columns.first);
        }
    }
    tr_sublayer_add(flow, &(tr_linear){0}, own->v, s->stride); /* own columns alone, and it is only these that are read */
    tr_sublayer_end(flow, &weights->stack.norms);
}
