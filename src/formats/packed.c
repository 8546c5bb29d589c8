#include "formats/packed.h"

#include <string.h>

#include "util/utf8.h"

/* Whether a name has the suffix, and something before it. */
static bool has_suffix(const char *name, const char *suffix)
{
    return tr_ends_with(name, suffix) && strcmp(name, suffix) != 0;
}

static void without(char out[TR_TENSOR_NAME], const char *name, const char *suffix)
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
        without(name, tensor->name, TR_PACKED_PANELS);
        return TR_PACKED_MATRIX;
    }
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (has_suffix(tensor->name, beside[i])) {
            without(name, tensor->name, beside[i]);
            return tr_weights_part(weights, name, TR_PACKED_PANELS) ? TR_PACKED_BESIDE : TR_PACKED_NONE;
        }
    return TR_PACKED_NONE;
}

/* Panels tell the inputs in fours only, so the settings tell them where they fit. */
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

tr_status tr_packed_matrix(const tr_package *package, const tr_tensor *panels, tr_matrix *matrix, tr_error *error)
{
    char name[TR_TENSOR_NAME];
    const tr_tensor *scale, *colsum;
    const tr_weights *weights = &package->weights;
    without(name, panels->name, TR_PACKED_PANELS);
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
                          .inputs = (int)inputs_of(&package->config, name, groups),
                          .data = panels->data,
                          .scale = scale->data,
                          .colsum = colsum->data};
    return TR_OK;
}

tr_status tr_packed_check(const tr_package *package, tr_error *error)
{
    tr_status status = TR_OK;
    char name[TR_TENSOR_NAME];
    for (size_t i = 0; status == TR_OK && i < package->weights.count; i++) {
        const tr_tensor *t = package->weights.tensors[i];
        tr_matrix matrix;
        if (tr_packed_part_of(&package->weights, t, name) != TR_PACKED_MATRIX)
            continue;
        status = tr_packed_matrix(package, t, &matrix, error);
        if (status == TR_OK && tr_weights_find(&package->weights, name))
            status = tr_fail(error, TR_ERROR_FORMAT, "tensor %s: is there twice, also as %s", name, t->name);
    }
    return status;
}

bool tr_is_matrix(const tr_tensor *tensor)
{
    return tensor->rank == 2 && tr_type_is_real(tensor->type) && has_suffix(tensor->name, ".weight") &&
           !strstr(tensor->name, "position_embd") && !strstr(tensor->name, "attn_rel_b") && !strstr(tensor->name, "norm.");
}

tr_type tr_stored_type(const tr_package *package)
{
    bool found[TR_TYPE_BLOCKS + 1] = {false};
    char name[TR_TENSOR_NAME];
    for (size_t i = 0; i < package->weights.count; i++) {
        const tr_tensor *t = package->weights.tensors[i];
        if (tr_packed_part_of(&package->weights, t, name) == TR_PACKED_MATRIX)
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
