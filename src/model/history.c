/* What decoder layers may have in place of self-attention: a recurrent unit, or the mean of all tokens so far. What they
 * keep of a sentence lies with it (tr_seq) and does not grow. */
#include "model/sublayer.h"

#include <string.h>

/* A segment's share of what its sentence keeps of the layer at hand. */
static float *kept(const tr_forward *fwd, const tr_seq *seq, tr_range columns)
{
    const size_t stride = (size_t)tr_pad16(fwd->ws->network->config.d_model);
    return seq->recurrent + (size_t)fwd->layer * stride + columns.begin;
}

static tr_range own_columns(const tr_forward *fwd)
{
    return tr_share(fwd->ws->network->config.d_model, TR_PANEL, fwd->thread, fwd->ws->threads);
}

/* Columns of rows [rows, stride] copied to others. */
static void copy_columns(const tr_forward *fwd, const float *from, size_t from_stride, tr_range columns, float *to)
{
    const size_t stride = fwd->ws->stride, bytes = (size_t)(columns.end - columns.begin) * sizeof *to;
    for (int r = 0; bytes && r < fwd->rows; r++)
        memcpy(to + (size_t)r * stride + columns.begin, from + (size_t)r * from_stride + columns.begin, bytes);
}

/* Row by row, since each needs what the one before has left. */
static void recur_rows(const tr_forward *fwd, const tr_seq *seq, tr_range columns)
{
    const tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    for (int r = seq->first_row; r < seq->first_row + seq->rows; r++) {
        const size_t at = (size_t)r * ws->stride + (size_t)columns.begin;
        ws->network->kernels->ssru_step(&(tr_ssru_step){.width = columns.end - columns.begin,
                                                        .x = own->k + at,
                                                        .forget = own->v + at,
                                                        .state = kept(fwd, seq, columns),
                                                        .out = ws->context + at});
    }
}

/* x = LN(x + ReLU(c)), c = f c + (1 - f) W x, f = sigmoid(Wf x + bf) */
void tr_ssru_forward(tr_forward *fwd, const tr_ssru *weights, const tr_seq *seqs, int count)
{
    tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    const tr_range columns = own_columns(fwd);
    tr_sublayer_begin(fwd, &weights->norms);
    tr_sublayer_linear(fwd, &weights->input, columns, TR_ACTIVATION_NONE, false, own->k, ws->stride);
    tr_sublayer_linear(fwd, &weights->forget, columns, TR_ACTIVATION_SIGMOID, false, own->v, ws->stride);
    for (int i = 0; i < count; i++)
        recur_rows(fwd, &seqs[i], columns);
    tr_workspace_barrier(ws);
    tr_sublayer_add(fwd, &weights->output, ws->context, ws->stride);
    tr_sublayer_end(fwd, &weights->norms);
}

/* context = the mean of x and of all that came before it, row by row */
static void take_means(const tr_forward *fwd, const tr_seq *seq, tr_range columns)
{
    const tr_workspace *ws = fwd->ws;
    const int width = columns.end - columns.begin;
    float *mean = kept(fwd, seq, columns);
    for (int r = 0; width > 0 && r < seq->rows; r++) {
        const size_t at = (size_t)(seq->first_row + r) * ws->stride + (size_t)columns.begin;
        ws->network->kernels->aan_step(mean, fwd->x + at, seq->position + r, width);
        memcpy(ws->context + at, mean, (size_t)width * sizeof *mean);
    }
}

/* Makes what the feed-forward network makes of the means, if there is one, flow->x. */
static void run_stack(tr_forward *fwd, const tr_feedforward *stack, tr_range columns)
{
    tr_workspace *ws = fwd->ws;
    if (!stack->up.weight.data)
        return;
    const float *hidden = tr_feedforward_hidden(fwd, stack); /* all have read the context */
    if (stack->down.weight.data)
        tr_sublayer_linear_shared(fwd, &stack->down, hidden, ws->ffn_stride, columns, TR_ACTIVATION_NONE, ws->context,
                                  ws->stride);
    else
        copy_columns(fwd, hidden, ws->ffn_stride, columns, ws->context);
    tr_workspace_barrier(ws);
    tr_sublayer_set_input(fwd, ws->context);
}

/* x = LN(x + i x + f y), y = FFN(mean), i = sigmoid(Wi x + bi), f = sigmoid(Wf y + bf); ungated: x = LN(x + y). A norm
 * before is that of the mean alone, as Marian has it. */
void tr_aan_forward(tr_forward *fwd, const tr_aan *weights, const tr_seq *seqs, int count)
{
    tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    const tr_range columns = own_columns(fwd);
    const bool gated = weights->gate_input.weight.data;
    if (weights->ffn.norms.before.gamma)
        tr_sublayer_set_input(fwd, fwd->residual);
    for (int i = 0; i < count; i++)
        take_means(fwd, &seqs[i], columns);
    if (gated) {
        copy_columns(fwd, fwd->x, ws->stride, columns, own->k);
        tr_sublayer_linear(fwd, &weights->gate_input, columns, TR_ACTIVATION_SIGMOID, true, own->k, ws->stride);
    }
    tr_workspace_barrier(ws);
    tr_sublayer_begin_with(fwd, &weights->ffn.norms, ws->context);
    run_stack(fwd, &weights->ffn, columns);
    copy_columns(fwd, fwd->x, ws->stride, columns, own->v);
    if (gated) {
        tr_sublayer_linear(fwd, &weights->gate_mean, columns, TR_ACTIVATION_SIGMOID, true, own->v, ws->stride);
        for (int r = 0; r < fwd->rows; r++) {
            const size_t at = (size_t)r * ws->stride + (size_t)columns.begin;
            ws->network->kernels->add(own->v + at, own->k + at, own->v + at, columns.end - columns.begin);
        }
    }
    tr_sublayer_add(fwd, &(tr_linear){0}, own->v, ws->stride); /* own columns alone, and it is only these that are read */
    tr_sublayer_end(fwd, &weights->ffn.norms);
}
