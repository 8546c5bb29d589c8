#include "formats/integers.h"

#include <stdlib.h>
#include <string.h>

#include "model/pack.h"

/* What panels and sums are made from. */
typedef struct origin_integers {
    tr_origin origin;
    size_t outputs, inputs;
} origin_integers;

static const int8_t *row_of(const origin_integers *s, size_t o)
{
    return (const int8_t *)s->origin.data + o * s->inputs;
}

static void make_panels(const tr_tensor *t, size_t first, size_t count, void *out)
{
    const origin_integers *s = (const origin_integers *)t->origin;
    const size_t panel = tr_panel_bytes((int)s->inputs);
    for (size_t at = 0; at < count; at += panel) {
        const size_t o = (first + at) / panel * TR_PANEL, left = s->outputs - o;
        tr_pack_integers(row_of(s, o), left < TR_PANEL ? (int)left : TR_PANEL, (int)s->inputs, (char *)out + at);
    }
}

static void make_sums(const tr_tensor *t, size_t first, size_t count, void *out)
{
    const origin_integers *s = (const origin_integers *)t->origin;
    int32_t *sums = out;
    for (size_t o = first; o < first + count; o++) {
        const int8_t *row = row_of(s, o);
        int32_t sum = 0;
        for (size_t i = 0; i < s->inputs; i++)
            sum += row[i];
        *sums++ = sum;
    }
}

static tr_status add_part(tr_weights *weights, const char *name, const char *suffix, tr_tensor *t, tr_error *error)
{
    if (!tr_packed_name(t->name, name, suffix))
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %.60s: its name is too long", name);
    return tr_weights_add(weights, t, error);
}

/* A part that is made from all integers when it is read. */
static tr_status add_made(tr_weights *weights, const tr_integers *q, const char *name, const char *suffix, tr_tensor t,
                          void (*make)(const tr_tensor *, size_t, size_t, void *), tr_error *error)
{
    origin_integers *from = malloc(sizeof *from);
    if (!from)
        return tr_fail(error, TR_ERROR_MEMORY, "tensor %.60s: out of memory", name);
    const size_t outputs = (size_t)q->outputs, inputs = (size_t)q->inputs;
    *from = (origin_integers){{make, q->rows, outputs * inputs, true}, outputs, inputs};
    const tr_status status = tr_weights_keep(weights, from, error);
    t.origin = &from->origin;
    return status == TR_OK ? add_part(weights, name, suffix, &t, error) : status;
}

tr_status tr_integers_add(tr_weights *weights, const char *name, const tr_integers *q, tr_error *error)
{
    if (q->outputs < 1 || q->inputs < 1 || q->inputs > TR_I8_INPUTS || q->outputs > INT32_MAX - TR_PANEL)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "tensor %.60s: is [%lld, %lld], not to be had in int8", name,
                       (long long)q->outputs, (long long)q->inputs);
    const int outputs = (int)q->outputs, inputs = (int)q->inputs;
    const tr_tensor panels = {.type = TR_TYPE_I8,
                              .rank = 3,
                              .shape = {tr_pad16(outputs) / TR_PANEL, (inputs + 3) / 4, TR_LINE},
                              .bytes = tr_i8_bytes(outputs, inputs)},
                    sums = {.type = TR_TYPE_I32, .rank = 1, .shape = {outputs}, .bytes = (size_t)outputs * sizeof(int32_t)};
    tr_tensor alpha = {.type = TR_TYPE_F32, .rank = 1, .shape = {1}, .data = q->alpha, .bytes = sizeof *q->alpha},
              factors = {.type = TR_TYPE_F32,
                         .rank = 1,
                         .shape = {outputs},
                         .data = q->factors,
                         .bytes = (size_t)outputs * sizeof *q->factors};
    tr_status status = add_made(weights, q, name, TR_PACKED_PANELS, panels, make_panels, error);
    if (status == TR_OK)
        status = add_part(weights, name, TR_PACKED_SCALE, &factors, error);
    if (status == TR_OK)
        status = add_made(weights, q, name, TR_PACKED_COLSUM, sums, make_sums, error);
    return status == TR_OK && q->alpha ? add_part(weights, name, TR_PACKED_ALPHA, &alpha, error) : status;
}

tr_status tr_integers_keep_rows(tr_weights *weights, const char *name, const tr_integers *q, tr_error *error)
{
    tr_tensor rows = {.type = TR_TYPE_I8,
                      .rank = 2,
                      .shape = {q->outputs, q->inputs},
                      .data = q->rows,
                      .bytes = (size_t)q->outputs * (size_t)q->inputs};
    return add_part(weights, name, TR_PACKED_ROWS, &rows, error);
}
