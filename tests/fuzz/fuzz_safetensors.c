/* libFuzzer target: the weights of a Hugging Face Marian directory, from memory; the first byte chooses what is tied. Seeds:
 * one byte and a small model.safetensors. */
#include <stdlib.h>
#include <string.h>

#include "import/hf/hf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const tr_hf_ties ties = {data[0] & 1, data[0] & 2};
    unsigned char *copy =
        malloc(size); /* without the first byte; the size of the header decides whether data is at odd addresses */
    tr_weights weights = {0};
    tr_error error = {0};
    if (!copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    const tr_weight_file file = {"fuzz", {copy, size - 1}, false};
    if (tr_hf_weights(&file, 1, tr_hf_rename_marian, ties, &weights, &error) == TR_OK)
        for (size_t i = 0; i < weights.count; i++) {
            const tr_tensor *tensor = weights.tensors[i];
            const size_t elements = (size_t)tr_tensor_elements(tensor);
            float value;
            if ((uintptr_t)tensor->data % tr_type_size(tensor->type) && elements)
                abort();
            if (elements)
                tr_tensor_to_f32(tensor, elements - 1, 1, &value);
        }
    else if (!*error.message || strchr(error.message, '\n'))
        abort();
    tr_weights_free(&weights);
    free(copy);
    return 0;
}
