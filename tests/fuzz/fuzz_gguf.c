/* libFuzzer target: the GGUF reader, from memory. Seeds: any small model files, one of them in int8, and those of
 * tests/llama/fixtures. */
#include <stdlib.h>
#include <string.h>

#include "formats/gguf/read.h"
#include "formats/int8.h"
#include "model/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

volatile unsigned sink; /* so that the compiler keeps the reads of touch() */

/* All parts of an int8 matrix of an accepted package must be in memory. */
static unsigned touch_packed(const tr_package *package, const tr_tensor *panels)
{
    tr_matrix matrix;
    if (tr_packed_matrix(&package->weights, &package->config, panels, &matrix, NULL) != TR_OK)
        abort();
    float *output = malloc((size_t)matrix.inputs * sizeof *output);
    if (!output)
        return 0;
    tr_unpack_output(&matrix, 0, output);
    tr_unpack_output(&matrix, matrix.outputs - 1, output);
    const unsigned sum = (output[matrix.inputs - 1] > 0) + (unsigned)matrix.colsum[matrix.outputs - 1];
    free(output);
    return sum;
}

/* Finds values that the reader left unset, and pointers outside the file. */
static void touch(const tr_package *package)
{
    unsigned sum = 0;
    char name[TR_TENSOR_NAME];
    for (size_t i = 0; i < package->weights.count; i++) {
        const tr_tensor *tensor = package->weights.tensors[i];
        if (tr_packed_part_of(&package->weights, tensor, name) == TR_PACKED_MATRIX)
            sum += touch_packed(package, tensor);
        sum += ((const unsigned char *)tensor->data)[0] + ((const unsigned char *)tensor->data)[tensor->bytes - 1];
        if (tensor->type == TR_TYPE_BLOCKS) {
            float last;
            tr_tensor_to_f32(tensor, (size_t)tr_tensor_elements(tensor) - 1, 1, &last);
            sum += last > 0;
        }
    }
    for (size_t i = 0; i < package->target->size; i++)
        if (package->target->pieces[i].data)
            sum += (unsigned char)package->target->pieces[i].data[package->target->pieces[i].size - 1];
    if (package->source_spm.data)
        sum += ((const unsigned char *)package->source_spm.data)[package->source_spm.size - 1];
    sink = sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1); /* as aligned as malloc: tensors need 8 bytes */
    tr_package package = {0};
    tr_error error = {0};
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (tr_gguf_read(copy, size, &package, &error) == TR_OK)
        touch(&package);
    else if (!*error.message || strchr(error.message, '\n'))
        abort();
    tr_package_close(&package);
    free(copy);
    return 0;
}
