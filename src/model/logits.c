/* The output projection and what is asked of it: the best token, or all logits. */
#include "model/state.h"

#include <math.h>

#include "util/numbers.h"

/* The quantised rows of a thread from row `first` on. */
static tr_quantised quantised_from(const tr_forward *fwd, int first)
{
    tr_quantised q = fwd->ws->buffers[fwd->thread].x_i8;
    if (fwd->ws->network->int8) {
        q.rows = (char *)q.rows + (size_t)first * q.stride;
        q.scale += first;
    }
    return q;
}

/* A thread's share of W x + bias for some rows, x [rows, d_model]: y [rows, outputs], or the best of each row. */
static void project(tr_forward *fwd, int first_row, int rows, const float *bias, float *y, tr_best *best)
{
    tr_workspace *ws = fwd->ws;
    const tr_linear *linear = &ws->network->output;
    const tr_range own = tr_share(linear->weight.outputs, TR_PANEL, fwd->thread, ws->threads);
    tr_forward_quantise(fwd, &linear->weight);
    const tr_quantised q = quantised_from(fwd, first_row);
    ws->network->kernels->matmul(&(tr_matmul){.weight = &linear->weight,
                                              .bias = bias,
                                              .rows = rows,
                                              .x = fwd->x + (size_t)first_row * ws->stride,
                                              .x_stride = ws->stride,
                                              .q = &q,
                                              .y = y,
                                              .y_stride = (size_t)linear->weight.outputs,
                                              .best = best},
                                 own.begin, own.end, ws->buffers[fwd->thread].scratch);
}

/* Whether the screen serves so few rows; all threads find the same. See TR_SCREEN_AFTER for the file's; what was put
 * together of allowed tokens is in memory anyhow. */
static bool is_screened(const tr_forward *fwd, int rows)
{
    const tr_workspace *ws = fwd->ws;
    const bool early =
        ws->network->output.weight.type == TR_TYPE_I8 && !ws->network->output_tokens && ws->few_steps <= TR_SCREEN_AFTER;
    return rows <= tr_screen_rows(ws->network->screen) && !early;
}

/* All threads' bounds together leave far fewer outputs to compute than each one's own would. */
static void screened_best(tr_forward *fwd, int first_row, int rows, const float *bias, tr_best *best)
{
    tr_workspace *ws = fwd->ws;
    const int outputs = ws->network->output.weight.outputs;
    const tr_range own = tr_share(outputs, TR_PANEL, fwd->thread, ws->threads);
    tr_forward_quantise(fwd, &ws->network->output.weight);
    const tr_quantised q = quantised_from(fwd, first_row);
    tr_screened op = {.screen = ws->network->screen,
                      .bias = bias,
                      .slack = ws->network->screen_slack,
                      .rows = rows,
                      .x = fwd->x + (size_t)first_row * ws->stride,
                      .x_stride = ws->stride,
                      .q = &q,
                      .upper_bounds = ws->upper_bounds,
                      .upper_bounds_stride = (size_t)tr_pad16(outputs),
                      .lower_bound = ws->buffers[fwd->thread].lower_bounds,
                      .best = best};
    float least[TR_SCREEN_ROWS];
    if (ws->profile && fwd->thread == 0)
        ws->profile->screened++;
    ws->network->kernels->screen_bounds(&op, own.begin, own.end, ws->buffers[fwd->thread].scratch);
    tr_workspace_barrier(ws);
    for (int r = 0; r < rows; r++) {
        least[r] = -INFINITY;
        for (int m = 0; m < ws->threads; m++)
            least[r] = fmaxf(least[r], ws->buffers[m].lower_bounds[r]);
    }
    op.lower_bound = least;
    ws->network->kernels->screened_best(&op, own.begin, own.end, ws->buffers[fwd->thread].scratch);
}

void tr_output_argmax(tr_forward *fwd, int first_row, int rows, const float *bias)
{
    tr_workspace *ws = fwd->ws;
    tr_best *best = ws->buffers[fwd->thread].best + first_row;
    tr_workspace_enter(ws, fwd->thread, TR_PROFILE_OUTPUT);
    for (int r = 0; r < rows; r++)
        best[r] = (tr_best){-INFINITY, -1, false};
    if (is_screened(fwd, rows))
        screened_best(fwd, first_row, rows, bias, best);
    else
        project(fwd, first_row, rows, bias, NULL, best);
    for (int r = 0; r < rows; r++)
        if (best[r].id >= 0)
            best[r].id = tr_network_token(ws->network, best[r].id);
}

void tr_output_logits(tr_forward *fwd, int first_row, int rows, const float *bias, float *y)
{
    project(fwd, first_row, rows, bias, y, NULL);
}

void tr_output_argmax_row(tr_forward *fwd, int row, const tr_linear *linear, tr_best *best)
{
    const tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    const tr_range columns = tr_share(linear->weight.outputs, TR_PANEL, fwd->thread, ws->threads);
    tr_forward_quantise(fwd, &linear->weight);
    const tr_quantised q = quantised_from(fwd, row);
    ws->network->kernels->matmul(&(tr_matmul){.weight = &linear->weight,
                                              .bias = linear->bias,
                                              .rows = 1,
                                              .x = fwd->x + (size_t)row * ws->stride,
                                              .x_stride = ws->stride,
                                              .q = &q,
                                              .best = best},
                                 columns.begin, columns.end, own->scratch);
}

/* Some outputs of a matrix as a matrix of their own. */
static tr_matrix cut(const tr_matrix *m, int first, int last)
{
    tr_matrix part = *m;
    const size_t before = m->type == TR_TYPE_I8 ? (size_t)(first / TR_PANEL) * tr_panel_bytes(m->inputs)
                                                : (size_t)first * (size_t)m->inputs * tr_type_size(m->type);
    part.data = (const char *)m->data + before;
    part.outputs = last - first;
    if (m->type == TR_TYPE_I8) {
        part.scale += first;
        part.colsum += first;
    }
    return part;
}

void tr_output_logits_tile(tr_forward *fwd, const tr_linear *linear, const float *bias, int row, int rows, int first,
                           int last, float *y, size_t stride)
{
    const tr_workspace *ws = fwd->ws;
    const tr_thread_buffers *own = &ws->buffers[fwd->thread];
    const tr_matrix weight = cut(&linear->weight, first, last);
    tr_forward_quantise(fwd, &linear->weight);
    const tr_quantised q = quantised_from(fwd, row);
    ws->network->kernels->matmul(&(tr_matmul){.weight = &weight,
                                              .bias = bias + first,
                                              .rows = rows,
                                              .x = fwd->x + (size_t)row * ws->stride,
                                              .x_stride = ws->stride,
                                              .q = &q,
                                              .y = y,
                                              .y_stride = stride},
                                 0, last - first, own->scratch);
}

double tr_exp_sum_total(const tr_exp_sum *parts, int count, double *most)
{
    double sum = 0;
    *most = -INFINITY;
    for (int i = 0; i < count; i++)
        *most = parts[i].max > *most ? parts[i].max : *most;
    for (int i = 0; i < count; i++)
        sum += parts[i].sum > 0 ? parts[i].sum * tr_exp(parts[i].max - *most) : parts[i].sum; /* NaN stays */
    return sum;
}

double tr_log_sum_exp(const tr_exp_sum *parts, int count)
{
    double most;
    const double sum = tr_exp_sum_total(parts, count, &most);
    return most + tr_log(sum);
}
