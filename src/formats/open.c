/* Which format a path holds, by content. */
#include "formats/ctranslate2.h"

#include <string.h>

static bool starts_with(const tr_file *file, const char *magic, size_t size)
{
    return file->size >= size && memcmp(file->data, magic, size) == 0;
}

static bool looks_like_safetensors(const tr_file *file)
{
    return file->size > 10 && file->data[6] == 0 && file->data[7] == 0 && file->data[8] == '{';
}

/* What a file is that is no GGUF: the reason for refusing it. */
static const char *foreign_kind(const tr_file *file)
{
    if (file->size == 0)
        return "is empty";
    if (starts_with(file, "FUGG", 4))
        return "is a GGUF file with its bytes in big-endian order, which is not supported";
    if (file->size < 4 && starts_with(file, "GGUF", file->size))
        return "is truncated";
    if (looks_like_safetensors(file))
        return "is a safetensors file: give its directory, which must hold config.json too";
    if (starts_with(file, "PK\3\4", 4))
        return "is a zip archive (PyTorch weights?), not a model file: give its directory, which must hold config.json too";
    if (starts_with(file, "\x80\2", 2))
        return "is a Python pickle (PyTorch weights?), not a model file: give its directory, which must hold config.json "
               "too";
    if (starts_with(file, "\x1f\x8b", 2) || starts_with(file, "\x28\xb5\x2f\xfd", 4))
        return "is compressed: unpack it first";
    if (starts_with(file, "version https://git-lfs", 23))
        return "is a Git LFS pointer, not the model itself: run git lfs pull";
    if (tr_ct2_recognise(file->data, file->size))
        return "is the weights of a CTranslate2 model: give its directory, which must hold its vocabularies too";
    if (file->data[0] == '{')
        return "is a JSON file, not a model file: give its directory";
    return "is not a model file: neither GGUF nor a directory with config.json";
}

static tr_status open_file(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    tr_file head;
    tr_status status = tr_file_open(path, TR_LOAD_MAP, &head, error);
    if (status != TR_OK)
        return status;
    const bool gguf = starts_with(&head, "GGUF", 4), marian = !gguf && tr_marian_recognise(head.data, head.size);
    if (!gguf && !marian)
        status =
            tr_fail(error, head.size == 0 ? TR_ERROR_FORMAT : TR_ERROR_UNSUPPORTED, "%s: %s", path, foreign_kind(&head));
    tr_file_close(&head);
    if (marian)
        return tr_open_marian(path, load, package, error);
    return gguf ? tr_open_gguf(path, load, package, error) : status;
}

tr_status tr_package_open(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    *package = (tr_package){0};
    if (!tr_is_directory(path))
        return open_file(path, load, package, error);
    if (tr_is_ctranslate2(path))
        return tr_open_ctranslate2(path, load, package, error);
    return tr_is_marian(path) ? tr_open_marian(path, load, package, error) : tr_open_hf(path, load, package, error);
}
