#include "formats/package.h"

#include <stdlib.h>
#include <string.h>

#include "formats/packed.h"
#include "formats/recognise.h"
#include "tokenizer/spm_check.h"
#include "util/buffer.h"

void tr_package_close(tr_package *package)
{
    tr_vocabulary_free(&package->source);
    tr_vocabulary_free(&package->target_own);
    tr_weights_free(&package->weights);
    tr_languages_free(&package->languages);
    tr_ids_free(&package->special);
    for (int i = 0; i < package->file_count; i++)
        tr_file_close(&package->files[i]);
    free(package->files);
    *package = (tr_package){0};
}

void tr_package_mark_mapped(tr_package *package)
{
    for (size_t i = 0; i < package->weights.count; i++) {
        tr_tensor *t = package->weights.tensors[i];
        const uintptr_t data = (uintptr_t)(t->origin ? t->origin->data : t->data);
        for (int f = 0; !t->mapped && f < package->file_count; f++) {
            const tr_file *file = &package->files[f];
            const uintptr_t begin = (uintptr_t)file->data;
            t->mapped = file->mapped && data >= begin && data < begin + file->size;
        }
    }
}

/* A file of a directory may be there, and yet not be what it should: the file opened last is closed again. */
static tr_status check_itself(tr_package *package, const char *path, const char *name, tr_error *error)
{
    const tr_file *file = &package->files[package->file_count - 1];
    const bool suspicious = file->size && strchr("v<E", file->data[0]); /* how those below begin */
    const tr_kind kind = suspicious ? tr_recognise(file->data, file->size) : TR_KIND_UNKNOWN;
    if (kind != TR_KIND_POINTER && kind != TR_KIND_WEB)
        return TR_OK;
    tr_package_close_last(package);
    return tr_fail(error, TR_ERROR_FORMAT, "%s: %s: %s: %s", path, name, tr_kind_is(kind), tr_kind_advice(kind));
}

tr_status tr_package_file(tr_package *package, const char *path, const char *name, tr_load load, tr_bytes *bytes,
                          tr_error *error)
{
    if (package->file_count == TR_PACKAGE_FILES)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: more than %d files", path, TR_PACKAGE_FILES);
    tr_buffer joined = {0};
    tr_file *files = realloc(package->files, ((size_t)package->file_count + 1) * sizeof *files);
    if (files)
        package->files = files;
    if (!files || !tr_buffer_string(&joined, path) ||
        (name && (!tr_buffer_string(&joined, "/") || !tr_buffer_string(&joined, name)))) {
        tr_buffer_free(&joined);
        return tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", path);
    }
    tr_file *file = &files[package->file_count];
    const tr_status status = tr_file_open(joined.data, load, file, error);
    tr_buffer_free(&joined);
    if (status != TR_OK)
        return status;
    package->file_count++;
    *bytes = (tr_bytes){file->data, file->size};
    return name ? check_itself(package, path, name, error) : TR_OK;
}

void tr_package_close_last(tr_package *package)
{
    tr_file_close(&package->files[--package->file_count]);
}

tr_status tr_package_keep_spm(tr_package *package, tr_buffer *spm, tr_error *error)
{
    const tr_bytes bytes = {spm->data, spm->size};
    tr_status status = tr_spm_check(spm->data, spm->size, error);
    if (status != TR_OK)
        tr_buffer_free(spm);
    else
        status = tr_weights_keep(&package->weights, spm->data, error); /* frees it on failure */
    *spm = (tr_buffer){0};
    if (status == TR_OK)
        package->source_spm = package->target_spm = bytes;
    return status;
}

static tr_status check_rows(const char *name, int64_t rows, int64_t columns, int wanted, int d_model, tr_error *error)
{
    if (columns != d_model)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: must be [%d, %d] by the model's settings", name, wanted, d_model);
    if (rows != wanted)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: has %lld rows, but the vocabulary size is %d", name,
                       (long long)rows, wanted);
    return TR_OK;
}

/* Looks for the embedding name, plain or in int8; *found tells. */
static tr_status check_embedding(const tr_package *package, const char *name, int rows, bool *found, tr_error *error)
{
    tr_matrix matrix;
    const int d_model = package->config.d_model;
    const tr_tensor *plain = tr_weights_find(&package->weights, name);
    const tr_tensor *panels = tr_weights_part(&package->weights, name, TR_PACKED_PANELS);
    *found = plain || panels;
    if (plain)
        return check_rows(name, plain->shape[0], plain->rank == 2 ? plain->shape[1] : -1, rows, d_model, error);
    if (!panels)
        return TR_OK;
    const tr_status status = tr_packed_matrix(package, panels, &matrix, error);
    return status == TR_OK ? check_rows(panels->name, matrix.outputs, matrix.inputs, rows, d_model, error) : status;
}

static tr_status check_side(const tr_package *package, const char *side, int rows, tr_error *error)
{
    bool found;
    tr_status status = check_embedding(package, "token_embd.weight", rows, &found, error);
    if (status == TR_OK && !found)
        status = check_embedding(package, side, rows, &found, error);
    if (status == TR_OK && !found)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor token_embd.weight (or %s): is missing", side);
    return status;
}

tr_status tr_package_check(const tr_package *package, tr_error *error)
{
    tr_status status = tr_config_check(&package->config, error);
    if (status == TR_OK)
        status = tr_packed_check(package, error);
    if (status == TR_OK)
        status = check_side(package, "enc.token_embd.weight", package->config.source_vocabulary, error);
    if (status == TR_OK)
        status = check_side(package, "dec.token_embd.weight", package->config.target_vocabulary, error);
    return status;
}
