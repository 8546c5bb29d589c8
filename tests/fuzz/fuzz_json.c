/* libFuzzer target: config.json, generation_config.json, vocab.json and tokenizer.json, from memory. The input is those
 * texts with a NUL between them. */
#include <stdlib.h>
#include <string.h>

#include "import/json.h"
#include "import/hf/hf.h"

enum { ROWS = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Parses up to the next NUL and moves *data after it; NULL if that is no JSON object. */
static json_t *next_object(const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size ? memchr(*data, 0, *size) : NULL;
    const size_t length = end ? (size_t)(end - *data) : *size, skipped = length + (end != NULL);
    json_t *root;
    tr_error error;
    if (tr_json_parse(*data, length, "fuzz.json", &root, &error) != TR_OK && strchr(error.message, '\n'))
        abort();
    *data += skipped;
    *size -= skipped;
    return root;
}

/* A tokenizer.json, and its tokens as an added_tokens_decoder might list them. */
static void read_library(const json_t *library)
{
    tr_package package = {.config = tr_config_default()};
    tr_added special = {0}, listed = {0};
    tr_error error;
    package.config.source_vocabulary = package.config.target_vocabulary = ROWS;
    if (!library)
        return;
    const tr_status status = tr_hf_tokenizer_json(library, "tokenizer.json", &package, &special, &error);
    if (status == TR_OK ? package.source.size != ROWS || !package.source_spm.data : strchr(error.message, '\n') != NULL)
        abort();
    if (tr_hf_added_read(json_object_get(library, "added_tokens_decoder"), ROWS, &listed, &error) != TR_OK &&
        strchr(error.message, '\n'))
        abort();
    tr_added_free(&special);
    tr_added_free(&listed);
    tr_package_close(&package);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *settings = next_object(&data, &size), *generation = next_object(&data, &size);
    json_t *pieces = next_object(&data, &size), *library = next_object(&data, &size);
    tr_config config;
    tr_hf_ties ties;
    const tr_hf_family *family;
    tr_vocabulary vocabulary = {0};
    tr_ids copy_symbols;
    if (tr_hf_config(settings, generation, &config, &copy_symbols, &ties, &family, NULL) == TR_OK &&
        tr_config_check(&config, NULL) == TR_OK)
        for (size_t i = 0; i < copy_symbols.size; i++)
            if (copy_symbols.data[i] < 0 || copy_symbols.data[i] >= config.source_vocabulary)
                abort();
    tr_ids_free(&copy_symbols);
    tr_error error;
    if (pieces && tr_vocabulary_of_words(pieces, "vocab.json", ROWS, NULL, &vocabulary, &error) == TR_OK &&
        vocabulary.size != ROWS)
        abort();
    tr_vocabulary_free(&vocabulary);
    read_library(library);
    json_decref(library);
    json_decref(settings);
    json_decref(generation);
    json_decref(pieces);
    return 0;
}
