#include "formats/import.h"

#include <string.h>

#include "import/readers.h"
#include "import/recognise.h"
#include "import/words.h"

typedef struct format {
    tr_status (*is)(const char *path, bool *is, tr_error *error); /* recognises a directory; NULL: the format is a file */
    tr_status (*open)(const char *path, tr_load load, tr_package *package, tr_error *error);
    tr_status (*peek)(const tr_directory *d, bool *has_tokenizer);
} format;

static const format argos = {tr_is_argos, tr_open_argos, tr_peek_argos},
                    ctranslate2 = {tr_is_ctranslate2, tr_open_ctranslate2, tr_peek_ctranslate2},
                    marian = {tr_is_marian, tr_open_marian, tr_peek_marian}, hf = {tr_is_hf, tr_open_hf, tr_peek_hf};

static bool starts_with(const tr_file *file, const char *magic, size_t size)
{
    return file->size >= size && memcmp(file->data, magic, size) == 0;
}

static tr_status recognise_file(const char *path, const format **found, tr_error *error)
{
    tr_file file;
    bool is = false;
    tr_status status = tr_file_open(path, TR_LOAD_MAP, &file, error);
    if (status != TR_OK)
        return status;
    if (starts_with(&file, "PK\3\4", 4))
        status = tr_is_argos_archive(file.data, file.size, &is, error);
    if (status == TR_OK && is)
        *found = &argos;
    else if (status == TR_OK)
        status = tr_is_marian_file(file.data, file.size, &is, error);
    if (!*found && is)
        *found = &marian;
    tr_file_close(&file);
    return status == TR_OK ? TR_OK : tr_fail_in(error, status, path);
}

static tr_status recognise_directory(const char *path, const format **found, tr_error *error)
{
    static const format *const formats[] = {&argos, &ctranslate2, &marian, &hf};
    tr_status status = TR_OK;
    bool is = false;
    for (size_t i = 0; status == TR_OK && !is && i < sizeof formats / sizeof *formats; i++) {
        status = formats[i]->is(path, &is, error);
        if (status == TR_OK && is)
            *found = formats[i];
    }
    return status;
}

/* Sets *found to the format at path, NULL: no model. */
static tr_status recognise(const char *path, const format **found, tr_error *error)
{
    tr_path_kind kind;
    *found = NULL;
    const tr_status status = tr_path_look(path, &kind, error);
    if (status != TR_OK || kind == TR_PATH_OTHER)
        return status;
    return kind == TR_PATH_DIRECTORY ? recognise_directory(path, found, error) : recognise_file(path, found, error);
}

/* Fails with a message that names the kind of file at path. */
static tr_status fail_unrecognised(const char *path, tr_error *error)
{
    tr_path_kind path_kind;
    tr_file file;
    tr_kind kind;
    tr_status status = tr_path_look(path, &path_kind, error);
    if (status == TR_OK && path_kind == TR_PATH_DIRECTORY)
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

static tr_status open_any(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    const format *found;
    const tr_status status = recognise(path, &found, error);
    if (status != TR_OK)
        return status;
    return found ? found->open(path, load, package, error) : fail_unrecognised(path, error);
}

static tr_status peek_any(const char *path, tr_package *package, bool *is, bool *has_tokenizer, tr_error *error)
{
    const format *found;
    const tr_directory d = {path, TR_LOAD_MAP, package, error};
    const tr_status status = recognise(path, &found, error);
    *is = status == TR_OK && found;
    return *is ? found->peek(&d, has_tokenizer) : status;
}

const tr_import *tr_import_part(void)
{
    static const tr_import part = {open_any, peek_any, tr_llama_read, tr_llama_peek, tr_words_create};
    return &part;
}
