/* Screens of the output projection (see tr_screen), for decoding few sentences at a time. */
#include "model/bind.h"
#include "model/gather.h"
#include "model/pack.h"

#include <math.h>

/* Smaller matrices stay in the cache anyway. For those in int8 see TR_SCREEN_I8_BYTES. */
enum { FLOAT_BYTES = 24 << 20 };

static void make_from_float(tr_binder *b, tr_screen *s)
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

static void make_from_int8(tr_binder *b, tr_screen *s)
{
    const tr_matrix *m = s->exact;
    char *coarse = tr_bind_memory(b, tr_screen_bytes(m->outputs, m->inputs));
    for (int o = 0; coarse && o < m->outputs; o += TR_PANEL)
        b->network->kernels->screen_pack(m, o,
                                         coarse + (size_t)(o / TR_PANEL) * (size_t)tr_screen_lines(m->inputs) * TR_LINE);
    s->coarse = coarse;
}

static void bind_stored(tr_binder *b, const char *name, tr_screen *s)
{
    const tr_matrix *m = s->exact;
    const int all = b->network->config.target_vocabulary; /* of which exact may have a few alone */
    const int64_t panels = tr_pad16(all) / TR_PANEL, lines = tr_screen_lines(m->inputs);
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

/* The integers row by row, where the file has them so. */
static void bind_rows(tr_binder *b, const char *name, tr_screen *s)
{
    const tr_matrix *m = s->exact;
    if (!tr_weights_part(b->weights, name, TR_PACKED_ROWS) || b->network->output_tokens)
        return; /* of outputs that were put together there are none */
    const tr_tensor *t = tr_bind_part(b, name, TR_PACKED_ROWS, TR_TYPE_I8);
    if (t && (t->rank != 2 || t->shape[0] != m->outputs || t->shape[1] != m->inputs))
        tr_bind_wrong_shape(b, t, m->outputs, m->inputs);
    s->rows = t ? t->data : NULL;
}

void tr_bind_screen(tr_binder *b, const char *name)
{
    tr_network *n = b->network;
    const tr_matrix *m = &n->output.weight;
    const bool int8 = m->type == TR_TYPE_I8, stored = int8 && tr_weights_part(b->weights, name, TR_SCREEN_PANELS);
    const size_t bytes = (size_t)m->outputs * (size_t)m->inputs * tr_type_size(m->type);
    if (b->status != TR_OK || (!stored && bytes < (size_t)(int8 ? TR_SCREEN_I8_BYTES : FLOAT_BYTES)))
        return;
    if (int8 && !stored && !m->marian_u8_compat && tr_weights_part(b->weights, name, TR_PACKED_PANELS))
        return; /* a file that does without */
    tr_screen *s = tr_bind_memory(b, sizeof *s);
    if (!s)
        return;
    *s = (tr_screen){.exact = m};
    if (stored)
        bind_stored(b, name, s);
    else if (int8)
        make_from_int8(b, s);
    else
        make_from_float(b, s);
    if (int8)
        bind_rows(b, name, s);
    for (int o = 0; b->status == TR_OK && o < m->outputs; o++) {
        const float slack = fabsf(n->output.bias[o]) * 0x1p-22f;
        n->screen_slack = isfinite(slack) && slack > n->screen_slack ? slack : n->screen_slack;
    }
    n->screen = b->status == TR_OK ? s : NULL;
}
