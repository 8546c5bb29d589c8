/* int8 matrices of browsermt's Marian (src/tensors/cpu/integer_common.h), as Firefox's models have them: into panels, no
 * number of theirs rounded again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/marian/marian.h"
#include "model/pack.h"
#include "util/arena.h"

/* The multiplier behind so many integers; 0: it is none. */
static float multiplier_of(const tr_marian_item *item, size_t count)
{
    float multiplier;
    if (item->bytes - count < sizeof multiplier)
        return 0;
    memcpy(&multiplier, item->data + count, sizeof multiplier);
    return multiplier >= 0x1p-64f && multiplier <= 0x1p64f ? multiplier : 0;
}

static tr_status add_part(tr_weights *weights, const char *name, const char *suffix, tr_tensor part, tr_error *error)
{
    if (!tr_packed_name(part.name, name, suffix)) {
        free((void *)part.data);
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %.60s: its name is too long", name);
    }
    const tr_status status = tr_weights_add(weights, &part, error);
    if (status != TR_OK)
        free((void *)part.data);
    return status;
}

static tr_status add_vector(tr_weights *weights, const char *name, const char *suffix, tr_type type, void *data, int n,
                            tr_error *error)
{
    const tr_tensor t = {
        .type = type, .rank = 1, .shape = {n}, .data = data, .bytes = (size_t)n * tr_type_size(type), .owned = true};
    return add_part(weights, name, suffix, t, error);
}

/* Large matrices lie in huge pages: reading one in order is half as fast again. */
static void *panel_memory(size_t bytes)
{
    enum { HUGE_PAGE = 2 << 20, LINE = 64 };
    const size_t alignment = bytes < HUGE_PAGE ? LINE : HUGE_PAGE;
    void *memory = aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
    if (memory && bytes >= HUGE_PAGE)
        tr_huge_pages(memory, bytes);
    return memory;
}

/* Integers [outputs, inputs] as panels with what goes with them; one scale serves all outputs. */
static tr_status add_panels(const tr_marian_item *item, int outputs, int inputs, float scale, const char *name,
                            tr_weights *weights, tr_error *error)
{
    const int8_t *q = (const int8_t *)item->data;
    char *panels = panel_memory(tr_i8_bytes(outputs, inputs));
    float *scales = malloc((size_t)outputs * sizeof *scales);
    int32_t *sums = malloc((size_t)outputs * sizeof *sums);
    if (!panels || !scales || !sums) {
        free(panels), free(scales), free(sums);
        return tr_fail(error, TR_ERROR_MEMORY, "item %.100s: out of memory", item->name);
    }
    for (int o = 0; o < outputs; o += TR_PANEL)
        tr_pack_integers(q + (size_t)o * (size_t)inputs, outputs - o < TR_PANEL ? outputs - o : TR_PANEL, inputs,
                         panels + (size_t)(o / TR_PANEL) * tr_panel_bytes(inputs), sums + o);
    for (int o = 0; o < outputs; o++)
        scales[o] = scale;
    const tr_tensor data = {.type = TR_TYPE_I8,
                            .rank = 3,
                            .shape = {tr_pad16(outputs) / TR_PANEL, (inputs + 3) / 4, TR_LINE},
                            .data = panels,
                            .bytes = tr_i8_bytes(outputs, inputs),
                            .owned = true};
    /* each takes its memory, also on failure */
    const tr_status first = add_part(weights, name, TR_PACKED_PANELS, data, error),
                    second = add_vector(weights, name, TR_PACKED_SCALE, TR_TYPE_F32, scales, outputs, error),
                    third = add_vector(weights, name, TR_PACKED_COLSUM, TR_TYPE_I32, sums, outputs, error);
    return first != TR_OK ? first : second != TR_OK ? second : third;
}

static tr_status add_alpha(float alpha, const char *name, tr_weights *weights, tr_error *error)
{
    float *number = malloc(sizeof *number);
    if (!number)
        return tr_fail(error, TR_ERROR_MEMORY, "tensor %s: out of memory", name);
    *number = alpha;
    return add_vector(weights, name, TR_PACKED_ALPHA, TR_TYPE_F32, number, 1, error);
}

tr_status tr_marian_alpha(const tr_marian_item *item, float *alpha, tr_error *error)
{
    bool single = true;
    for (int i = 0; i < item->rank; i++)
        single = single && item->shape[i] == 1;
    *alpha = 0;
    if (single && item->type == TR_MARIAN_F32)
        memcpy(alpha, item->data, sizeof *alpha);
    else if (single && item->type == TR_MARIAN_INTGEMM8) /* its name says Wemb, so the converter took it for a matrix, too */
        *alpha = (float)(int8_t)item->data[0] / multiplier_of(item, 1);
    if (*alpha >= 0x1p-64f && *alpha <= 0x1p64f)
        return TR_OK;
    return tr_fail(error, TR_ERROR_FORMAT, "item %.100s: must be one number above 0", item->name);
}

tr_status tr_marian_int8(const tr_marian_item *item, bool embedding, float alpha, const char *name, tr_weights *weights,
                         tr_error *error)
{
    const int64_t outputs = item->shape[!embedding], inputs = item->shape[embedding];
    if (embedding != (strstr(item->name, "Wemb") != NULL))
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "item %.100s: is int8, which is not known of this matrix", item->name);
    if (inputs > TR_I8_INPUTS || outputs > TR_MAX_VOCABULARY)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "item %.100s: is too large for int8", item->name);
    const float multiplier = multiplier_of(item, (size_t)outputs * (size_t)inputs);
    if (multiplier == 0)
        return tr_fail(error, TR_ERROR_FORMAT, "item %.100s: has no multiplier above 0 behind its integers", item->name);
    const tr_status status = add_panels(item, (int)outputs, (int)inputs, 1 / multiplier, name, weights, error);
    return status == TR_OK && alpha != 0 ? add_alpha(alpha, name, weights, error) : status;
}
