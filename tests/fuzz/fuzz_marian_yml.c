/* libFuzzer target: YAML from memory, read as the options in a model and as a vocabulary. Seeds: the vocab.yml files of
 * tests/marian/fixtures, and the special:model.yml items of their models. */
#include <stdlib.h>
#include <string.h>

#include "import/marian/marian.h"
#include "import/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 256 };

static void check_message(const tr_error *error)
{
    if (!*error->message || strchr(error->message, '\n'))
        abort();
}

static void read_options(const json_t *yml)
{
    static tr_marian_layout layout;
    static const tr_marian_items none;
    tr_config config;
    tr_error error = {0};
    tr_status status = tr_marian_config(yml, &none, &config, &layout, &error);
    config.eos_id = 0;
    if (status == TR_OK)
        status = tr_config_check(&config, &error);
    if (status != TR_OK)
        check_message(&error);
}

static void read_vocabulary(const void *data, size_t size, const char *name)
{
    tr_vocabulary vocabulary = {0};
    tr_marian_specials specials;
    tr_error error = {0};
    if (tr_marian_vocabulary((tr_bytes){data, size}, name, ROWS, &vocabulary, &specials, &error) != TR_OK)
        check_message(&error);
    else if (vocabulary.size != ROWS || specials.eos_id < 0 || specials.eos_id >= ROWS || specials.unk_id < 0)
        abort();
    tr_vocabulary_free(&vocabulary);
}

/* An empty file is NULL, as from tr_file_open(). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = size ? malloc(size) : NULL;
    json_t *root;
    tr_error error = {0};
    if (size && !copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (tr_yaml_parse(copy, size, "fuzz.yml", &root, &error) == TR_OK)
        read_options(root);
    else
        check_message(&error);
    json_decref(root);
    read_vocabulary(copy, size, "fuzz.yml");
    read_vocabulary(copy, size, "fuzz.json");
    free(copy);
    return 0;
}
