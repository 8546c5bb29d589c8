#include "model/feedforward.h"

#include <stdio.h>

/* NAME_mid_2 and on: the products between the first and the last. */
static void bind_middle(tr_binder *b, tr_feedforward *f, const char *prefix, const char *name, int ffn, int count)
{
    char part[32];
    if (!(f->middle = tr_bind_memory(b, (size_t)count * sizeof *f->middle)))
        return;
    f->middles = count;
    for (int i = 0; i < count; i++) {
        snprintf(part, sizeof part, "%s_mid_%d", name, i + 2);
        f->middle[i] = tr_bind_linear(b, prefix, part, ffn, ffn);
    }
}

void tr_feedforward_bind(tr_binder *b, tr_feedforward *f, const char *prefix, const char *name, int ffn, int depth)
{
    const int d_model = b->network->config.d_model;
    char part[32];
    if (depth >= 2) {
        snprintf(part, sizeof part, "%s_up", name);
        f->up = tr_bind_linear(b, prefix, part, ffn, d_model);
    }
    if (depth > 2)
        bind_middle(b, f, prefix, name, ffn, depth - 2);
    if (f->has_down) {
        snprintf(part, sizeof part, "%s_down", name);
        f->down = tr_bind_linear(b, prefix, part, d_model, depth >= 2 ? ffn : d_model);
    }
    if (f->kind == TR_FFN_GATED) {
        snprintf(part, sizeof part, "%s_gate", name);
        f->gate = tr_bind_linear(b, prefix, part, ffn, d_model);
    }
}

void tr_feedforward_forward(tr_forward *fwd, const tr_feedforward *w, tr_matmul target)
{
    tr_workspace *ws = fwd->ws;
    const tr_range outputs = tr_forward_columns(fwd, ws->network->config.d_model);
    if (w->kind == TR_FFN_LINEAR) {
        tr_workspace_barrier(ws); /* x may be the stream, which target overwrites */
        tr_linear_forward_shared(fwd, &w->down, fwd->x, ws->stride, outputs, target);
        return;
    }
    const bool gated = w->kind == TR_FFN_GATED;
    const tr_range own = tr_forward_columns(fwd, w->up.weight.outputs);
    const tr_activation act = w->activation;
    const size_t stride = ws->ffn_stride;
    float *hidden = ws->hidden, *next = ws->hidden2; /* [rows, ffn] */
    /* hidden = act(up x), or act(gate x) * up x */
    tr_linear_forward(fwd, &w->up, own,
                      (tr_matmul){.activation = gated ? TR_ACTIVATION_NONE : act, .y = hidden, .y_stride = stride});
    if (gated)
        tr_linear_forward(fwd, &w->gate, own,
                          (tr_matmul){.activation = act, .gate = hidden, .y = hidden, .y_stride = stride});
    tr_workspace_barrier(ws);
    for (int i = 0; i < w->middles; i++) { /* hidden = act(middle[i] hidden) */
        tr_linear_forward_shared(fwd, &w->middle[i], hidden, stride, own,
                                 (tr_matmul){.activation = act, .y = next, .y_stride = stride});
        tr_workspace_barrier(ws);
        float *const read = hidden;
        hidden = next;
        next = read;
    }
    if (w->has_down)
        tr_linear_forward_shared(fwd, &w->down, hidden, stride, outputs, target);
    else
        tr_forward_copy(fwd, hidden, stride, outputs, target.y, target.y_stride);
}
