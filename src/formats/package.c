#include "formats/package.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/int8.h"
#include "tokenizer/spm_check.h"

void tr_package_close(tr_package *package)
{
    tr_vocabulary_free(&package->source);
    tr_vocabulary_free(&package->target_own);
    tr_weights_free(&package->weights);
    tr_shortlist_free(&package->shortlist);
    tr_languages_free(&package->languages);
    tr_ids_free(&package->special);
    tr_ids_free(&package->copy_symbols);
    for (int i = 0; i < package->file_count; i++)
        tr_file_close(&package->files[i]);
    free(package->files);
    tr_buffer_free(&package->read);
    *package = (tr_package){0};
}

static bool lies_in(const void *data, tr_bytes file)
{
    return (uintptr_t)data >= (uintptr_t)file.data && (uintptr_t)data - (uintptr_t)file.data < file.size;
}

static tr_bytes bytes_of(const tr_file *file)
{
    return (tr_bytes){file->data, file->size};
}

/* The bytes in a file that a tensor is read from. */
static const void *file_bytes_of(const tr_tensor *tensor)
{
    return tensor->origin ? tensor->origin->data : tensor->data;
}

void tr_mark_mapped(tr_weights *weights, size_t first, tr_bytes mapping)
{
    for (size_t i = first; i < weights->count; i++)
        weights->tensors[i]->mapped |= lies_in(file_bytes_of(weights->tensors[i]), mapping);
}

void tr_package_mark_mapped(tr_package *package)
{
    for (int f = 0; f < package->file_count; f++)
        if (package->files[f].mapped)
            tr_mark_mapped(&package->weights, 0, bytes_of(&package->files[f]));
}

tr_status tr_package_file(tr_package *package, const char *path, tr_load load, tr_bytes *bytes, tr_error *error)
{
    const tr_archive *archive = package->archive;
    if (package->file_count == TR_PACKAGE_FILES)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: more than %d files", path, TR_PACKAGE_FILES);
    tr_file *files = realloc(package->files, ((size_t)package->file_count + 1) * sizeof *files);
    if (!files)
        return tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", path);
    package->files = files;
    tr_file *const file = &files[package->file_count];
    const tr_status status =
        archive ? archive->open(archive, path, file, bytes, error) : tr_file_open(path, load, file, error);
    if (status != TR_OK)
        return status;
    if (!archive && !tr_buffer_append(&package->read, path, strlen(path) + 1)) {
        tr_file_close(file);
        return tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", path);
    }
    if (!archive)
        *bytes = bytes_of(file);
    package->file_count++;
    return TR_OK;
}

void tr_package_close_last(tr_package *package)
{
    tr_file_close(&package->files[--package->file_count]);
}

/* Bytes of a file that weights and tokenizers use. */
static size_t used_bytes(const tr_package *package, tr_bytes file)
{
    size_t used = (lies_in(package->source_spm.data, file) ? package->source_spm.size : 0) +
                  (lies_in(package->target_spm.data, file) ? package->target_spm.size : 0) +
                  (lies_in(package->source_bpe.data, file) ? package->source_bpe.size : 0) +
                  (lies_in(package->traditional.data, file) ? package->traditional.size : 0);
    for (size_t i = 0; i < package->weights.count; i++)
        if (lies_in(file_bytes_of(package->weights.tensors[i]), file))
            used += package->weights.tensors[i]->bytes;
    return used;
}

/* Copies the tensors that point into a file. False: out of memory, some still point there. */
static bool copy_tensors(tr_package *package, tr_bytes file)
{
    for (size_t i = 0; i < package->weights.count; i++) {
        tr_tensor *t = package->weights.tensors[i];
        if (!lies_in(file_bytes_of(t), file))
            continue;
        void *copy = t->origin ? NULL : malloc(t->bytes); /* a tensor computed while it is read needs its file */
        if (!copy)
            return false;
        memcpy(copy, t->data, t->bytes);
        t->data = copy;
        t->owned = true;
    }
    return true;
}

/* Without the copies, a few vectors would keep a whole file in memory whose matrices were packed. */
static bool may_close(tr_package *package, const tr_file *file)
{
    const tr_bytes bytes = bytes_of(file);
    const size_t used = used_bytes(package, bytes);
    const bool pieces = lies_in(package->source_spm.data, bytes) || lies_in(package->target_spm.data, bytes) ||
                        lies_in(package->source_bpe.data, bytes) || lies_in(package->traditional.data, bytes);
    return used == 0 || (!pieces && !file->mapped && used < file->size / 2 && copy_tensors(package, bytes));
}

void tr_package_close_unused(tr_package *package, int first)
{
    int kept = first;
    for (int i = first; i < package->file_count; i++) {
        if (may_close(package, &package->files[i]))
            tr_file_close(&package->files[i]);
        else
            package->files[kept++] = package->files[i];
    }
    package->file_count = kept;
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

/* Checks the embedding NAME, stored as floats or in int8. *found: there is one. */
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
    const tr_status status = tr_packed_matrix(&package->weights, &package->config, panels, &matrix, error);
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
        status = tr_packed_check(&package->weights, &package->config, error);
    if (status == TR_OK)
        status = check_side(package, "enc.token_embd.weight", package->config.source_vocabulary, error);
    if (status == TR_OK)
        status = check_side(package, "dec.token_embd.weight", package->config.target_vocabulary, error);
    return status;
}
