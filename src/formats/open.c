#include "formats/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf/read.h"
#include "formats/import.h"
#include "util/utf8.h"

/* Sets *is to whether the file at path begins like a GGUF file. */
static tr_status is_gguf(const char *path, bool *is, tr_path_kind *kind, tr_error *error)
{
    tr_file file;
    *is = false;
    tr_status status = tr_path_look(path, kind, error);
    if (status != TR_OK || *kind != TR_PATH_FILE)
        return status;
    status = tr_file_open(path, TR_LOAD_MAP, &file, error);
    if (status != TR_OK)
        return status;
    *is = tr_gguf_recognise(file.data, file.size);
    tr_file_close(&file);
    return TR_OK;
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

/* Symbols that are the same token on both sides. */
static void find_copy_symbols(tr_package *package)
{
    tr_config *c = &package->config;
    const bool shared = package->target == &package->source && c->source_vocabulary == c->target_vocabulary;
    for (size_t i = 0; shared && i < package->copy_symbols.size && i < TR_MAX_COPY_SYMBOLS; i++)
        c->copy_symbols[c->copy_symbol_count++] = package->copy_symbols.data[i];
}

/* Settings that follow from pieces. */
static void find_target_tokens(tr_package *package)
{
    find_bytes(package);
    find_copy_symbols(package);
    tr_config *c = &package->config;
    c->target_unk_id = tr_vocabulary_same(&package->source, c->unk_id, package->target);
    if (c->target_unk_id >= c->target_vocabulary)
        c->target_unk_id = -1;
}

static tr_status open_other(const char *path, tr_path_kind kind, tr_load load, tr_package *package, tr_error *error)
{
    const tr_import *import = tr_import_part();
    if (import)
        return import->open(path, load, package, error);
    if (kind == TR_PATH_NOTHING)
        return tr_gguf_open(path, load, package, error); /* the system's message */
    return tr_fail(error, TR_ERROR_UNSUPPORTED,
                   "%s: is no GGUF file, and this build opens no other; translate convert of a full build makes one", path);
}

tr_status tr_package_open(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    bool gguf;
    tr_path_kind kind;
    *package = (tr_package){0};
    tr_status status = is_gguf(path, &gguf, &kind, error);
    if (status == TR_OK)
        status = gguf ? tr_gguf_open(path, load, package, error) : open_other(path, kind, load, package, error);
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
    if (!tr_gguf_recognise(bytes.data, bytes.size))
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

static tr_status peek_other(const char *path, tr_path_kind kind, tr_package *package, tr_peek *peek, tr_error *error)
{
    const tr_import *import = tr_import_part();
    bool found = false;
    tr_status status = TR_OK;
    if (import)
        status = import->peek(path, package, &found, &peek->has_tokenizer, error);
    if (status != TR_OK || found)
        return status;
    if (kind == TR_PATH_FILE && tr_ends_with(path, ".gguf"))
        return tr_fail(error, TR_ERROR_FORMAT, "%s: has the name of a GGUF file, but is not one", path);
    peek->not_a_model = true;
    return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: is not a model", path);
}

tr_status tr_package_peek(const char *path, tr_peek *peek, tr_error *error)
{
    tr_error local;
    tr_package package = {0};
    bool gguf;
    tr_path_kind kind;
    *peek = (tr_peek){0};
    error = error ? error : &local;
    tr_path_name(path, package.name, sizeof package.name);
    tr_status status = is_gguf(path, &gguf, &kind, error);
    if (status == TR_OK)
        status =
            gguf ? tr_gguf_peek(path, &package, &peek->has_tokenizer, error) : peek_other(path, kind, &package, peek, error);
    if (status == TR_OK) {
        peek->format = package.format;
        peek->file_size = package.file_size;
        peek->traditional = package.traditional.data != NULL;
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
