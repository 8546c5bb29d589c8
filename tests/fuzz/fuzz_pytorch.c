/* libFuzzer target: a file of torch.save, archive or old format, from memory; all its tensors are read. Seeds: the files of
 * tests/formats/torch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/pytorch/pytorch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void rename_all(const char *name, char out[TR_TENSOR_NAME])
{
    snprintf(out, TR_TENSOR_NAME, "%s", name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    tr_weights weights = {0};
    tr_error error = {0};
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    const tr_status status = tr_pytorch_read(copy, size, rename_all, &weights, &error);
    if (status != TR_OK && (!*error.message || strchr(error.message, '\n')))
        abort();
    for (size_t i = 0; i < weights.count; i++) {
        const tr_tensor *tensor = weights.tensors[i];
        const size_t elements = (size_t)tr_tensor_elements(tensor);
        float value;
        if (elements) {
            tr_tensor_to_f32(tensor, 0, 1, &value);
            tr_tensor_to_f32(tensor, elements - 1, 1, &value);
        }
    }
    tr_weights_free(&weights);
    free(copy);
    return 0;
}
