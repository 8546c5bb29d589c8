#include "attention/call.h"

#include <string.h>

void tr_widen(const tr_kernels *kernels, const tr_rows *rows, const void *from, int count, int width, float *to,
              size_t to_stride)
{
    for (int i = 0; i < count; i++) {
        float *row = to + (size_t)i * to_stride;
        const size_t at = (size_t)i * rows->strides.row;
        if (rows->element == TR_ELEMENT_F32) {
            memcpy(row, (const float *)from + at, (size_t)width * sizeof *row);
            continue;
        }
        const tr_matrix one = {.type = TR_TYPE_BF16, .outputs = 1, .inputs = width, .data = (const uint16_t *)from + at};
        kernels->embed_row(row, &one, 0, 1, NULL);
    }
}
