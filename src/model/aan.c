#include "model/aan.h"

#include <string.h>

#include "model/feedforward.h"

tr_aan tr_aan_bind(tr_binder *b, const char *prefix, tr_norms *norms)
{
    const tr_config *c = &b->network->config;
    const int d_model = c->d_model, depth = c->aan_depth;
    tr_aan a = {.has_mean_norm = norms->place & TR_NORM_BEFORE, .mean_norm = norms->before, .gated = !c->aan_ungated};
    norms->place &= ~TR_NORM_BEFORE;
    a.ffn.kind = depth == 1 ? TR_FFN_NONE : depth == 2 ? TR_FFN_PLAIN : TR_FFN_DEEP;
    a.ffn.activation = c->aan_activation;
    a.ffn.has_down = a.ffn.kind != TR_FFN_NONE && c->aan_ffn != d_model;
    tr_feedforward_bind(b, &a.ffn, prefix, "avg", c->aan_ffn, depth);
    if (!a.gated)
        return a;
    a.gate_input = tr_bind_linear(b, prefix, "avg_gate_x", d_model, d_model);
    a.gate_mean = tr_bind_linear(b, prefix, "avg_gate_y", d_model, d_model);
    return a;
}

/* context = the mean of x and of all rows before it in the sequence, row by row */
static void average_rows(const tr_forward *fwd, const tr_seq *seq, tr_range columns)
{
    const tr_workspace *ws = fwd->ws;
    const int width = columns.end - columns.begin;
    float *mean = tr_forward_recurrent(fwd, seq, columns);
    for (int r = 0; width > 0 && r < seq->rows; r++) {
        const size_t at = (size_t)(seq->first_row + r) * ws->stride + (size_t)columns.begin;
        ws->network->kernels->aan_step(mean, fwd->x + at, seq->position + r, width);
        memcpy(ws->context + at, mean, (size_t)width * sizeof *mean);
    }
}

void tr_aan_sublayer(tr_forward *fwd, const tr_aan *w, const tr_seq *seqs, int count)
{
    tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    const size_t stride = ws->stride;
    const tr_range columns = tr_forward_columns(fwd, ws->network->config.d_model);
    for (int i = 0; i < count; i++)
        average_rows(fwd, &seqs[i], columns);
    if (w->gated) { /* aan_input = i * x */
        tr_forward_copy(fwd, fwd->x, stride, columns, own->aan_input, stride);
        tr_linear_forward(
            fwd, &w->gate_input, columns,
            (tr_matmul){
                .activation = TR_ACTIVATION_SIGMOID, .gate = own->aan_input, .y = own->aan_input, .y_stride = stride});
    }
    tr_workspace_barrier(ws);
    if (w->has_mean_norm)
        tr_forward_set_x_normalised(fwd, &w->mean_norm, ws->context);
    else
        tr_forward_set_x(fwd, ws->context);
    if (w->ffn.kind != TR_FFN_NONE) { /* context = FFN(mean); all threads have read the mean by then */
        tr_feedforward_forward(fwd, &w->ffn, (tr_matmul){.y = ws->context, .y_stride = stride});
        tr_workspace_barrier(ws);
        tr_forward_set_x(fwd, ws->context);
    }
    tr_forward_copy(fwd, fwd->x, stride, columns, own->aan_sum, stride);
    if (w->gated) { /* aan_sum = i * x + f * FFN(mean) */
        tr_linear_forward(
            fwd, &w->gate_mean, columns,
            (tr_matmul){.activation = TR_ACTIVATION_SIGMOID, .gate = own->aan_sum, .y = own->aan_sum, .y_stride = stride});
        tr_forward_add(fwd, own->aan_input, own->aan_sum, columns, own->aan_sum);
    }
    tr_forward_add(fwd, own->aan_sum, fwd->residual, columns, ws->stream);
}
