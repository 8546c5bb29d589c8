/* Says why a directory cannot be opened as a model: which files it has and which are missing. */
#include "import/json.h"
#include "import/recognise.h"

#include <stdio.h>
#include <string.h>

#include "util/file.h"
#include "util/folder.h"
#include "util/utf8.h"

enum { MAX_FILES = 1000, MAX_NAMED = 3 };

typedef struct findings {
    const char *path;
    tr_folder_names names;
    const char *first[TR_KINDS]; /* of each kind */
    size_t counts[TR_KINDS];
    const char *folders[MAX_NAMED]; /* those that look like models */
    size_t folder_count;
    bool config, tokenizer; /* config.json, tokenizer.json are there */
    tr_error *error;
} findings;

static tr_status fail_with(const findings *f, const char *what)
{
    return tr_fail(f->error, TR_ERROR_FORMAT, "%s: %s", f->path, what);
}

/* NAME: "is compressed: unpack it first" */
static tr_status fail_with_kind(const findings *f, tr_kind kind)
{
    const char *advice = tr_kind_advice(kind);
    return tr_fail(f->error, TR_ERROR_FORMAT, "%s: %.200s %s%s%s", f->path, f->first[kind], tr_kind_is(kind),
                   *advice ? ": " : "", advice);
}

/* -------------------------------------------------------------------------------------------------------------- finding */

/* A folder with the settings or the weights of a model, or with a model file. */
static tr_status inspect_folder(findings *f, const char *name, const char *path)
{
    tr_folder_names names;
    bool found = false;
    const tr_status status = tr_folder_list(path, &names, f->error);
    for (size_t i = 0; !found && i < names.count && i < MAX_FILES; i++)
        found = strcmp(names.names[i], "config.json") == 0 || strcmp(names.names[i], "model.bin") == 0 ||
                tr_ends_with(names.names[i], ".gguf") || tr_ends_with(names.names[i], ".npz");
    tr_folder_names_free(&names);
    if (found && f->folder_count++ < MAX_NAMED)
        f->folders[f->folder_count - 1] = name;
    return status;
}

static tr_status inspect_file(findings *f, const char *name, const char *path)
{
    tr_file file;
    tr_kind kind;
    f->config = f->config || strcmp(name, "config.json") == 0;
    f->tokenizer = f->tokenizer || strcmp(name, "tokenizer.json") == 0;
    tr_status status = tr_file_open(path, TR_LOAD_MAP, &file, f->error);
    if (status != TR_OK)
        return status;
    status = tr_fail_in(f->error, tr_recognise(file.data, file.size, &kind, f->error), path);
    tr_file_close(&file);
    if (status != TR_OK)
        return status;
    if (!f->counts[kind]++)
        f->first[kind] = name;
    return TR_OK;
}

static tr_status inspect_entry(findings *f, const char *name)
{
    char path[TR_PATH];
    tr_path_kind kind;
    tr_status status = tr_path_join(path, f->path, name, f->error);
    if (status == TR_OK)
        status = tr_path_look(path, &kind, f->error);
    if (status == TR_OK && kind == TR_PATH_FILE)
        status = inspect_file(f, name, path);
    else if (status == TR_OK && kind == TR_PATH_DIRECTORY)
        status = inspect_folder(f, name, path);
    return status;
}

/* Leaves out files that cannot be read. */
static tr_status inspect_directory(findings *f)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status != TR_ERROR_MEMORY && i < f->names.count && i < MAX_FILES; i++)
        if (*f->names.names[i] != '.')
            status = inspect_entry(f, f->names.names[i]);
    return status == TR_ERROR_MEMORY ? status : TR_OK;
}

/* --------------------------------------------------------------------------------------------------------------- saying */

static tr_status fail_with_folders(const findings *f)
{
    char list[3 * 80] = "";
    for (size_t i = 0; i < f->folder_count && i < MAX_NAMED; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%.60s", i ? ", " : "", f->folders[i]);
    return tr_fail(f->error, TR_ERROR_FORMAT,
                   "%s: is a folder of %s (%s%s), not a model itself: give %s/%.60s%s, or --models", f->path,
                   f->folder_count > 1 ? "several models" : "a model", list, f->folder_count > MAX_NAMED ? ", ..." : "",
                   f->path, f->folders[0], f->folder_count > 1 ? " or another" : "");
}

/* A file of weights in a shard's or another name. */
static tr_status fail_misnamed(const findings *f, tr_kind kind)
{
    const char *name = f->first[kind], *wanted = kind == TR_KIND_SAFETENSORS ? "model.safetensors" : "pytorch_model.bin";
    if (strstr(name, "-of-"))
        return tr_fail(f->error, TR_ERROR_FORMAT,
                       "%s: %.100s is a part of the weights: %s.index.json, which names them, is missing", f->path, name,
                       wanted);
    return tr_fail(f->error, TR_ERROR_FORMAT, "%s: %.100s holds weights, but must be called %s", f->path, name, wanted);
}

/* Whether config.json is that of CTranslate2, which does not say model_type. */
static tr_status is_ct2_config(const findings *f, bool *is)
{
    char path[TR_PATH];
    tr_file file = {0};
    json_t *root = NULL;
    tr_status status = tr_path_join(path, f->path, "config.json", f->error);
    *is = false;
    if (status == TR_OK)
        status = tr_file_open(path, TR_LOAD_MAP, &file, f->error);
    if (status != TR_OK)
        return status;
    status = tr_fail_in(f->error, tr_json_parse(file.data, file.size, "config.json", &root, f->error), f->path);
    tr_file_close(&file);
    *is = !json_object_get(root, "model_type") &&
          (json_object_get(root, "decoder_start_token") || json_object_get(root, "add_source_bos"));
    json_decref(root);
    return status == TR_ERROR_MEMORY ? status : TR_OK;
}

/* Kinds of files that are meant to be models; the first that exists is reported. */
static const tr_kind foreign[] = {TR_KIND_COMPRESSED, TR_KIND_TAR,  TR_KIND_ARGOS,       TR_KIND_NUMPY, TR_KIND_SCRIPT,
                                  TR_KIND_ONNX,       TR_KIND_HDF5, TR_KIND_KERAS,       TR_KIND_FLAX,  TR_KIND_TFLITE,
                                  TR_KIND_GGML,       TR_KIND_ZIP,  TR_KIND_GGUF_SWAPPED};

static tr_status fail_foreign(const findings *f, bool *failed)
{
    *failed = true;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (f->counts[foreign[i]])
            return fail_with_kind(f, foreign[i]);
    *failed = false;
    return TR_OK;
}

static tr_status fail_with_gguf(const findings *f)
{
    const char *name = f->first[TR_KIND_GGUF];
    if (f->counts[TR_KIND_GGUF] == 1)
        return tr_fail(f->error, TR_ERROR_FORMAT, "%s: holds a model file: give %s/%.200s", f->path, f->path, name);
    return tr_fail(f->error, TR_ERROR_FORMAT, "%s: holds %zu model files: give one of them, as %s/%.200s", f->path,
                   f->counts[TR_KIND_GGUF], f->path, name);
}

static tr_status without_weights(const findings *f)
{
    bool failed, ct2;
    if (f->counts[TR_KIND_SAFETENSORS])
        return fail_misnamed(f, TR_KIND_SAFETENSORS);
    if (f->counts[TR_KIND_TORCH] || f->counts[TR_KIND_PICKLE])
        return fail_misnamed(f, f->counts[TR_KIND_TORCH] ? TR_KIND_TORCH : TR_KIND_PICKLE);
    if (f->counts[TR_KIND_GGUF])
        return fail_with_gguf(f);
    tr_status status = is_ct2_config(f, &ct2);
    if (status != TR_OK)
        return status;
    if (ct2)
        return fail_with(f, "config.json is that of a CTranslate2 model, whose weights, model.bin, are missing");
    status = fail_foreign(f, &failed);
    return failed
               ? status
               : fail_with(
                     f, "config.json is there, but no weights: model.safetensors is missing, and so is pytorch_model.bin");
}

static tr_status without_config(const findings *f)
{
    static const tr_kind weights[] = {TR_KIND_SAFETENSORS, TR_KIND_TORCH, TR_KIND_PICKLE};
    bool failed;
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        if (f->counts[weights[i]])
            return tr_fail(f->error, TR_ERROR_UNSUPPORTED, "%s: holds weights (%.100s), but config.json is missing", f->path,
                           f->first[weights[i]]);
    if (f->counts[TR_KIND_GGUF])
        return fail_with_gguf(f);
    const tr_status status = fail_foreign(f, &failed);
    if (failed)
        return status;
    if (f->folder_count)
        return fail_with_folders(f);
    if (f->tokenizer || f->counts[TR_KIND_PIECES])
        return tr_fail(f->error, TR_ERROR_UNSUPPORTED,
                       "%s: holds a tokenizer (%.100s) but no model: it has no config.json and no weights", f->path,
                       f->tokenizer ? "tokenizer.json" : f->first[TR_KIND_PIECES]);
    return tr_fail(f->error, TR_ERROR_UNSUPPORTED, "%s: is not a model directory: it has no config.json", f->path);
}

static tr_status fail_by_findings(const findings *f)
{
    if (f->names.count == 0)
        return fail_with(f,
                         "is an empty directory: a model needs config.json, weights and a tokenizer, or give a GGUF file");
    if (f->counts[TR_KIND_POINTER])
        return fail_with_kind(f, TR_KIND_POINTER);
    if (f->counts[TR_KIND_WEB])
        return fail_with_kind(f, TR_KIND_WEB);
    return f->config ? without_weights(f) : without_config(f);
}

tr_status tr_diagnose_directory(const char *path, tr_error *error)
{
    findings f = {.path = path, .error = error};
    tr_status status = tr_folder_list(path, &f.names, error);
    if (status == TR_OK) {
        status = inspect_directory(&f);
        if (status == TR_OK)
            status = fail_by_findings(&f);
    }
    tr_folder_names_free(&f.names);
    return status;
}
