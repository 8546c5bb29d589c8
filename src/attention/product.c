#include "attention/multi_head.h"

enum { ROWS = 96, OUTPUTS = 256 }; /* of a unit */

void tr_products_lay_out(tr_product_rooms *rooms, int most_inputs, int threads, tr_room *room)
{
    rooms->scratch = tr_rooms_take(room, threads, tr_matmul_scratch(most_inputs), sizeof(float));
    rooms->widened = tr_rooms_take(room, threads, ROWS * (uint64_t)most_inputs, sizeof(float));
    rooms->bias = tr_rooms_take(room, threads, OUTPUTS, sizeof(float));
}

static int64_t output_parts(const tr_product *product)
{
    return (product->weight.outputs - 1) / OUTPUTS + 1;
}

int64_t tr_product_units(const tr_product *product)
{
    return ((product->rows - 1) / ROWS + 1) * output_parts(product);
}

/* Biases of outputs [first, last) in such a place that the kernel finds them under their own numbers. */
static const float *widen_bias(const tr_kernels *kernels, const tr_product *p, float *memory, int first, int last)
{
    const tr_rows one = {p->bias_element, p->bias, {0}};
    const char *from = p->bias;
    if (!p->bias || p->bias_element == TR_ELEMENT_F32)
        return p->bias;
    tr_widen(kernels, &one, from + (size_t)first * tr_element_size(p->bias_element), 1, last - first, memory, 0);
    return memory;
}

void tr_product_run(const tr_kernels *kernels, const tr_product *p, const tr_product_rooms *rooms, int thread, int64_t unit)
{
    const int64_t parts = output_parts(p), row = unit / parts * ROWS;
    const int rows = p->rows - row < ROWS ? (int)(p->rows - row) : ROWS;
    const int first = (int)(unit % parts) * OUTPUTS, left = p->weight.outputs - first,
              outputs = left < OUTPUTS ? left : OUTPUTS;
    const size_t inputs = (size_t)p->weight.inputs, all = (size_t)p->weight.outputs;
    const void *x = (const char *)p->x.data + (size_t)row * inputs * tr_element_size(p->x.element);
    if (p->x.element != TR_ELEMENT_F32) {
        float *widened = tr_rooms_at(&rooms->widened, thread);
        tr_widen(kernels, &p->x, x, rows, p->weight.inputs, widened, inputs);
        x = widened;
    }
    tr_matrix weight = p->weight; /* these outputs alone, so that they are numbered from 0 */
    weight.data = (const char *)weight.data + (size_t)first * inputs * tr_type_size(weight.type);
    weight.outputs = outputs;
    const float *bias = widen_bias(kernels, p, tr_rooms_at(&rooms->bias, thread), first, first + outputs);
    kernels->matmul(&(tr_matmul){.weight = &weight,
                                 .bias = bias && p->bias_element == TR_ELEMENT_F32 ? bias + first : bias,
                                 .rows = rows,
                                 .x = x,
                                 .x_stride = inputs,
                                 .activation = TR_ACTIVATION_NONE,
                                 .y = p->y + (size_t)row * all + first,
                                 .y_stride = all},
                    0, outputs, tr_rooms_at(&rooms->scratch, thread));
}
