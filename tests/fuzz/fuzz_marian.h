/* Shared by the targets of Marian's two containers. */
#ifndef FUZZ_MARIAN_H
#define FUZZ_MARIAN_H

#include <stdlib.h>
#include <string.h>

#include "import/marian/marian.h"
#include "import/readers.h"
#include "import/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check_message(const tr_error *error)
{
    if (!*error->message || strchr(error->message, '\n'))
        abort();
}

/* A tensor's data must be in memory. */
static inline void touch(const tr_weights *weights)
{
    for (size_t i = 0; i < weights->count; i++) {
        const tr_tensor *t = weights->tensors[i];
        const size_t elements = (size_t)tr_tensor_elements(t);
        float value;
        if (elements == 0)
            abort();
        tr_tensor_to_f32(t, 0, 1, &value);
        tr_tensor_to_f32(t, elements - 1, 1, &value);
    }
}

static inline tr_status read_network(const tr_marian_items *items, const json_t *yml, tr_package *package, tr_error *error)
{
    static tr_marian_layout layout;
    tr_status status = tr_marian_config(yml, items, &package->config, &layout, error);
    package->config.eos_id = 0;
    if (status == TR_OK)
        status = tr_config_check(&package->config, error);
    if (status == TR_OK)
        status = tr_marian_weights(items, &package->config, &layout, &package->weights, error);
    return status == TR_OK ? tr_package_check(package, error) : status;
}

static inline tr_status read_settings(const tr_marian_items *items, tr_package *package, tr_error *error)
{
    json_t *yml;
    const tr_marian_item *item = tr_marian_find(items, TR_MARIAN_SETTINGS);
    if (!item)
        return tr_fail(error, TR_ERROR_FORMAT, "no settings");
    const unsigned char *end = memchr(item->data, 0, item->bytes);
    tr_status status = tr_yaml_parse(item->data, end ? (size_t)(end - item->data) : item->bytes, "settings", &yml, error);
    if (status == TR_OK)
        status = read_network(items, yml, package, error);
    json_decref(yml);
    return status;
}

static inline int fuzz_model(const uint8_t *data, size_t size,
                             tr_status (*container)(tr_bytes file, tr_marian_items *items, tr_error *error))
{
    unsigned char *copy = malloc(size ? size : 1);
    tr_package package = {0};
    tr_marian_items items = {0};
    tr_error error = {0};
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    bool is;
    tr_status status = tr_is_marian_file(copy, size, &is, &error);
    if (status == TR_OK)
        status = container((tr_bytes){copy, size}, &items, &error);
    if (status == TR_OK)
        status = read_settings(&items, &package, &error);
    if (status == TR_OK)
        touch(&package.weights);
    else
        check_message(&error);
    tr_package_close(&package);
    tr_marian_items_free(&items);
    free(copy);
    return 0;
}

#endif
