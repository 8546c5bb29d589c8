/* Which format a path holds, by content. */
#include "formats/directory.h"

#include <string.h>

#include "formats/recognise.h"

static bool starts_with(const tr_file *file, const char *magic, size_t size)
{
    return file->size >= size && memcmp(file->data, magic, size) == 0;
}

static tr_status recognise_file(const char *path, tr_format *format, tr_error *error)
{
    tr_file head;
    bool is = false;
    tr_status status = tr_file_open(path, TR_LOAD_MAP, &head, error);
    if (status != TR_OK)
        return status;
    if (starts_with(&head, "GGUF", 4)) {
        *format = TR_FORMAT_GGUF;
    } else {
        if (starts_with(&head, "PK\3\4", 4))
            status = tr_is_argos_archive(head.data, head.size, &is, error);
        if (status == TR_OK && is)
            *format = TR_FORMAT_ARGOS;
        else if (status == TR_OK)
            status = tr_marian_recognise(head.data, head.size, &is, error);
        if (*format == TR_FORMAT_NONE && is)
            *format = TR_FORMAT_MARIAN;
    }
    tr_file_close(&head);
    return tr_fail_in(error, status, path);
}

static tr_status recognise_directory(const char *path, tr_format *format, tr_error *error)
{
    static const struct {
        tr_format format;
        tr_status (*is)(const char *path, bool *is, tr_error *error);
    } formats[] = {{TR_FORMAT_ARGOS, tr_is_argos},
                   {TR_FORMAT_CTRANSLATE2, tr_is_ctranslate2},
                   {TR_FORMAT_MARIAN, tr_is_marian},
                   {TR_FORMAT_HF, tr_is_hf}};
    tr_status status = TR_OK;
    bool is = false;
    for (size_t i = 0; status == TR_OK && !is && i < sizeof formats / sizeof *formats; i++) {
        status = formats[i].is(path, &is, error);
        if (status == TR_OK && is)
            *format = formats[i].format;
    }
    return status;
}

tr_status tr_package_recognise(const char *path, tr_format *format, tr_error *error)
{
    tr_path_kind place;
    *format = TR_FORMAT_NONE;
    const tr_status status = tr_path_look(path, &place, error);
    if (status != TR_OK || place == TR_PATH_OTHER)
        return status;
    return place == TR_PATH_DIRECTORY ? recognise_directory(path, format, error) : recognise_file(path, format, error);
}

/* The reason for refusing what is no model. */
static tr_status refuse(const char *path, tr_error *error)
{
    tr_path_kind place;
    tr_file file;
    tr_kind kind;
    tr_status status = tr_path_look(path, &place, error);
    if (status == TR_OK && place == TR_PATH_DIRECTORY)
        return tr_diagnose_directory(path, error);
    if (status == TR_OK)
        status = tr_file_open(path, TR_LOAD_MAP, &file, error);
    if (status != TR_OK)
        return status;
    const bool truncated = file.size && file.size < 4 && starts_with(&file, "GGUF", file.size);
    status = tr_fail_in(error, tr_recognise(file.data, file.size, &kind, error), path);
    tr_file_close(&file);
    if (status != TR_OK)
        return status;
    if (truncated)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: is truncated", path);
    const char *advice = tr_kind_advice(kind);
    return tr_fail(error, kind == TR_KIND_EMPTY ? TR_ERROR_FORMAT : TR_ERROR_UNSUPPORTED, "%s: %s%s%s", path,
                   tr_kind_is(kind), *advice ? ": " : "", advice);
}

tr_status tr_package_open(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    tr_format format;
    *package = (tr_package){0};
    tr_status status = tr_package_recognise(path, &format, error);
    if (status != TR_OK)
        return status;
    switch (format) {
    case TR_FORMAT_GGUF: status = tr_open_gguf(path, load, package, error); break;
    case TR_FORMAT_ARGOS: status = tr_open_argos(path, load, package, error); break;
    case TR_FORMAT_CTRANSLATE2: status = tr_open_ctranslate2(path, load, package, error); break;
    case TR_FORMAT_MARIAN: status = tr_open_marian(path, load, package, error); break;
    case TR_FORMAT_HF: status = tr_open_hf(path, load, package, error); break;
    case TR_FORMAT_NONE: status = refuse(path, error); break;
    }
    if (status == TR_OK)
        tr_package_mark_mapped(package);
    return status;
}
