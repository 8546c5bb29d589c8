/* int8 matrices of browsermt's Marian (src/tensors/cpu/integer_common.h), as Firefox's models have them. They are packed
 * into panels without rounding a number again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/int8.h"
#include "import/marian/marian.h"

/* The multiplier stored after count integers; 0: it is invalid. */
static float multiplier_of(const tr_marian_item *item, size_t count)
{
    float multiplier;
    if (item->bytes - count < sizeof multiplier)
        return 0;
    memcpy(&multiplier, item->data + count, sizeof multiplier);
    return multiplier >= 0x1p-64f && multiplier <= 0x1p64f ? multiplier : 0;
}

/* Returns an array of count times the same number, owned by the table of weights. NULL: the error is set. */
static const float *repeat(tr_weights *weights, const char *name, int64_t count, float number, tr_error *error)
{
    float *numbers = malloc((size_t)count * sizeof *numbers);
    if (!numbers) {
        tr_fail(error, TR_ERROR_MEMORY, "tensor %.60s: out of memory", name);
        return NULL;
    }
    for (int64_t i = 0; i < count; i++)
        numbers[i] = number;
    return tr_weights_keep(weights, numbers, error) == TR_OK ? numbers : NULL;
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
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "item %.100s: is int8, which is not supported for this matrix",
                       item->name);
    if (inputs > TR_I8_INPUTS || outputs > TR_MAX_VOCABULARY)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "item %.100s: is too large for int8", item->name);
    const float multiplier = multiplier_of(item, (size_t)outputs * (size_t)inputs);
    if (multiplier == 0)
        return tr_fail(error, TR_ERROR_FORMAT, "item %.100s: has no multiplier above 0 after its integers", item->name);
    const tr_int8_rows integers = {.rows = (const int8_t *)item->data,
                                   .outputs = outputs,
                                   .inputs = inputs,
                                   .scales = repeat(weights, name, outputs, 1 / multiplier, error),
                                   .alpha = alpha != 0 ? repeat(weights, name, 1, alpha, error) : NULL};
    if (!integers.scales || (alpha != 0 && !integers.alpha))
        return TR_ERROR_MEMORY;
    const tr_status status = tr_int8_rows_add(weights, name, &integers, error);
    return status == TR_OK && embedding ? tr_int8_rows_keep(weights, name, &integers, error) : status;
}
