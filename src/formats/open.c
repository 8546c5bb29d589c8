#include "formats/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf/read.h"
#include "formats/readers.h"
#include "formats/recognise.h"
#include "util/utf8.h"

typedef struct format {
    tr_status (*is)(const char *path, bool *is, tr_error *error); /* recognises a directory; NULL: the format is a file */
    tr_status (*open)(const char *path, tr_load load, tr_package *package, tr_error *error);
    tr_status (*peek)(const tr_directory *d, bool *has_tokenizer);
} format;

static const format gguf = {NULL, tr_open_gguf, tr_peek_gguf}, argos = {tr_is_argos, tr_open_argos, tr_peek_argos},
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
    if (starts_with(&file, "GGUF", 4)) {
        *found = &gguf;
    } else {
        if (starts_with(&file, "PK\3\4", 4))
            status = tr_is_argos_archive(file.data, file.size, &is, error);
        if (status == TR_OK && is)
            *found = &argos;
        else if (status == TR_OK)
            status = tr_is_marian_file(file.data, file.size, &is, error);
        if (!*found && is)
            *found = &marian;
    }
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

/* Finds the tokens "<0x00>" to "<0xFF>", of which each needs the others: what is written in bytes can be any text. */
static void find_bytes(tr_package *package)
{
    tr_config *c = &package->config;
    c->has_bytes = c->bytes_in_order = true;
    for (int byte = 0; byte < 256 && c->has_bytes; byte++) {
        char piece[8];
        snprintf(piece, sizeof piece, "<0x%02X>", byte);
        c->byte_ids[byte] = tr_vocabulary_find(package->target, piece, 6);
        c->has_bytes = c->byte_ids[byte] >= 0 && c->byte_ids[byte] < c->target_vocabulary;
        c->bytes_in_order = c->bytes_in_order && c->byte_ids[byte] == c->byte_ids[0] + byte;
    }
}

/* Settings that follow from pieces. */
static void find_target_tokens(tr_package *package)
{
    find_bytes(package);
    tr_config *c = &package->config;
    c->target_unk_id = tr_vocabulary_same(&package->source, c->unk_id, package->target);
    if (c->target_unk_id >= c->target_vocabulary)
        c->target_unk_id = -1;
}

tr_status tr_package_open(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    const format *found;
    *package = (tr_package){0};
    tr_status status = recognise(path, &found, error);
    if (status == TR_OK)
        status = found ? found->open(path, load, package, error) : fail_unrecognised(path, error);
    if (status != TR_OK)
        return status;
    tr_package_mark_mapped(package);
    find_target_tokens(package);
    return TR_OK;
}

static tr_status copy_bytes(tr_package *package, tr_bytes *bytes, tr_error *error)
{
    tr_file *file = package->files = calloc(1, sizeof *file);
    if (!file)
        return tr_fail_memory(error, "memory");
    const tr_status status = tr_file_allocate(bytes->size, file, error);
    if (status != TR_OK)
        return status;
    package->file_count = 1;
    memcpy((void *)file->data, bytes->data, bytes->size);
    bytes->data = file->data;
    return TR_OK;
}

tr_status tr_package_open_memory(tr_bytes bytes, tr_load load, tr_package *package, tr_error *error)
{
    *package = (tr_package){.format = "GGUF", .file_size = bytes.size};
    if (bytes.size < 4 || memcmp(bytes.data, "GGUF", 4) != 0)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "memory: does not hold a GGUF file; make one with: translate convert");
    tr_status status = TR_OK;
    if (load == TR_LOAD_COPY || (uintptr_t)bytes.data % 64)
        status = copy_bytes(package, &bytes, error);
    if (status == TR_OK)
        status = tr_fail_in(error, tr_gguf_read(bytes.data, bytes.size, package, error), "memory");
    if (status != TR_OK)
        tr_package_close(package);
    else
        find_target_tokens(package);
    return status;
}

/* --------------------------------------------------------------------------------------------------------------- peek */

static tr_status fail_peek(const tr_directory *d, bool *not_a_model)
{
    tr_path_kind kind;
    const tr_status status = tr_path_look(d->path, &kind, d->error);
    if (status != TR_OK)
        return status;
    if (kind == TR_PATH_FILE && tr_ends_with(d->path, ".gguf"))
        return tr_directory_fail(d, TR_ERROR_FORMAT, "has the name of a GGUF file, but is not one");
    *not_a_model = true;
    return tr_directory_fail(d, TR_ERROR_UNSUPPORTED, "is not a model");
}

tr_status tr_package_peek(const char *path, tr_peek *peek, tr_error *error)
{
    tr_error local;
    tr_package package = {0};
    const format *found;
    const tr_directory d = {path, TR_LOAD_MAP, &package, error ? error : &local};
    *peek = (tr_peek){0};
    tr_directory_name(path, package.name, sizeof package.name);
    tr_status status = recognise(path, &found, d.error);
    if (status == TR_OK)
        status = found ? found->peek(&d, &peek->has_tokenizer) : fail_peek(&d, &peek->not_a_model);
    if (status == TR_OK) {
        peek->format = package.format;
        peek->file_size = package.file_size;
        memcpy(peek->name, package.name, sizeof peek->name);
        memcpy(peek->source_language, package.source_language, TR_LANGUAGE);
        memcpy(peek->target_language, package.target_language, TR_LANGUAGE);
        peek->languages = package.languages;
        package.languages = (tr_languages){0};
    }
    tr_package_close(&package);
    return status;
}

void tr_peek_free(tr_peek *peek)
{
    tr_languages_free(&peek->languages);
}
