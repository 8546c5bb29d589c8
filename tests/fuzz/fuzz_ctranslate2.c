/* libFuzzer target: CTranslate2's model.bin from memory, up to tensors. Any other input is read as a vocabulary, one token a
 * line, and as JSON. Seeds: small model.bin files of each version, and vocabularies. */
#include <stdlib.h>
#include <string.h>

#include "import/ctranslate2/ctranslate2.h"
#include "formats/int8.h"
#include "import/recognise.h"
#include "import/vocabularies.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 256 };

volatile unsigned sink; /* so that the compiler keeps the reads */

static void check_message(const tr_error *error)
{
    if (!*error->message || strchr(error->message, '\n'))
        abort();
}

/* Data of an accepted variable must be in memory, and integers aligned. */
static void touch(const tr_weights *weights)
{
    unsigned sum = 0;
    for (size_t i = 0; i < weights->count; i++) {
        const tr_tensor *t = weights->tensors[i];
        if (t->origin) {
            unsigned char *made = malloc(t->bytes);
            if (!made || t->bytes == 0)
                abort();
            if (t->type <= TR_TYPE_BF16)
                tr_tensor_to_f32(t, (size_t)tr_tensor_elements(t) - 1, 1, (float *)(void *)made);
            else
                t->origin->make(t, 0, (size_t)tr_tensor_elements(t), made);
            sum += made[0];
            free(made);
            continue;
        }
        if (t->bytes == 0 || (t->type > TR_TYPE_BF16 && (uintptr_t)t->data % tr_type_size(t->type)))
            abort();
        sum += ((const unsigned char *)t->data)[0] + ((const unsigned char *)t->data)[t->bytes - 1];
    }
    sink = sum;
}

static tr_status read_network(tr_ct2_model *model, tr_package *package, tr_error *error)
{
    tr_ct2_settings settings;
    tr_config *config = &package->config;
    tr_status status = tr_ct2_settings_read(model, NULL, &settings, error);
    if (status == TR_OK)
        status = tr_ct2_config(model, &settings, config, error);
    config->start_id = config->eos_id = 0;
    if (status == TR_OK)
        status = tr_config_check(config, error);
    if (status == TR_OK)
        status = tr_ct2_weights(model, config, &package->weights, error);
    return status == TR_OK ? tr_package_check(package, error) : status;
}

static void read_vocabulary(const void *data, size_t size, const char *name)
{
    tr_vocabulary vocabulary = {0};
    tr_error error = {0};
    if (tr_vocabulary_of_list((tr_bytes){data, size}, name, ROWS, &vocabulary, &error) != TR_OK)
        check_message(&error);
    else if (vocabulary.size != ROWS)
        abort();
    tr_vocabulary_free(&vocabulary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    tr_package package = {0};
    tr_ct2_model model;
    tr_error error = {0};
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (!tr_is_ct2_file(copy, size)) {
        read_vocabulary(copy, size, "fuzz.txt");
        read_vocabulary(copy, size, "fuzz.json");
    }
    if (tr_ct2_read((tr_bytes){copy, size}, &model, &error) == TR_OK) {
        if (read_network(&model, &package, &error) == TR_OK)
            touch(&package.weights);
        else
            check_message(&error);
        tr_ct2_free(&model);
    } else {
        check_message(&error);
    }
    tr_package_close(&package);
    free(copy);
    return 0;
}
