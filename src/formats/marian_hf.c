/* A Hugging Face Marian directory as MarianMTModel.save_pretrained and MarianTokenizer.save_pretrained leave it. */
#include "formats/marian_hf.h"

#include <stdlib.h>
#include <string.h>

#include "formats/directory.h"
#include "formats/json.h"

/* ---------------------------------------------------------------------------------------------------------- vocabulary */

static tr_status measure_pieces(const json_t *json, const char *name, int rows, size_t *bytes, tr_error *error)
{
    const char *piece;
    json_t *id;
    *bytes = 0;
    json_object_foreach((json_t *)json, piece, id)
    {
        if (!json_is_integer(id) || json_integer_value(id) < 0)
            return tr_fail(error, TR_ERROR_FORMAT, "%s: the id of piece %.100s is not a whole number from 0 up", name,
                           piece);
        if (json_integer_value(id) >= rows)
            return tr_fail(error, TR_ERROR_FORMAT, "%s: piece %.100s has id %lld, but the embedding has %d rows", name,
                           piece, (long long)json_integer_value(id), rows);
        *bytes += strlen(piece);
    }
    return TR_OK;
}

tr_status tr_marian_vocabulary(const json_t *json, const char *name, int rows, tr_vocabulary *vocabulary, tr_error *error)
{
    size_t bytes;
    tr_status status = measure_pieces(json, name, rows, &bytes, error);
    if (status != TR_OK)
        return status;
    tr_piece *pieces = calloc((size_t)rows, sizeof *pieces);
    char *text = malloc(bytes + 1);
    if (!pieces || !text)
        status = tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", name);
    const char *piece;
    json_t *id;
    char *to = text;
    json_object_foreach((json_t *)json, piece, id)
    {
        const size_t size = strlen(piece);
        if (status != TR_OK || size == 0) /* an empty piece is none: nothing is cut into it, it decodes to nothing */
            continue;
        tr_piece *place = &pieces[json_integer_value(id)];
        if (place->data)
            status = tr_fail(error, TR_ERROR_FORMAT, "%s: pieces %.100s and %.*s share id %lld", name, piece,
                             (int)(place->size < 100 ? place->size : 100), place->data, (long long)json_integer_value(id));
        memcpy(to, piece, size);
        *place = (tr_piece){to, (uint32_t)size};
        to += size;
    }
    if (status == TR_OK) {
        return tr_fail_in(error, tr_vocabulary_init(vocabulary, pieces, (size_t)rows, text, error), name);
    }
    free(pieces);
    free(text);
    return status;
}

/* --------------------------------------------------------------------------------------------------------------- files */

/* Says what is missing before anything is read. */
static tr_status check_files(const tr_directory *d)
{
    if (!tr_directory_has(d, "config.json"))
        return tr_directory_fail(d, TR_ERROR_UNSUPPORTED, "is not a model directory: it has no config.json");
    if (!tr_directory_has(d, "model.safetensors")) {
        if (tr_directory_has(d, "model.safetensors.index.json"))
            return tr_directory_fail(d, TR_ERROR_UNSUPPORTED, "weights in several safetensors files are not supported");
        if (tr_directory_has(d, "pytorch_model.bin"))
            return tr_directory_fail(
                d, TR_ERROR_UNSUPPORTED,
                "pytorch_model.bin is not supported: save the model as model.safetensors (save_pretrained does)");
        return tr_directory_fail(d, TR_ERROR_FORMAT, "model.safetensors is missing");
    }
    if (!tr_directory_has(d, "vocab.json"))
        return tr_directory_fail(d, TR_ERROR_FORMAT, "vocab.json is missing: a model directory needs its tokenizer");
    if (!tr_directory_has(d, "source.spm"))
        return tr_directory_fail(d, TR_ERROR_FORMAT, "source.spm is missing: a model directory needs its tokenizer");
    return TR_OK;
}

static tr_status read_network(const tr_directory *d)
{
    tr_package *package = d->package;
    json_t *settings, *generation = NULL;
    tr_marian_ties ties;
    tr_bytes file;
    tr_status status = tr_directory_json(d, "config.json", &settings);
    if (status == TR_OK)
        status = tr_directory_optional_json(d, "generation_config.json", &generation);
    if (status == TR_OK)
        status = tr_directory_in(d, tr_marian_config(settings, generation, &package->config, &ties, d->error));
    json_decref(settings);
    json_decref(generation);
    if (status != TR_OK)
        return status;
    status = tr_fail_in(d->error, tr_config_check(&package->config, d->error), "config.json");
    if (status != TR_OK)
        return tr_directory_in(d, status);
    status = tr_package_file(package, d->path, "model.safetensors", d->load, &file, d->error);
    if (status != TR_OK)
        return status;
    package->file_size = file.size;
    status = tr_fail_in(d->error, tr_marian_weights(file, ties, &package->weights, d->error), "model.safetensors");
    if (status != TR_OK)
        return tr_directory_in(d, status);
    return tr_directory_in(d, tr_package_check(package, d->error));
}

static tr_status read_vocabulary(const tr_directory *d, const char *name, int rows, tr_vocabulary *vocabulary)
{
    json_t *json;
    tr_status status = tr_directory_json(d, name, &json);
    if (status == TR_OK)
        status = tr_directory_in(d, tr_marian_vocabulary(json, name, rows, vocabulary, d->error));
    json_decref(json);
    return status;
}

static tr_status read_vocabularies(const tr_directory *d, bool separate)
{
    tr_package *package = d->package;
    const tr_config *c = &package->config;
    tr_status status = read_vocabulary(d, "vocab.json", c->source_vocabulary, &package->source);
    if (status == TR_OK && separate)
        status = read_vocabulary(d, "target_vocab.json", c->target_vocabulary, &package->target_own);
    else if (status == TR_OK && c->source_vocabulary != c->target_vocabulary)
        status = tr_directory_fail(d, TR_ERROR_FORMAT,
                                   "one vocab.json for embeddings of different sizes (separate_vocabs is not set)");
    package->target = separate ? &package->target_own : &package->source;
    package->config.unk_id = tr_vocabulary_find(&package->source, "<unk>", 5);
    return status;
}

static tr_status read_tokenizer(const tr_directory *d)
{
    json_t *json;
    tr_status status = tr_directory_optional_json(d, "tokenizer_config.json", &json);
    tr_json_fields fields = {json, "tokenizer_config.json", status, d->error};
    if (status == TR_OK) {
        tr_directory_languages(&fields, d->package);
        const bool separate = tr_json_bool(&fields, "separate_vocabs", false);
        status = tr_directory_in(d, fields.status);
        if (status == TR_OK)
            status = read_vocabularies(d, separate);
    }
    json_decref(json);
    return status == TR_OK ? tr_directory_pieces(d, "source.spm", "target.spm") : status;
}

tr_status tr_open_marian_hf(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    tr_error local;
    *package = (tr_package){.format = "Hugging Face Marian directory", .architecture = "marian", .directory = true};
    tr_directory_name(path, package->name, sizeof package->name);
    const tr_directory d = {path, load, package, error ? error : &local};
    tr_status status = check_files(&d);
    if (status == TR_OK)
        status = read_network(&d);
    if (status == TR_OK)
        status = read_tokenizer(&d);
    if (status != TR_OK)
        tr_package_close(package);
    return status;
}
