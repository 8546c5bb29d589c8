#include "model/forward.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------------------ quantisation */

/* Quantises rows [rows, width] for matrices with this act_scale into q. Marian takes the maximum of a whole activation
 * matrix where a matrix has no scale of its own, so that a sentence would depend on the others in its batch. Here it is the
 * maximum of the sentence: Marian's own result for a batch of one. */
static void quantise_rows(const tr_forward *fwd, const float *rows, size_t stride, int width, float act_scale,
                          const tr_quantised *q)
{
    const tr_network *n = fwd->ws->network;
    if (!n->config.marian_int8 || act_scale != 0 || !fwd->seqs) {
        n->kernels->quantise(&(tr_quantise){fwd->rows, width, rows, stride, q, act_scale, false});
        return;
    }
    for (int i = 0; i < fwd->seq_count; i++) {
        const tr_seq *s = &fwd->seqs[i];
        const size_t first = (size_t)s->first_row;
        const tr_quantised part = {(char *)q->rows + first * q->stride, q->stride, q->scale + first};
        n->kernels->quantise(&(tr_quantise){s->rows, width, rows + first * stride, stride, &part, 0, true});
    }
}

void tr_forward_quantise(tr_forward *fwd, const tr_matrix *matrix)
{
    const tr_workspace *ws = fwd->ws;
    const tr_quantisation wanted = matrix->act_scale != 0 ? TR_QUANTISED_FIXED_SCALE : TR_QUANTISED_BY_ROW;
    if (matrix->type != TR_TYPE_I8 || (fwd->quantisation == wanted && fwd->act_scale == matrix->act_scale))
        return;
    quantise_rows(fwd, fwd->x, ws->stride, matrix->inputs, matrix->act_scale, &ws->buffers[fwd->thread].x_i8);
    fwd->quantisation = wanted;
    fwd->act_scale = matrix->act_scale;
}

/* ------------------------------------------------------------------------------------------------ norms and residuals */

void tr_forward_set_x(tr_forward *fwd, const float *x)
{
    fwd->x = x;
    fwd->quantisation = TR_NOT_QUANTISED;
    fwd->act_scale = 0;
}

/* x = y = LN(rows), y in the thread's own memory; rows may be y. int8 copies are made along with it, but not for Marian's
 * int8, whose scales depend on the matrix. */
static void layernorm(tr_forward *fwd, const tr_norm *norm, const float *rows, float *y)
{
    tr_workspace *ws = fwd->ws;
    const tr_config *c = &ws->network->config;
    const bool quantised = ws->network->int8 && !c->marian_int8;
    ws->network->kernels->layernorm(&(tr_layernorm){.rows = fwd->rows,
                                                    .width = c->d_model,
                                                    .epsilon = c->layer_norm_epsilon,
                                                    .gamma = norm->gamma,
                                                    .beta = norm->beta,
                                                    .x = rows,
                                                    .x_stride = ws->stride,
                                                    .y = y,
                                                    .y_stride = ws->stride,
                                                    .q = quantised ? &ws->buffers[fwd->thread].x_i8 : NULL});
    fwd->x = y;
    fwd->quantisation = quantised ? TR_QUANTISED_BY_ROW : TR_NOT_QUANTISED;
    fwd->act_scale = 0;
}

void tr_forward_set_x_normalised(tr_forward *fwd, const tr_norm *norm, const float *rows)
{
    const tr_thread_buffers *own = &fwd->ws->buffers[fwd->thread];
    layernorm(fwd, norm, rows, fwd->residual == own->x ? own->x_norm2 : own->x);
}

void tr_sublayer_begin(tr_forward *fwd, const tr_norms *norms)
{
    if (norms->place & TR_NORM_BEFORE)
        tr_forward_set_x_normalised(fwd, &norms->before, fwd->residual);
    else if (fwd->x != fwd->residual)
        tr_forward_set_x(fwd, fwd->residual);
}

void tr_sublayer_end(tr_forward *fwd, const tr_norms *norms)
{
    tr_workspace *ws = fwd->ws;
    tr_workspace_barrier(ws);
    if (norms->place & TR_NORM_AFTER) {
        layernorm(fwd, &norms->after, ws->stream, ws->buffers[fwd->thread].x);
        fwd->residual = fwd->x;
    } else {
        fwd->residual = ws->stream;
    }
}

tr_forward tr_forward_begin(tr_workspace *ws, int thread, int rows)
{
    return (tr_forward){.ws = ws,
                        .thread = thread,
                        .rows = rows,
                        .x = ws->stream,
                        .residual = ws->stream,
                        .observed = thread == 0 && (ws->profile || ws->trace)};
}

void tr_forward_end(tr_forward *fwd, const tr_norm *final)
{
    tr_workspace *ws = fwd->ws;
    if (final)
        layernorm(fwd, final, fwd->residual, ws->buffers[fwd->thread].x);
    else if (fwd->residual == ws->stream)
        tr_forward_set_x(fwd, ws->stream);
}

void tr_forward_at(const tr_forward *fwd, tr_forward_point point, const tr_seq *seqs, int count)
{
    if (fwd->observed)
        tr_forward_observe(fwd, point, seqs, count);
}

/* ----------------------------------------------------------------------------------------------------------- products */

tr_range tr_forward_columns(const tr_forward *fwd, int outputs)
{
    return tr_share(outputs, TR_PANEL, fwd->thread, fwd->ws->threads);
}

float *tr_forward_recurrent(const tr_forward *fwd, const tr_seq *seq, tr_range columns)
{
    const size_t stride = (size_t)tr_pad16(fwd->ws->network->config.d_model);
    return seq->recurrent + (size_t)fwd->layer * stride + columns.begin;
}

tr_matmul tr_forward_add_to_stream(const tr_forward *fwd)
{
    const tr_workspace *ws = fwd->ws;
    return (tr_matmul){.residual = fwd->residual, .residual_stride = ws->stride, .y = ws->stream, .y_stride = ws->stride};
}

void tr_linear_forward(tr_forward *fwd, const tr_linear *linear, tr_range columns, tr_matmul target)
{
    const tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    tr_forward_quantise(fwd, &linear->weight);
    target.weight = &linear->weight;
    target.bias = linear->bias;
    target.rows = fwd->rows;
    target.x = fwd->x;
    target.x_stride = ws->stride;
    target.q = &own->x_i8;
    ws->network->kernels->matmul(&target, columns.begin, columns.end, own->scratch);
}

void tr_linear_forward_shared(tr_forward *fwd, const tr_linear *linear, const float *rows, size_t stride, tr_range columns,
                              tr_matmul target)
{
    const tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    if (linear->weight.type == TR_TYPE_I8)
        quantise_rows(fwd, rows, stride, linear->weight.inputs, linear->weight.act_scale, &own->input_i8);
    target.weight = &linear->weight;
    target.bias = linear->bias;
    target.rows = fwd->rows;
    target.x = rows;
    target.x_stride = stride;
    target.q = &own->input_i8;
    ws->network->kernels->matmul(&target, columns.begin, columns.end, own->scratch);
}

void tr_forward_copy(const tr_forward *fwd, const float *rows, size_t stride, tr_range columns, float *y, size_t y_stride)
{
    const size_t bytes = (size_t)(columns.end - columns.begin) * sizeof *y;
    for (int r = 0; bytes && r < fwd->rows; r++)
        memcpy(y + (size_t)r * y_stride + columns.begin, rows + (size_t)r * stride + columns.begin, bytes);
}

void tr_forward_add(const tr_forward *fwd, const float *a, const float *b, tr_range columns, float *y)
{
    const tr_workspace *ws = fwd->ws;
    for (int r = 0; r < fwd->rows; r++) {
        const size_t at = (size_t)r * ws->stride + (size_t)columns.begin;
        ws->network->kernels->add(y + at, a + at, b + at, columns.end - columns.begin);
    }
}
