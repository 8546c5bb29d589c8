#include "formats/int8.h"

#include <stdlib.h>
#include <string.h>

#include "model/pack.h"
#include "util/utf8.h"

/* ------------------------------------------------------------------------------------------------- reading */

/* True if a name ends with suffix and is longer. */
static bool has_suffix(const char *name, const char *suffix)
{
    return tr_ends_with(name, suffix) && strcmp(name, suffix) != 0;
}

static void copy_without(char out[TR_TENSOR_NAME], const char *name, const char *suffix)
{
    const size_t size = strlen(name) - strlen(suffix);
    memcpy(out, name, size);
    out[size] = 0;
}

tr_packed_part tr_packed_part_of(const tr_weights *weights, const tr_tensor *tensor, char name[TR_TENSOR_NAME])
{
    static const char *const beside[] = {TR_PACKED_SCALE, TR_PACKED_COLSUM, TR_PACKED_ALPHA, TR_PACKED_ROWS,
                                         TR_SCREEN_PANELS};
    if (has_suffix(tensor->name, TR_PACKED_PANELS)) {
        copy_without(name, tensor->name, TR_PACKED_PANELS);
        return TR_PACKED_MATRIX;
    }
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (has_suffix(tensor->name, beside[i])) {
            copy_without(name, tensor->name, beside[i]);
            return tr_weights_part(weights, name, TR_PACKED_PANELS) ? TR_PACKED_BESIDE : TR_PACKED_NONE;
        }
    return TR_PACKED_NONE;
}

/* Panels give the inputs in fours; the settings give the exact number if it fits. */
static int64_t inputs_of(const tr_config *c, const char *name, int64_t groups)
{
    const bool encoder = strncmp(name, "enc.", 4) == 0;
    const int heads = encoder ? c->encoder_heads : c->decoder_heads;
    int64_t inputs = c->d_model;
    if (strstr(name, ".ffn_down."))
        inputs = encoder ? c->encoder_ffn : c->decoder_ffn;
    else if (strstr(name, "attn_o."))
        inputs = tr_config_heads_width(c, heads);
    return (inputs + 3) / 4 == groups ? inputs : 4 * groups;
}

static tr_status find_vector(const tr_weights *weights, const char *name, const char *suffix, tr_type type,
                             const tr_tensor **vector, tr_error *error)
{
    const tr_tensor *t = *vector = tr_weights_part(weights, name, suffix);
    if (!t)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s%s: is missing beside %s%s", name, suffix, name, TR_PACKED_PANELS);
    if (t->type != type || t->rank != 1)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: must be a vector of type %s", t->name, tr_type_name(type));
    return TR_OK;
}

tr_status tr_packed_matrix(const tr_weights *weights, const tr_config *config, const tr_tensor *panels, tr_matrix *matrix,
                           tr_error *error)
{
    char name[TR_TENSOR_NAME];
    const tr_tensor *scale, *colsum;
    copy_without(name, panels->name, TR_PACKED_PANELS);
    tr_status status = find_vector(weights, name, TR_PACKED_SCALE, TR_TYPE_F32, &scale, error);
    if (status == TR_OK)
        status = find_vector(weights, name, TR_PACKED_COLSUM, TR_TYPE_I32, &colsum, error);
    if (status != TR_OK)
        return status;
    const int64_t outputs = scale->shape[0], groups = panels->rank == 3 ? panels->shape[1] : 0;
    if (panels->type != TR_TYPE_I8 || panels->rank != 3 || panels->shape[0] != outputs / TR_PANEL + !!(outputs % TR_PANEL) ||
        groups < 1 || groups > TR_I8_INPUTS / 4 || panels->shape[2] != TR_LINE)
        return tr_fail(error, TR_ERROR_FORMAT,
                       "tensor %s: must be [outputs / 16, inputs / 4, 64] of type i8, for %lld outputs", panels->name,
                       (long long)outputs);
    if (colsum->shape[0] != outputs || outputs < 1 || outputs > INT32_MAX - TR_PANEL)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: has %lld elements, but %s has %lld", colsum->name,
                       (long long)colsum->shape[0], scale->name, (long long)outputs);
    *matrix = (tr_matrix){.type = TR_TYPE_I8,
                          .outputs = (int)outputs,
                          .inputs = (int)inputs_of(config, name, groups),
                          .data = panels->data,
                          .scale = scale->data,
                          .colsum = colsum->data};
    return TR_OK;
}

tr_status tr_packed_check(const tr_weights *weights, const tr_config *config, tr_error *error)
{
    tr_status status = TR_OK;
    char name[TR_TENSOR_NAME];
    for (size_t i = 0; status == TR_OK && i < weights->count; i++) {
        const tr_tensor *t = weights->tensors[i];
        tr_matrix matrix;
        if (tr_packed_part_of(weights, t, name) != TR_PACKED_MATRIX)
            continue;
        status = tr_packed_matrix(weights, config, t, &matrix, error);
        if (status == TR_OK && tr_weights_find(weights, name))
            status = tr_fail(error, TR_ERROR_FORMAT, "tensor %s: is there twice, also as %s", name, t->name);
    }
    return status;
}

bool tr_is_matrix(const tr_tensor *tensor)
{
    return tensor->rank == 2 && tr_type_is_real(tensor->type) && has_suffix(tensor->name, ".weight") &&
           !strstr(tensor->name, "position_embd") && !strstr(tensor->name, "attn_rel_b") && !strstr(tensor->name, "norm.");
}

tr_type tr_lossless_type(const tr_weights *weights)
{
    bool found[TR_TYPE_BLOCKS + 1] = {false};
    char name[TR_TENSOR_NAME];
    for (size_t i = 0; i < weights->count; i++) {
        const tr_tensor *t = weights->tensors[i];
        if (tr_packed_part_of(weights, t, name) == TR_PACKED_MATRIX)
            found[TR_TYPE_I8] = true;
        else if (tr_is_matrix(t))
            found[t->type] = true;
    }
    if (found[TR_TYPE_BLOCKS])
        return TR_TYPE_I8;
    const int kinds = found[TR_TYPE_F32] + found[TR_TYPE_F16] + found[TR_TYPE_BF16] + found[TR_TYPE_I8];
    for (tr_type type = TR_TYPE_F16; kinds == 1 && type <= TR_TYPE_I8; type++)
        if (found[type])
            return type;
    return TR_TYPE_F32;
}

/* ----------------------------------------------------------------------------------------------- adding rows of integers */

/* The rows that panels and column sums are computed from. */
typedef struct rows_origin {
    tr_origin origin;
    size_t outputs, inputs;
} rows_origin;

static const int8_t *row_of(const rows_origin *s, size_t o)
{
    return (const int8_t *)s->origin.data + o * s->inputs;
}

static void make_panels(const tr_tensor *t, size_t first, size_t count, void *out)
{
    const rows_origin *s = (const rows_origin *)t->origin;
    const size_t panel = tr_panel_bytes((int)s->inputs);
    for (size_t at = 0; at < count; at += panel) {
        const size_t o = (first + at) / panel * TR_PANEL, left = s->outputs - o;
        tr_pack_integers(row_of(s, o), left < TR_PANEL ? (int)left : TR_PANEL, (int)s->inputs, (char *)out + at);
    }
}

static void make_sums(const tr_tensor *t, size_t first, size_t count, void *out)
{
    const rows_origin *s = (const rows_origin *)t->origin;
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
static tr_status add_made(tr_weights *weights, const tr_int8_rows *q, const char *name, const char *suffix, tr_tensor t,
                          void (*make)(const tr_tensor *, size_t, size_t, void *), tr_error *error)
{
    rows_origin *from = malloc(sizeof *from);
    if (!from)
        return tr_fail(error, TR_ERROR_MEMORY, "tensor %.60s: out of memory", name);
    const size_t outputs = (size_t)q->outputs, inputs = (size_t)q->inputs;
    *from = (rows_origin){{make, q->rows, outputs * inputs, true}, outputs, inputs};
    const tr_status status = tr_weights_keep(weights, from, error);
    t.origin = &from->origin;
    return status == TR_OK ? add_part(weights, name, suffix, &t, error) : status;
}

tr_status tr_int8_rows_add(tr_weights *weights, const char *name, const tr_int8_rows *q, tr_error *error)
{
    if (q->outputs < 1 || q->inputs < 1 || q->inputs > TR_I8_INPUTS || q->outputs > INT32_MAX - TR_PANEL)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "tensor %.60s: is [%lld, %lld], which int8 does not support", name,
                       (long long)q->outputs, (long long)q->inputs);
    const int outputs = (int)q->outputs, inputs = (int)q->inputs;
    const tr_tensor panels = {.type = TR_TYPE_I8,
                              .rank = 3,
                              .shape = {tr_pad16(outputs) / TR_PANEL, (inputs + 3) / 4, TR_LINE},
                              .bytes = tr_i8_bytes(outputs, inputs)},
                    sums = {.type = TR_TYPE_I32, .rank = 1, .shape = {outputs}, .bytes = (size_t)outputs * sizeof(int32_t)};
    tr_tensor alpha = {.type = TR_TYPE_F32, .rank = 1, .shape = {1}, .data = q->alpha, .bytes = sizeof *q->alpha},
              scales = {.type = TR_TYPE_F32,
                        .rank = 1,
                        .shape = {outputs},
                        .data = q->scales,
                        .bytes = (size_t)outputs * sizeof *q->scales};
    tr_status status = add_made(weights, q, name, TR_PACKED_PANELS, panels, make_panels, error);
    if (status == TR_OK)
        status = add_part(weights, name, TR_PACKED_SCALE, &scales, error);
    if (status == TR_OK)
        status = add_made(weights, q, name, TR_PACKED_COLSUM, sums, make_sums, error);
    return status == TR_OK && q->alpha ? add_part(weights, name, TR_PACKED_ALPHA, &alpha, error) : status;
}

tr_status tr_int8_rows_keep(tr_weights *weights, const char *name, const tr_int8_rows *q, tr_error *error)
{
    tr_tensor rows = {.type = TR_TYPE_I8,
                      .rank = 2,
                      .shape = {q->outputs, q->inputs},
                      .data = q->rows,
                      .bytes = (size_t)q->outputs * (size_t)q->inputs};
    return add_part(weights, name, TR_PACKED_ROWS, &rows, error);
}
