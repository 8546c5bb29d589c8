#include "model/output.h"

#include <math.h>
#include <string.h>

#include "model/pack.h"
#include "util/numbers.h"

/* ---------------------------------------------------------------------------------------------------------- binding */

/* The tables between outputs and tokens: see tr_network. */
static void bind_token_tables(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    int32_t *tokens = tr_bind_memory(b, (size_t)c->allowed_count * sizeof *tokens);
    int32_t *outputs = tr_bind_memory(b, (size_t)c->target_vocabulary * sizeof *outputs);
    if (!tokens || !outputs)
        return;
    memcpy(tokens, c->allowed, (size_t)c->allowed_count * sizeof *tokens);
    memset(outputs, -1, (size_t)c->target_vocabulary * sizeof *outputs);
    for (int o = 0; o < c->allowed_count; o++)
        outputs[tokens[o]] = o;
    n->output_tokens = tokens;
    n->token_outputs = outputs;
}

/* Replaces the weights of network->output by those of the outputs of config.allowed. */
static void select_allowed_outputs(tr_binder *b)
{
    tr_matrix *m = &b->network->output.weight;
    const tr_matrix all = *m;
    const int count = b->network->config.allowed_count;
    const bool int8 = all.type == TR_TYPE_I8;
    tr_gathered to = {.data = tr_bind_memory(b, tr_matrix_bytes(&all, count)),
                      .scale = int8 ? tr_bind_memory(b, (size_t)count * sizeof *to.scale) : NULL,
                      .colsum = int8 ? tr_bind_memory(b, (size_t)count * sizeof *to.colsum) : NULL};
    bind_token_tables(b);
    if (b->status != TR_OK)
        return;
    tr_gather_outputs(&all, b->network->output_tokens, 0, count, &to);
    m->outputs = count;
    m->data = to.data;
    m->scale = to.scale;
    m->colsum = to.colsum;
}

/* output_bias, and the bias of output, where forbidden tokens have -inf so that every search leaves them out at no cost. */
static void bind_bias(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    const int outputs = n->output.weight.outputs;
    float *unmasked = tr_bind_memory(b, (size_t)outputs * sizeof *unmasked);
    float *masked = unmasked ? tr_bind_memory(b, (size_t)outputs * sizeof *masked) : NULL;
    if (!masked)
        return;
    for (int o = 0; o < outputs; o++)
        masked[o] = unmasked[o] = n->all_tokens_output.bias[tr_network_token(n, o)];
    for (int i = 0; i < c->forbidden_count; i++) {
        const int32_t output = tr_network_output(n, c->forbidden[i]);
        if (output >= 0)
            masked[output] = -INFINITY;
    }
    n->output.bias = masked;
    n->output_bias = unmasked;
}

/* Floating matrices from this size on have a screen; smaller ones stay in the CPU's cache anyway. For int8 see
 * TR_SCREEN_I8_BYTES. */
enum { SCREEN_FLOAT_BYTES = 24 << 20 };

/* The int8 screen of a floating matrix. */
static void make_float_screen(tr_binder *b, tr_screen *s)
{
    const tr_matrix *m = s->exact;
    const size_t outputs = (size_t)m->outputs;
    int8_t *coarse = tr_bind_memory(b, outputs * (size_t)m->inputs);
    float *scale = tr_bind_memory(b, outputs * sizeof *scale), *radius = tr_bind_memory(b, outputs * sizeof *radius);
    if (b->status != TR_OK)
        return;
    b->network->kernels->screen_build(m, coarse, scale, radius, 0, m->outputs);
    *s = (tr_screen){.exact = m, .coarse = coarse, .scale = scale, .radius = radius};
}

/* The 4-bit screen of an int8 matrix. */
static void make_i8_screen(tr_binder *b, tr_screen *s)
{
    const tr_matrix *m = s->exact;
    const size_t panel_bytes = (size_t)tr_screen_lines(m->inputs) * TR_LINE;
    char *coarse = tr_bind_memory(b, tr_screen_bytes(m->outputs, m->inputs));
    for (int o = 0; coarse && o < m->outputs; o += TR_PANEL)
        b->network->kernels->screen_pack(m, o, coarse + (size_t)(o / TR_PANEL) * panel_bytes);
    s->coarse = coarse;
}

/* The 4-bit screen NAME.k8n16 of the file, of all tokens; selects the outputs of config.allowed. */
static void bind_stored_screen(tr_binder *b, const char *name, tr_screen *s)
{
    const tr_matrix *m = s->exact;
    const int64_t panels = tr_pad16(b->network->config.target_vocabulary) / TR_PANEL, lines = tr_screen_lines(m->inputs);
    const tr_tensor *t = tr_bind_part(b, name, TR_SCREEN_PANELS, TR_TYPE_I8);
    if (t && (t->rank != 3 || t->shape[0] != panels || t->shape[1] != lines || t->shape[2] != TR_LINE))
        tr_bind_wrong_shape(b, t, panels * lines, TR_LINE);
    s->coarse = t ? t->data : NULL;
    if (b->status != TR_OK || !b->network->output_tokens)
        return;
    char *coarse = tr_bind_memory(b, tr_screen_bytes(m->outputs, m->inputs));
    if (coarse)
        tr_gather_screen(s->coarse, m->inputs, b->network->output_tokens, m->outputs, coarse);
    s->coarse = coarse;
}

/* The integers of the matrix row by row, if the file has them and they are not a selection. */
static void bind_screen_rows(tr_binder *b, const char *name, tr_screen *s)
{
    const tr_matrix *m = s->exact;
    if (!tr_weights_part(b->weights, name, TR_PACKED_ROWS) || b->network->output_tokens)
        return;
    const tr_tensor *t = tr_bind_part(b, name, TR_PACKED_ROWS, TR_TYPE_I8);
    if (t && (t->rank != 2 || t->shape[0] != m->outputs || t->shape[1] != m->inputs))
        tr_bind_wrong_shape(b, t, m->outputs, m->inputs);
    s->rows = t ? t->data : NULL;
}

/* The screen of the output matrix NAME. That of a large floating matrix is made here. That of an int8 matrix is stored in
 * the file, or made if the matrix was quantised here or is Marian's; a packed file without one has none. */
static void bind_screen(tr_binder *b, const char *name)
{
    tr_network *n = b->network;
    const tr_matrix *m = &n->output.weight;
    const bool int8 = m->type == TR_TYPE_I8, stored = int8 && tr_weights_part(b->weights, name, TR_SCREEN_PANELS);
    const size_t bytes = (size_t)m->outputs * (size_t)m->inputs * tr_type_size(m->type);
    if (b->status != TR_OK || (!stored && bytes < (size_t)(int8 ? TR_SCREEN_I8_BYTES : SCREEN_FLOAT_BYTES)))
        return;
    if (int8 && !stored && !m->marian_u8_compat && tr_weights_part(b->weights, name, TR_PACKED_PANELS))
        return;
    tr_screen *s = tr_bind_memory(b, sizeof *s);
    if (!s)
        return;
    *s = (tr_screen){.exact = m};
    if (stored)
        bind_stored_screen(b, name, s);
    else if (int8)
        make_i8_screen(b, s);
    else
        make_float_screen(b, s);
    if (int8)
        bind_screen_rows(b, name, s);
    for (int o = 0; b->status == TR_OK && o < m->outputs; o++) {
        const float slack = fabsf(n->output.bias[o]) * 0x1p-22f;
        n->screen_slack = isfinite(slack) && slack > n->screen_slack ? slack : n->screen_slack;
    }
    n->screen = b->status == TR_OK ? s : NULL;
    n->screen_rows = tr_screen_rows(n->screen);
}

void tr_output_bind(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    const int vocabulary = c->target_vocabulary;
    const char *name = tr_weights_output(b->weights);
    const bool tied = strcmp(name, "output.weight") != 0;
    n->all_tokens_output.weight = tied ? n->target.embedding : tr_bind_matrix(b, name, vocabulary, c->d_model);
    n->all_tokens_output.bias = tr_bind_vector(b, "output.bias", vocabulary, false);
    if (!n->all_tokens_output.bias) {
        float *zeros = tr_bind_memory(b, (size_t)vocabulary * sizeof *zeros);
        if (!zeros)
            return;
        memset(zeros, 0, (size_t)vocabulary * sizeof *zeros);
        n->all_tokens_output.bias = zeros;
    }
    n->output = n->all_tokens_output;
    if (b->status == TR_OK && c->allowed)
        select_allowed_outputs(b);
    if (b->status == TR_OK)
        bind_bias(b);
    bind_screen(b, name);
}

/* ------------------------------------------------------------------------------------------------------ computation */

int32_t tr_network_token(const tr_network *network, int32_t output)
{
    return network->output_tokens ? network->output_tokens[output] : output;
}

int32_t tr_network_output(const tr_network *network, int32_t token)
{
    return network->token_outputs ? network->token_outputs[token] : token;
}

/* The quantised copy of x from a row on. */
static tr_quantised quantised_from(const tr_forward *fwd, int row)
{
    tr_quantised q = fwd->ws->buffers[fwd->thread].x_i8;
    if (fwd->ws->network->int8) {
        q.rows = (char *)q.rows + (size_t)row * q.stride;
        q.scale += row;
    }
    return q;
}

/* The thread's share of logits = W x + bias, x [rows, d_model] from first_row on: into y [rows, outputs], or its argmax
 * into best. */
static void project(tr_forward *fwd, int first_row, int rows, const float *bias, float *y, tr_best *best)
{
    const tr_workspace *ws = fwd->ws;
    const tr_matrix *weight = &ws->network->output.weight;
    const tr_range columns = tr_forward_columns(fwd, weight->outputs);
    tr_forward_quantise(fwd, weight);
    const tr_quantised q = quantised_from(fwd, first_row);
    ws->network->kernels->matmul(&(tr_matmul){.weight = weight,
                                              .bias = bias,
                                              .rows = rows,
                                              .x = fwd->x + (size_t)first_row * ws->stride,
                                              .x_stride = ws->stride,
                                              .q = &q,
                                              .y = y,
                                              .y_stride = (size_t)weight->outputs,
                                              .best = best},
                                 columns.begin, columns.end, ws->buffers[fwd->thread].scratch);
}

/* Whether these rows are screened, the same in all threads. A screen in the file is read only after some steps (see
 * TR_SCREEN_AFTER); one that was made here is in memory anyway. */
static bool is_screened(const tr_forward *fwd, int rows)
{
    const tr_workspace *ws = fwd->ws;
    const tr_network *n = ws->network;
    const bool early = n->output.weight.type == TR_TYPE_I8 && !n->output_tokens && ws->few_steps <= TR_SCREEN_AFTER;
    return rows <= n->screen_rows && !early;
}

/* The argmax by the screen. The greatest lower bound of all threads leaves far fewer outputs to compute than each thread's
 * own would. */
static void screened_argmax(tr_forward *fwd, int first_row, int rows, const float *bias, tr_best *best)
{
    tr_workspace *ws = fwd->ws;
    const tr_network *n = ws->network;
    tr_thread_buffers *own = &ws->buffers[fwd->thread];
    const int outputs = n->output.weight.outputs;
    const tr_range columns = tr_forward_columns(fwd, outputs);
    tr_forward_at(fwd, TR_AT_SCREEN, NULL, 0);
    tr_forward_quantise(fwd, &n->output.weight);
    const tr_quantised q = quantised_from(fwd, first_row);
    tr_screened op = {.screen = n->screen,
                      .bias = bias,
                      .slack = n->screen_slack,
                      .rows = rows,
                      .x = fwd->x + (size_t)first_row * ws->stride,
                      .x_stride = ws->stride,
                      .q = &q,
                      .upper_bounds = ws->upper_bounds,
                      .upper_bounds_stride = (size_t)tr_pad16(outputs),
                      .lower_bound = own->lower_bounds,
                      .best = best};
    float lower_bounds[TR_SCREEN_ROWS];
    n->kernels->screen_bounds(&op, columns.begin, columns.end, own->scratch);
    tr_workspace_barrier(ws);
    for (int r = 0; r < rows; r++) {
        lower_bounds[r] = -INFINITY;
        for (int t = 0; t < ws->threads; t++)
            lower_bounds[r] = fmaxf(lower_bounds[r], ws->buffers[t].lower_bounds[r]);
    }
    op.lower_bound = lower_bounds;
    n->kernels->screened_best(&op, columns.begin, columns.end, own->scratch);
}

void tr_output_argmax(tr_forward *fwd, int first_row, int rows, const float *bias)
{
    const tr_workspace *ws = fwd->ws;
    tr_best *best = ws->buffers[fwd->thread].best + first_row;
    tr_forward_at(fwd, TR_AT_OUTPUT, NULL, 0);
    for (int r = 0; r < rows; r++)
        best[r] = (tr_best){-INFINITY, -1, false};
    if (is_screened(fwd, rows))
        screened_argmax(fwd, first_row, rows, bias, best);
    else
        project(fwd, first_row, rows, bias, NULL, best);
    for (int r = 0; r < rows; r++)
        if (best[r].id >= 0)
            best[r].id = tr_network_token(ws->network, best[r].id);
}

void tr_output_logits(tr_forward *fwd, int first_row, int rows, const float *bias, float *logits)
{
    project(fwd, first_row, rows, bias, logits, NULL);
}

void tr_output_argmax_row(tr_forward *fwd, int row, const tr_linear *linear, tr_best *best)
{
    const tr_workspace *ws = fwd->ws;
    const tr_range columns = tr_forward_columns(fwd, linear->weight.outputs);
    tr_forward_quantise(fwd, &linear->weight);
    const tr_quantised q = quantised_from(fwd, row);
    ws->network->kernels->matmul(&(tr_matmul){.weight = &linear->weight,
                                              .bias = linear->bias,
                                              .rows = 1,
                                              .x = fwd->x + (size_t)row * ws->stride,
                                              .x_stride = ws->stride,
                                              .q = &q,
                                              .best = best},
                                 columns.begin, columns.end, ws->buffers[fwd->thread].scratch);
}

/* Outputs first .. last - 1 of a matrix as a matrix. */
static tr_matrix matrix_part(const tr_matrix *m, int first, int last)
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
    const tr_matrix weight = matrix_part(&linear->weight, first, last);
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
                                 0, last - first, ws->buffers[fwd->thread].scratch);
}

int tr_logits_segments(int outputs)
{
    return (outputs + TR_LOGITS_SEGMENT - 1) / TR_LOGITS_SEGMENT;
}

double tr_exp_sum_total(const tr_exp_sum *parts, int count, double *max)
{
    double sum = 0;
    *max = -INFINITY;
    for (int i = 0; i < count; i++)
        *max = parts[i].max > *max ? parts[i].max : *max;
    for (int i = 0; i < count; i++)
        sum += parts[i].sum > 0 ? parts[i].sum * tr_exp(parts[i].max - *max) : parts[i].sum; /* NaN stays */
    return sum;
}

double tr_log_sum_exp(const tr_exp_sum *parts, int count)
{
    double max;
    const double sum = tr_exp_sum_total(parts, count, &max);
    return max + tr_log(sum);
}
