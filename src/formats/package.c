#include "formats/package.h"

#include "util/buffer.h"

void tr_package_close(tr_package *package)
{
    tr_vocabulary_free(&package->source);
    tr_vocabulary_free(&package->target_own);
    tr_weights_free(&package->weights);
    for (int i = 0; i < package->file_count; i++)
        tr_file_close(&package->files[i]);
    *package = (tr_package){0};
}

tr_status tr_package_file(tr_package *package, const char *path, const char *name, tr_load load, tr_bytes *bytes,
                          tr_error *error)
{
    if (package->file_count == TR_PACKAGE_FILES)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: more than %d files", path, TR_PACKAGE_FILES);
    tr_buffer joined = {0};
    if (!tr_buffer_string(&joined, path) ||
        (name && (!tr_buffer_string(&joined, "/") || !tr_buffer_string(&joined, name)))) {
        tr_buffer_free(&joined);
        return tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", path);
    }
    tr_file *file = &package->files[package->file_count];
    const tr_status status = tr_file_open(joined.data, load, file, error);
    tr_buffer_free(&joined);
    if (status != TR_OK)
        return status;
    package->file_count++;
    *bytes = (tr_bytes){file->data, file->size};
    return TR_OK;
}

static tr_status check_embedding(const tr_package *package, const char *side, int rows, tr_error *error)
{
    const tr_tensor *embedding = tr_weights_find(&package->weights, "token_embd.weight");
    if (!embedding)
        embedding = tr_weights_find(&package->weights, side);
    if (!embedding)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor token_embd.weight (or %s): is missing", side);
    if (embedding->rank != 2 || embedding->shape[1] != package->config.d_model)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: must be [%d, %d] by the model's settings", embedding->name, rows,
                       package->config.d_model);
    if (embedding->shape[0] != rows)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: has %lld rows, but the vocabulary size is %d", embedding->name,
                       (long long)embedding->shape[0], rows);
    return TR_OK;
}

tr_status tr_package_check(const tr_package *package, tr_error *error)
{
    tr_status status = tr_config_check(&package->config, error);
    if (status == TR_OK)
        status = check_embedding(package, "enc.token_embd.weight", package->config.source_vocabulary, error);
    if (status == TR_OK)
        status = check_embedding(package, "dec.token_embd.weight", package->config.target_vocabulary, error);
    return status;
}
