/* The output projection and what is asked of it: the best token, or all logits. */
#include "model/state.h"

#include <math.h>

#include "util/numbers.h"

/* A member's share of logits = W x + bias, x [rows, d_model] */
static void logits(tr_flow *flow, const float *bias, float *y, tr_best *best)
{
    tr_state *s = flow->state;
    const tr_linear *linear = &s->network->logits;
    const tr_range own = tr_share(linear->weight.outputs, TR_PANEL, flow->member, s->members);
    tr_flow_quantise(flow, &linear->weight);
    s->network->kernels->matmul(&(tr_matmul){.weight = &linear->weight,
                                             .bias = bias,
                                             .rows = flow->rows,
                                             .x = flow->x,
                                             .x_stride = s->stride,
                                             .q = &s->member[flow->member].x8,
                                             .y = y,
                                             .y_stride = (size_t)linear->weight.outputs,
                                             .best = best},
                                own.first, own.last, s->member[flow->member].scratch);
}

/* Whether the screen serves so few rows; all members find the same. See TR_SCREEN_AFTER for the file's; what was put
 * together of allowed tokens is in memory anyhow. */
static bool is_screened(const tr_flow *flow)
{
    const tr_state *s = flow->state;
    const bool early =
        s->network->logits.weight.type == TR_TYPE_I8 && !s->network->tokens && s->few_steps <= TR_SCREEN_AFTER;
    return flow->rows <= tr_screen_rows(s->network->screen) && !early;
}

/* All members' bounds together leave far fewer outputs to compute than each one's own would. */
static void screened_best(tr_flow *flow, const float *bias)
{
    tr_state *s = flow->state;
    const int outputs = s->network->logits.weight.outputs;
    const tr_range own = tr_share(outputs, TR_PANEL, flow->member, s->members);
    tr_screened op = {.screen = s->network->screen,
                      .bias = bias,
                      .slack = s->network->screen_slack,
                      .rows = flow->rows,
                      .x = flow->x,
                      .x_stride = s->stride,
                      .q = &s->member[flow->member].x8,
                      .upper = s->upper,
                      .upper_stride = (size_t)tr_pad16(outputs),
                      .least = s->member[flow->member].least,
                      .best = s->member[flow->member].best};
    float least[TR_SCREEN_ROWS];
    if (s->profile && flow->member == 0)
        s->profile->screened++;
    tr_flow_quantise(flow, &s->network->logits.weight);
    s->network->kernels->screen_bounds(&op, own.first, own.last, s->member[flow->member].scratch);
    tr_state_meet(s);
    for (int r = 0; r < flow->rows; r++) {
        least[r] = -INFINITY;
        for (int m = 0; m < s->members; m++)
            least[r] = fmaxf(least[r], s->member[m].least[r]);
    }
    op.least = least;
    s->network->kernels->screened_best(&op, own.first, own.last, s->member[flow->member].scratch);
}

void tr_logits_best(tr_flow *flow, const float *bias)
{
    tr_state *s = flow->state;
    tr_best *best = s->member[flow->member].best;
    tr_state_enter(s, flow->member, TR_PART_OUTPUT);
    for (int r = 0; r < flow->rows; r++)
        best[r] = (tr_best){-INFINITY, -1, false};
    if (is_screened(flow))
        screened_best(flow, bias);
    else
        logits(flow, bias, NULL, best);
    for (int r = 0; r < flow->rows; r++)
        if (best[r].id >= 0)
            best[r].id = tr_network_token(s->network, best[r].id);
}

void tr_logits_all(tr_flow *flow, const float *bias, float *y)
{
    logits(flow, bias, y, NULL);
}

void tr_logits_best_of(tr_flow *flow, int row, const tr_linear *linear, tr_best *best)
{
    const tr_state *s = flow->state;
    const tr_member *own = &s->member[flow->member];
    const tr_range columns = tr_share(linear->weight.outputs, TR_PANEL, flow->member, s->members);
    tr_flow_quantise(flow, &linear->weight);
    const tr_quantised q = {(char *)own->x8.rows + (size_t)row * own->x8.stride, own->x8.stride, own->x8.scale + row};
    s->network->kernels->matmul(&(tr_matmul){.weight = &linear->weight,
                                             .bias = linear->bias,
                                             .rows = 1,
                                             .x = flow->x + (size_t)row * s->stride,
                                             .x_stride = s->stride,
                                             .q = &q,
                                             .best = best},
                                columns.first, columns.last, own->scratch);
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

void tr_logits_part(tr_flow *flow, const tr_linear *linear, const float *bias, int row, int rows, int first, int last,
                    float *y, size_t stride)
{
    const tr_state *s = flow->state;
    const tr_member *own = &s->member[flow->member];
    const tr_matrix weight = cut(&linear->weight, first, last);
    tr_flow_quantise(flow, &linear->weight);
    const size_t at = (size_t)row;
    tr_quantised q = own->x8;
    if (s->network->int8) {
        q.rows = (char *)q.rows + at * q.stride;
        q.scale += row;
    }
    s->network->kernels->matmul(&(tr_matmul){.weight = &weight,
                                             .bias = bias + first,
                                             .rows = rows,
                                             .x = flow->x + at * s->stride,
                                             .x_stride = s->stride,
                                             .q = &q,
                                             .y = y,
                                             .y_stride = stride},
                                0, last - first, own->scratch);
}

double tr_sum_parts(const tr_exp_sum *parts, int count, double *most)
{
    double sum = 0;
    *most = -INFINITY;
    for (int i = 0; i < count; i++)
        *most = parts[i].max > *most ? parts[i].max : *most;
    for (int i = 0; i < count; i++)
        sum += parts[i].sum > 0 ? parts[i].sum * tr_exp(parts[i].max - *most) : parts[i].sum; /* NaN stays */
    return sum;
}

double tr_log_sum(const tr_exp_sum *parts, int count)
{
    double most;
    const double sum = tr_sum_parts(parts, count, &most);
    return most + tr_log(sum);
}
