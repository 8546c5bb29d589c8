/* The residual stream and its LayerNorms (Xiong et al., 2020, for where they stand):
 *     post-norm  x = LN(x + f(x))         pre-norm  x = x + f(LN(x))         both  x = LN(x + f(LN(x)))
 * stream holds the sums; with a norm behind them each thread keeps the normalised rows for itself, as the next input and
 * residual. */
#include "model/state.h"
#include "model/sublayer.h"

#include <math.h>

void tr_embed(tr_workspace *ws, const tr_side *side, int row, int32_t id, int position)
{
    const tr_config *c = &ws->network->config;
    const tr_kernels *kernels = ws->network->kernels;
    float *out = ws->stream + (size_t)row * ws->stride;
    const bool zeros = id < 0; /* any row's, times nothing */
    kernels->embed_row(out, &side->embedding, zeros ? 0 : id, zeros ? 0 : c->embedding_scale,
                       side->positions ? side->positions + (size_t)position * (size_t)c->d_model : NULL);
    if (side->embedding_norm.gamma)
        kernels->layernorm(&(tr_layernorm){1, c->d_model, c->layer_norm_epsilon, side->embedding_norm.gamma,
                                           side->embedding_norm.beta, out, ws->stride, out, ws->stride, NULL});
}

/* Rows of f32 [rows, width] as a matrix with this alpha takes them. Marian takes the greatest number of a whole activation
 * matrix where it has no alpha, which would make a sentence depend on the others in its batch: here it is that of the
 * sentence, Marian's own result for a batch of one. */
static void quantise(const tr_forward *fwd, const float *x, size_t stride, int width, float alpha, const tr_quantised *q)
{
    const tr_network *n = fwd->ws->network;
    const bool together = n->config.marian_int8 && alpha == 0 && fwd->seqs;
    if (!n->int8)
        return;
    if (!together) {
        n->kernels->quantise(&(tr_quantise){fwd->rows, width, x, stride, q, alpha, false});
        return;
    }
    for (int i = 0; i < fwd->seq_count; i++) {
        const tr_seq *s = &fwd->seqs[i];
        const tr_quantised own = {(char *)q->rows + (size_t)s->first_row * q->stride, q->stride, q->scale + s->first_row};
        n->kernels->quantise(&(tr_quantise){s->rows, width, x + (size_t)s->first_row * stride, stride, &own, 0, true});
    }
}

void tr_forward_quantise(tr_forward *fwd, const tr_matrix *matrix)
{
    const tr_workspace *ws = fwd->ws;
    if (matrix->type != TR_TYPE_I8 || matrix->act_scale == fwd->alpha)
        return;
    quantise(fwd, fwd->x, ws->stride, matrix->inputs, matrix->act_scale, &ws->buffers[fwd->thread].x_i8);
    fwd->alpha = matrix->act_scale;
}

/* flow->x = to = LN(from), in the thread's own memory; from may be to. */
static void normalise(tr_forward *fwd, const tr_norm *norm, const float *from, float *to)
{
    tr_workspace *ws = fwd->ws;
    const tr_config *c = &ws->network->config;
    tr_thread_buffers *own = &ws->buffers[fwd->thread];
    const bool early = ws->network->int8 && !c->marian_int8; /* rows are quantised where they are made */
    ws->network->kernels->layernorm(&(tr_layernorm){.rows = fwd->rows,
                                                    .width = c->d_model,
                                                    .epsilon = c->layer_norm_epsilon,
                                                    .gamma = norm->gamma,
                                                    .beta = norm->beta,
                                                    .x = from,
                                                    .x_stride = ws->stride,
                                                    .y = to,
                                                    .y_stride = ws->stride,
                                                    .q = early ? &own->x_i8 : NULL});
    fwd->x = to;
    fwd->alpha = early ? 0 : NAN;
}

tr_forward tr_forward_begin(tr_workspace *ws, int thread, int rows)
{
    return (tr_forward){ws, thread, rows, ws->stream, ws->stream, NAN, NULL, 0, 0};
}

void tr_sublayer_set_input(tr_forward *fwd, const float *x)
{
    fwd->x = x;
    fwd->alpha = NAN;
}

void tr_sublayer_begin_with(tr_forward *fwd, const tr_norms *norms, const float *x)
{
    const tr_thread_buffers *own = &fwd->ws->buffers[fwd->thread];
    if (norms->before.gamma)
        normalise(fwd, &norms->before, x, fwd->residual == own->x ? own->x_norm2 : own->x);
    else
        tr_sublayer_set_input(fwd, x);
}

void tr_sublayer_begin(tr_forward *fwd, const tr_norms *norms)
{
    if (norms->before.gamma) /* else the sublayer before has left it so */
        tr_sublayer_begin_with(fwd, norms, fwd->residual);
}

void tr_sublayer_linear(tr_forward *fwd, const tr_linear *linear, tr_range columns, tr_activation activation, bool gated,
                        float *y, size_t y_stride)
{
    tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    tr_forward_quantise(fwd, &linear->weight);
    ws->network->kernels->matmul(&(tr_matmul){.weight = &linear->weight,
                                              .bias = linear->bias,
                                              .rows = fwd->rows,
                                              .x = fwd->x,
                                              .x_stride = ws->stride,
                                              .q = &own->x_i8,
                                              .activation = activation,
                                              .gate = gated ? y : NULL,
                                              .y = y,
                                              .y_stride = y_stride},
                                 columns.begin, columns.end, own->scratch);
}

/* The product of x, what all threads have written, for these columns; *product says where it goes. */
static void multiply_onward(const tr_forward *fwd, const tr_linear *linear, const float *x, size_t x_stride,
                            tr_range columns, tr_matmul *product)
{
    const tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    quantise(fwd, x, x_stride, linear->weight.inputs, linear->weight.act_scale, &own->input_i8);
    product->weight = &linear->weight;
    product->bias = linear->bias;
    product->rows = fwd->rows;
    product->x = x;
    product->x_stride = x_stride;
    product->q = &own->input_i8;
    ws->network->kernels->matmul(product, columns.begin, columns.end, own->scratch);
}

void tr_sublayer_linear_shared(tr_forward *fwd, const tr_linear *linear, const float *x, size_t x_stride, tr_range columns,
                               tr_activation activation, float *y, size_t y_stride)
{
    tr_matmul product = {.activation = activation, .y = y, .y_stride = y_stride};
    multiply_onward(fwd, linear, x, x_stride, columns, &product);
}

static void add_rows(tr_forward *fwd, const float *x, size_t x_stride, tr_range columns)
{
    tr_workspace *ws = fwd->ws;
    for (int r = 0; r < fwd->rows; r++) {
        const size_t at = (size_t)r * ws->stride + (size_t)columns.begin;
        ws->network->kernels->add(ws->stream + at, x + (size_t)r * x_stride + columns.begin, fwd->residual + at,
                                  columns.end - columns.begin);
    }
}

void tr_sublayer_add(tr_forward *fwd, const tr_linear *linear, const float *x, size_t x_stride)
{
    tr_workspace *ws = fwd->ws;
    const tr_range columns = tr_share(ws->network->config.d_model, TR_PANEL, fwd->thread, ws->threads);
    tr_matmul product = {.residual = fwd->residual, .residual_stride = ws->stride, .y = ws->stream, .y_stride = ws->stride};
    if (linear->weight.data)
        multiply_onward(fwd, linear, x, x_stride, columns, &product);
    else
        add_rows(fwd, x, x_stride, columns);
    tr_workspace_barrier(ws);
}

void tr_sublayer_end(tr_forward *fwd, const tr_norms *norms)
{
    tr_workspace *ws = fwd->ws;
    if (norms->after.gamma)
        normalise(fwd, &norms->after, ws->stream, ws->buffers[fwd->thread].x);
    fwd->residual = norms->after.gamma ? fwd->x : ws->stream;
}

void tr_forward_end(tr_forward *fwd, const tr_norm *final)
{
    tr_workspace *ws = fwd->ws;
    if (final->gamma)
        normalise(fwd, final, fwd->residual, ws->buffers[fwd->thread].x);
    else if (fwd->residual == ws->stream)
        tr_sublayer_set_input(fwd, ws->stream);
}
