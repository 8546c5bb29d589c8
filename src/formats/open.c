/* Which format a path holds, by content. */
#include "formats/package.h"

#include <string.h>

#include "formats/recognise.h"

static bool starts_with(const tr_file *file, const char *magic, size_t size)
{
    return file->size >= size && memcmp(file->data, magic, size) == 0;
}

/* The reason for refusing a file that is no model by itself. */
static tr_status refuse(const char *path, const tr_file *file, tr_error *error)
{
    if (file->size && file->size < 4 && starts_with(file, "GGUF", file->size))
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: is truncated", path);
    const tr_kind kind = tr_recognise(file->data, file->size);
    const char *advice = tr_kind_advice(kind);
    return tr_fail(error, kind == TR_KIND_EMPTY ? TR_ERROR_FORMAT : TR_ERROR_UNSUPPORTED, "%s: %s%s%s", path,
                   tr_kind_is(kind), *advice ? ": " : "", advice);
}

static tr_status open_file(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    tr_file head;
    tr_status status = tr_file_open(path, TR_LOAD_MAP, &head, error);
    if (status != TR_OK)
        return status;
    const bool gguf = starts_with(&head, "GGUF", 4);
    const bool argos = starts_with(&head, "PK\3\4", 4) && tr_is_argos_archive(head.data, head.size);
    const bool marian = !gguf && !argos && tr_marian_recognise(head.data, head.size);
    if (!gguf && !argos && !marian)
        status = refuse(path, &head, error);
    tr_file_close(&head);
    if (argos)
        return tr_open_argos(path, load, package, error);
    if (marian)
        return tr_open_marian(path, load, package, error);
    return gguf ? tr_open_gguf(path, load, package, error) : status;
}

tr_status tr_package_open(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    *package = (tr_package){0};
    const tr_status status = !tr_is_directory(path)    ? open_file(path, load, package, error)
                             : tr_is_argos(path)       ? tr_open_argos(path, load, package, error)
                             : tr_is_ctranslate2(path) ? tr_open_ctranslate2(path, load, package, error)
                             : tr_is_marian(path)      ? tr_open_marian(path, load, package, error)
                                                       : tr_open_hf(path, load, package, error);
    if (status == TR_OK)
        tr_package_mark_mapped(package);
    return status;
}
