/* A Hugging Face directory as save_pretrained of a model and of its tokenizer leave it. */
#include "import/hf/hf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/recognise.h"
#include "tokenizer/traditional.h"
#include "util/utf8.h"

#define INDEX ".index.json" /* follows the name of weights in several files */

/* ------------------------------------------------------------------------------------------------------------- weights */

tr_status tr_hf_find_weights(const tr_directory *d, const char **name)
{
    static const char *const names[] = {"model.safetensors", "model.safetensors" INDEX, "pytorch_model.bin",
                                        "pytorch_model.bin" INDEX};
    return tr_directory_find(d, names, sizeof names / sizeof *names, name);
}

tr_status tr_hf_find_files(const tr_directory *d, tr_hf_files *f)
{
    const struct {
        const char *name;
        bool *has;
    } files[] = {{"config.json", &f->config},  {"vocab.json", &f->words},          {"source.spm", &f->source},
                 {"spiece.model", &f->pieces}, {TR_HF_FAIRSEQ_MODEL, &f->fairseq}, {TR_HF_TOKENIZER_JSON, &f->library}};
    tr_status status = tr_hf_find_weights(d, &f->weights);
    for (size_t i = 0; status == TR_OK && i < sizeof files / sizeof *files; i++)
        status = tr_directory_has(d, files[i].name, files[i].has);
    return status;
}

tr_status tr_is_hf(const char *path, bool *is, tr_error *error)
{
    tr_package none = {0};
    const tr_directory d = {path, TR_LOAD_MAP, &none, error};
    return tr_directory_has(&d, "config.json", is);
}

typedef struct shards {
    tr_weight_file *files;
    size_t count;
    tr_strmap names;
} shards;

/* name lives as long as the shards. */
static tr_status add_shard(const tr_directory *d, shards *s, const char *name)
{
    const size_t length = strlen(name);
    if (tr_strmap_find(&s->names, name, length) >= 0)
        return TR_OK;
    tr_weight_file *files = realloc(s->files, (s->count + 1) * sizeof *files);
    if (files)
        s->files = files;
    if (!files || tr_strmap_add(&s->names, name, length, (int32_t)s->count) < 0)
        return tr_directory_fail(d, TR_ERROR_MEMORY, "out of memory");
    files[s->count].name = name;
    files[s->count].mapped = d->load == TR_LOAD_MAP;
    const tr_status status = tr_directory_file(d, name, &files[s->count].bytes);
    if (status == TR_OK)
        d->package->file_size += files[s->count++].bytes.size;
    return status;
}

/* Opens the files that an index names, which must be in its directory. */
static tr_status add_indexed(const tr_directory *d, shards *s, const char *index, const json_t *root)
{
    const char *tensor;
    json_t *file;
    tr_status status = TR_OK;
    json_t *map = json_object_get(root, "weight_map");
    if (!json_object_size(map))
        return tr_fail(d->error, TR_ERROR_FORMAT, "%s: %s: has no weight_map", d->path, index);
    json_object_foreach(map, tensor, file)
    {
        const char *name = json_string_value(file);
        if (status == TR_OK && (!name || !*name || strchr(name, '/') || strchr(name, '\\') || strstr(name, "..")))
            status = tr_fail(d->error, TR_ERROR_FORMAT, "%s: %s: tensor %.100s: %.100s is not the name of a file beside it",
                             d->path, index, tensor, name ? name : "what it has");
        if (status == TR_OK)
            status = add_shard(d, s, name);
    }
    return status;
}

static tr_status read_weights(const tr_directory *d, const char *name, const tr_hf_family *family, tr_hf_ties ties)
{
    const int first = d->package->file_count;
    json_t *index = NULL;
    shards s = {0};
    tr_status status = tr_strmap_init(&s.names, 16) ? TR_OK : tr_directory_fail(d, TR_ERROR_MEMORY, "out of memory");
    if (status == TR_OK && tr_ends_with(name, INDEX)) {
        status = tr_directory_json(d, name, &index);
        if (status == TR_OK)
            status = add_indexed(d, &s, name, index);
    } else if (status == TR_OK) {
        status = add_shard(d, &s, name);
    }
    if (status == TR_OK)
        status = tr_directory_in(d, tr_hf_weights(s.files, s.count, family->renaming, ties, &d->package->weights, d->error));
    if (status == TR_OK)
        tr_package_close_unused(d->package, first); /* all its tensors had to be copied */
    tr_strmap_free(&s.names);
    free(s.files);
    json_decref(index);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- network */

tr_status tr_hf_read_config(const tr_directory *d, const tr_hf_files *files, const tr_hf_family **family, tr_hf_ties *ties)
{
    tr_package *package = d->package;
    json_t *settings, *generation = NULL;
    if (!files->config || !files->weights) /* reports missing files before reading any */
        return tr_diagnose_directory(d->path, d->error);
    tr_status status = tr_directory_json(d, "config.json", &settings);
    if (status == TR_OK)
        status = tr_directory_optional_json(d, "generation_config.json", &generation);
    if (status == TR_OK)
        status = tr_directory_in(
            d, tr_hf_config(settings, generation, &package->config, &package->copy_symbols, ties, family, d->error));
    json_decref(settings);
    json_decref(generation);
    if (status != TR_OK)
        return status;
    package->format = (*family)->format;
    snprintf(package->architecture, sizeof package->architecture, "%s", (*family)->type);
    status = tr_fail_in(d->error, tr_config_check(&package->config, d->error), "config.json");
    return tr_directory_in(d, status);
}

static tr_status read_network(const tr_directory *d, const tr_hf_files *files, const tr_hf_family **family)
{
    tr_package *package = d->package;
    tr_hf_ties ties;
    tr_status status = tr_hf_read_config(d, files, family, &ties);
    if (status == TR_OK)
        status = tr_hf_check_tokens(d, files, *family);
    if (status == TR_OK)
        status = read_weights(d, files->weights, *family, ties);
    return status == TR_OK ? tr_directory_in(d, tr_package_check(package, d->error)) : status;
}

tr_status tr_hf_read_traditional(const tr_directory *d)
{
    static const char name[] = "traditional.tsv";
    tr_bytes *const rules = &d->package->traditional;
    bool has;
    tr_status status = tr_directory_has(d, name, &has);
    if (status != TR_OK || !has)
        return status;
    status = tr_directory_file(d, name, rules);
    return status != TR_OK ? status : tr_directory_in(d, tr_fail_in(d->error, tr_traditional_check(*rules, d->error), name));
}

tr_status tr_open_hf(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    tr_error local;
    *package = (tr_package){.format = "Hugging Face directory", .directory = true};
    tr_path_name(path, package->name, sizeof package->name);
    const tr_directory d = {path, load, package, error ? error : &local};
    const tr_hf_family *family = NULL;
    tr_hf_files files;
    tr_status status = tr_hf_find_files(&d, &files);
    if (status == TR_OK)
        status = read_network(&d, &files, &family);
    if (status == TR_OK)
        status = tr_hf_read_tokens(&d, &files, family);
    if (status == TR_OK)
        status = tr_hf_read_traditional(&d);
    if (status == TR_OK)
        tr_directory_card(&d);
    else
        tr_package_close(package);
    return status;
}
