#include "model/ssru.h"

tr_ssru tr_ssru_bind(tr_binder *b, const char *prefix)
{
    const tr_config *c = &b->network->config;
    const int d_model = c->d_model;
    tr_ssru s = {.has_output = c->ssru_projection};
    s.input = tr_bind_linear(b, prefix, "ssru_x", d_model, d_model);
    s.forget = tr_bind_linear(b, prefix, "ssru_f", d_model, d_model);
    if (s.has_output)
        s.output = tr_bind_linear(b, prefix, "ssru_o", d_model, d_model);
    return s;
}

/* context = ReLU(c), row by row, since each row needs the state c that the row before has left. */
static void step_rows(const tr_forward *fwd, const tr_seq *seq, tr_range columns)
{
    const tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    for (int r = seq->first_row; r < seq->first_row + seq->rows; r++) {
        const size_t at = (size_t)r * ws->stride + (size_t)columns.begin;
        ws->network->kernels->ssru_step(&(tr_ssru_step){.width = columns.end - columns.begin,
                                                        .x = own->ssru_input + at,
                                                        .forget = own->ssru_forget + at,
                                                        .state = tr_forward_recurrent(fwd, seq, columns),
                                                        .out = ws->context + at});
    }
}

void tr_ssru_sublayer(tr_forward *fwd, const tr_ssru *w, const tr_seq *seqs, int count)
{
    tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    const tr_range columns = tr_forward_columns(fwd, ws->network->config.d_model);
    tr_linear_forward(fwd, &w->input, columns, (tr_matmul){.y = own->ssru_input, .y_stride = ws->stride});
    tr_linear_forward(fwd, &w->forget, columns,
                      (tr_matmul){.activation = TR_ACTIVATION_SIGMOID, .y = own->ssru_forget, .y_stride = ws->stride});
    for (int i = 0; i < count; i++)
        step_rows(fwd, &seqs[i], columns);
    tr_workspace_barrier(ws);
    if (w->has_output)
        tr_linear_forward_shared(fwd, &w->output, ws->context, ws->stride, columns, tr_forward_add_to_stream(fwd));
    else
        tr_forward_add(fwd, ws->context, fwd->residual, columns, ws->stream);
}
