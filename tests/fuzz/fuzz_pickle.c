/* libFuzzer target: a pickle from memory. Seeds: the data.pkl of small archives of torch.save. */
#include <stdlib.h>
#include <string.h>

#include "import/pytorch/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

volatile unsigned sink; /* so that the compiler keeps the reads of touch() */

static unsigned touch_text(const tr_pickle_value *value)
{
    return value->kind == TR_PICKLE_TEXT && value->size
               ? (unsigned char)value->as.text[0] + (unsigned char)value->as.text[value->size - 1]
               : 0;
}

/* All values that the pickle is said to have must be in memory. */
static void touch(const tr_pickle *pickle)
{
    size_t storages, tensors, steps = 0;
    const tr_pickle_storage *storage = tr_pickle_storages(pickle, &storages);
    const tr_pickle_tensor *tensor = tr_pickle_tensors(pickle, &tensors);
    unsigned sum = 0;
    for (size_t i = 0; i < storages; i++)
        sum += storage[i].type->size + (storage[i].key_size ? (unsigned char)storage[i].key[storage[i].key_size - 1] : 0);
    for (size_t i = 0; i < tensors; i++)
        if (tensor[i].storage >= storages)
            abort();
    for (const tr_pickle_pair *pair = NULL; (pair = tr_pickle_next(pickle, &pickle->root, pair));) {
        sum += touch_text(&pair->key) + touch_text(&pair->value);
        if (pair->value.kind == TR_PICKLE_MARK || ++steps > TR_PICKLE_PAIRS)
            abort();
    }
    if (tr_pickle_find(pickle, &pickle->root, "state_dict"))
        sum++;
    sink = sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    tr_pickle pickle;
    tr_error error = {0};
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (tr_pickle_read(copy, size, &pickle, &error) == TR_OK) {
        if (pickle.size > size)
            abort();
        touch(&pickle);
    } else if (!*error.message || strchr(error.message, '\n')) {
        abort();
    }
    tr_pickle_free(&pickle);
    free(copy);
    return 0;
}
