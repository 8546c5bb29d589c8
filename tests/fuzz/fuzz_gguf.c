/* libFuzzer target: the GGUF reader, from memory. Seeds: any small model file. */
#include <stdlib.h>
#include <string.h>

#include "formats/gguf_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

volatile unsigned sink; /* keeps the reads of touch() */

/* A reader that left a value unset or pointing outside would be caught here. */
static void touch(const tr_package *package)
{
    unsigned sum = 0;
    for (size_t i = 0; i < package->weights.count; i++) {
        const tr_tensor *tensor = package->weights.tensors[i];
        sum += ((const unsigned char *)tensor->data)[0] + ((const unsigned char *)tensor->data)[tensor->bytes - 1];
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
