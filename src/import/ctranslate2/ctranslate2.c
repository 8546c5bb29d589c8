/* A CTranslate2 model directory as its converters leave it: model.bin, config.json (from version 6 on), vocabularies, and
 * perhaps the SentencePiece models that it was trained with. */
#include "import/ctranslate2/ctranslate2.h"

#include <stdio.h>
#include <string.h>

#include "import/hf/hf.h"
#include "formats/int8.h"
#include "import/readers.h"
#include "import/recognise.h"
#include "import/vocabularies.h"

typedef struct opening {
    tr_directory d;
    tr_ct2_model model;
    tr_ct2_settings settings;
    json_t *json; /* config.json: settings point into it; NULL if there is none */
} opening;

/* ---------------------------------------------------------------------------------------------------------- which it is */

/* A directory may have weights for Transformers as well: then config.json tells which of the two it is. */
static tr_status is_transformers(const tr_directory *d, bool *is)
{
    json_t *settings = NULL;
    const char *weights;
    tr_status status = tr_hf_find_weights(d, &weights);
    if (status == TR_OK && weights)
        status = tr_directory_optional_json(d, "config.json", &settings);
    *is = json_object_get(settings, "model_type") != NULL;
    json_decref(settings);
    return status;
}

tr_status tr_is_ctranslate2(const char *path, bool *is, tr_error *error)
{
    tr_package package = {0};
    tr_error local;
    tr_file file;
    bool theirs = false;
    const tr_directory d = {path, TR_LOAD_MAP, &package, error ? error : &local};
    tr_status status = tr_directory_open(&d, "model.bin", &file);
    *is = status == TR_OK && tr_is_ct2_file(file.data, file.size);
    tr_file_close(&file);
    if (*is)
        status = is_transformers(&d, &theirs);
    *is = *is && !theirs;
    tr_package_close(&package);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- vocabularies */

typedef struct vocabulary_files {
    const char *shared, *source, *target; /* NULL: not there */
    const char *feature;                  /* of models with several source features */
} vocabulary_files;

/* In JSON, else a token a line. */
static tr_status find_vocabularies(const tr_directory *d, vocabulary_files *f)
{
    static const char *const names[][2] = {{"shared_vocabulary.json", "shared_vocabulary.txt"},
                                           {"source_1_vocabulary.json", "source_1_vocabulary.txt"},
                                           {"source_vocabulary.json", "source_vocabulary.txt"},
                                           {"target_vocabulary.json", "target_vocabulary.txt"}};
    *f = (vocabulary_files){0};
    tr_status status = tr_directory_find(d, names[0], 2, &f->shared);
    if (status != TR_OK || f->shared)
        return status;
    status = tr_directory_find(d, names[1], 2, &f->feature);
    if (status == TR_OK)
        status = tr_directory_find(d, names[2], 2, &f->source);
    return status == TR_OK ? tr_directory_find(d, names[3], 2, &f->target) : status;
}

/* The result is a copy, so the file is closed. */
static tr_status read_vocabulary(const tr_directory *d, const char *file, int rows, tr_vocabulary *vocabulary)
{
    tr_package *package = d->package;
    tr_bytes bytes;
    tr_status status = tr_directory_file(d, file, &bytes);
    if (status != TR_OK)
        return status;
    status = tr_directory_in(d, tr_vocabulary_of_list(bytes, file, rows, vocabulary, d->error));
    tr_package_close_last(package);
    return status;
}

static tr_status read_vocabularies(opening *o)
{
    const tr_directory *d = &o->d;
    tr_package *package = d->package;
    const tr_config *c = &package->config;
    vocabulary_files files;
    tr_status status = find_vocabularies(d, &files);
    package->target = &package->source;
    if (status != TR_OK)
        return status;
    if (files.shared) {
        const int rows = c->source_vocabulary < c->target_vocabulary ? c->source_vocabulary : c->target_vocabulary;
        return read_vocabulary(d, files.shared, rows, &package->source);
    }
    if (files.feature)
        return tr_directory_fail(d, TR_ERROR_UNSUPPORTED, "several source features are not supported");
    if (!files.source || !files.target)
        return tr_directory_fail(d, TR_ERROR_FORMAT,
                                 "a vocabulary is missing: shared_vocabulary or source_vocabulary and target_vocabulary, "
                                 ".json or .txt");
    status = read_vocabulary(d, files.source, c->source_vocabulary, &package->source);
    if (status == TR_OK)
        status = read_vocabulary(d, files.target, c->target_vocabulary, &package->target_own);
    package->target = &package->target_own;
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- network */

static tr_status read_settings(opening *o)
{
    const tr_directory *d = &o->d;
    tr_status status = tr_directory_optional_json(d, "config.json", &o->json);
    if (status == TR_OK)
        status = tr_directory_in(d, tr_ct2_settings_read(&o->model, o->json, &o->settings, d->error));
    if (status != TR_OK)
        return status;
    status = tr_ct2_config(&o->model, &o->settings, &d->package->config, d->error);
    return tr_directory_in(d, tr_fail_in(d->error, status, "model.bin"));
}

static tr_status read_ids(opening *o)
{
    const tr_directory *d = &o->d;
    tr_package *package = d->package;
    return tr_directory_in(d, tr_ct2_ids(&o->settings, &package->source, package->target, tr_ct2_starts_from_zero(&o->model),
                                         &package->config, d->error));
}

/* Checked before a tensor is made. */
static tr_status read_weights(opening *o)
{
    const tr_directory *d = &o->d;
    tr_package *package = d->package;
    tr_status status = tr_fail_in(d->error, tr_config_check(&package->config, d->error), "model.bin");
    if (status == TR_OK) {
        status = tr_ct2_weights(&o->model, &package->config, &package->weights, d->error);
        tr_fail_in(d->error, status, "model.bin");
    }
    if (status == TR_OK)
        status = tr_package_check(package, d->error);
    /* int8 stays int8, as in CTranslate2; floats are computed as f32 */
    package->directory = status == TR_OK && tr_lossless_type(&package->weights) != TR_TYPE_I8;
    return tr_directory_in(d, status);
}

static const char *const formats[] = {
    "CTranslate2 directory",
    "CTranslate2 directory (version 1)",
    "CTranslate2 directory (version 2)",
    "CTranslate2 directory (version 3)",
    "CTranslate2 directory (version 4)",
    "CTranslate2 directory (version 5)",
    "CTranslate2 directory (version 6)",
};

/* The file's variables, whose values are not touched. */
static tr_status read_file(opening *o)
{
    tr_package *package = o->d.package;
    tr_bytes file;
    tr_status status = tr_directory_file(&o->d, "model.bin", &file);
    if (status != TR_OK)
        return status;
    package->file_size = file.size;
    status = tr_ct2_read(file, &o->model, o->d.error);
    if (status != TR_OK)
        return tr_directory_in(&o->d, tr_fail_in(o->d.error, status, "model.bin"));
    for (uint32_t i = 0; i < o->model.count; i++)
        o->model.variables[i].mapped = o->d.load == TR_LOAD_MAP;
    package->format = formats[o->model.version];
    return TR_OK;
}

static tr_status read_all(opening *o)
{
    tr_status status = read_file(o);
    if (status == TR_OK)
        status = read_settings(o);
    if (status == TR_OK)
        status = read_vocabularies(o);
    if (status == TR_OK)
        status = read_ids(o);
    return status == TR_OK ? read_weights(o) : status;
}

/* ----------------------------------------------------------------------------------------------------------- tokenizer */

/* The languages, where tokenizer_config.json was kept. */
static tr_status read_languages(const tr_directory *d)
{
    json_t *json;
    const tr_status status = tr_directory_optional_json(d, "tokenizer_config.json", &json);
    tr_json_fields fields = {json, "tokenizer_config.json", status, d->error};
    if (status == TR_OK)
        tr_directory_languages(&fields, d->package);
    json_decref(json);
    return status != TR_OK ? status : tr_directory_in(d, fields.status);
}

/* The SentencePiece model of the source that OPUS-MT's, OpenNMT's and Transformers' conversions keep, under its usual names;
 * NULL: there is none. */
static tr_status find_pieces(const tr_directory *d, const char **name)
{
    static const char *const names[] = {"source.spm",   "sentencepiece.model", "sentencepiece.bpe.model",
                                        "spiece.model", "spm.model",           "source.model"};
    return tr_directory_find(d, names, sizeof names / sizeof *names, name);
}

static tr_status read_tokenizer(const tr_directory *d)
{
    const char *source;
    const tr_status status = find_pieces(d, &source);
    if (status != TR_OK || !source)
        return status;
    return tr_directory_pieces(d, source, strcmp(source, "source.spm") == 0 ? "target.spm" : "target.model");
}

tr_status tr_ct2_open(const tr_directory *d)
{
    opening o = {.d = *d};
    const tr_status status = read_all(&o);
    tr_ct2_free(&o.model);
    json_decref(o.json);
    return status;
}

tr_status tr_open_ctranslate2(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    tr_error local;
    *package = (tr_package){.architecture = "marian"};
    const tr_directory d = {path, load, package, error ? error : &local};
    tr_path_name(path, package->name, sizeof package->name);
    tr_status status = tr_ct2_open(&d);
    if (status == TR_OK)
        status = read_tokenizer(&d);
    if (status == TR_OK)
        status = read_languages(&d);
    if (status == TR_OK)
        tr_directory_card(&d);
    else
        tr_package_close(package);
    return status;
}

tr_status tr_peek_ctranslate2(const tr_directory *d, bool *has_tokenizer)
{
    opening o = {.d = *d};
    const char *pieces = NULL;
    tr_status status = read_file(&o);
    if (status == TR_OK)
        status = read_languages(d);
    if (status == TR_OK)
        status = find_pieces(d, &pieces);
    *has_tokenizer = pieces != NULL;
    tr_ct2_free(&o.model);
    return status;
}
