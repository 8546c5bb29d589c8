#include "hub/cache.h"

#include "formats/json.h"
#include "util/file.h"
#include "util/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------------------- manifest */

static bool read_file(const json_t *item, tr_hub_file *file)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    const char *digest = json_string_value(json_object_get(item, "digest"));
    const json_t *size = json_object_get(item, "size");
    if (!name || !tr_hub_safe(name) || !json_is_integer(size) || json_integer_value(size) < 0)
        return false;
    *file = (tr_hub_file){.name = (char *)name, .size = (uint64_t)json_integer_value(size)};
    return !digest || tr_hub_set_digest(file, digest);
}

static bool read_files(const json_t *list, tr_hub_files *files)
{
    size_t i;
    const json_t *item;
    tr_hub_file file;
    json_array_foreach(list, i, item) if (!read_file(item, &file) || !tr_hub_files_add(files, &file)) return false;
    return files->count > 0;
}

bool tr_hub_manifest_read(const char *folder, tr_hub_manifest *manifest)
{
    char path[TR_PATH];
    tr_file text;
    json_t *root;
    *manifest = (tr_hub_manifest){0};
    if (tr_path_join(path, folder, TR_HUB_MANIFEST, NULL) || tr_file_open(path, TR_LOAD_COPY, &text, NULL))
        return false;
    bool good = tr_json_parse(text.data, text.size, path, &root, NULL) == TR_OK;
    tr_file_close(&text);
    if (!good)
        return false;
    const char *commit = json_string_value(json_object_get(root, "commit"));
    snprintf(manifest->commit, sizeof manifest->commit, "%s", commit ? commit : "");
    good = read_files(json_object_get(root, "files"), &manifest->files);
    json_decref(root);
    return good;
}

static json_t *manifest_json(const tr_hub_name *name, const tr_hub_manifest *manifest)
{
    char repository[2 * TR_HUB_NAME];
    json_t *files = json_array();
    for (size_t i = 0; i < manifest->files.count; i++) {
        const tr_hub_file *f = &manifest->files.items[i];
        json_t *item = json_pack("{s:s, s:I}", "name", f->name, "size", (json_int_t)f->size);
        if (f->digest != TR_HUB_NO_DIGEST)
            json_object_set_new(item, "digest", json_string(f->hex));
        json_array_append_new(files, item);
    }
    snprintf(repository, sizeof repository, "%s/%s", name->owner, name->name);
    return json_pack("{s:s, s:s, s:s, s:o}", "repository", repository, "revision", name->revision, "commit",
                     manifest->commit, "files", files);
}

tr_status tr_hub_manifest_write(const char *folder, const tr_hub_name *name, const tr_hub_manifest *manifest,
                                tr_error *error)
{
    char path[TR_PATH];
    tr_output output;
    tr_status status = tr_path_join(path, folder, TR_HUB_MANIFEST, error);
    if (status != TR_OK)
        return status;
    json_t *root = manifest_json(name, manifest);
    char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    json_decref(root);
    if (!text)
        return tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", path);
    status = tr_output_open(&output, path, error);
    if (status == TR_OK) {
        status = tr_output_write(&output, text, strlen(text), error);
        if (status == TR_OK)
            status = tr_output_commit(&output, error);
        else
            tr_output_abort(&output);
    }
    free(text);
    return status;
}

void tr_hub_manifest_free(tr_hub_manifest *manifest)
{
    tr_hub_files_free(&manifest->files);
}

bool tr_hub_manifest_holds(const char *folder, const tr_hub_manifest *manifest)
{
    char path[TR_PATH];
    uint64_t size;
    for (size_t i = 0; i < manifest->files.count; i++)
        if (tr_path_join(path, folder, manifest->files.items[i].name, NULL) || !tr_file_size(path, &size) ||
            size != manifest->files.items[i].size)
            return false;
    return true;
}

/* ------------------------------------------------------------------------------------------------------------- places */

tr_status tr_hub_cache(char path[TR_PATH], tr_error *error)
{
    const char *own = getenv("TRANSLATE_CACHE"), *common = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own && *own)
        return tr_path_join(path, own, "hub", error);
    if (common && *common == '/') /* the XDG specification: a relative one is to be ignored */
        return tr_path_join(path, common, "translate/hub", error);
    if (home && *home)
        return tr_path_join(path, home, ".cache/translate/hub", error);
    return tr_fail(error, TR_ERROR_IO, "cache: there is no place for it, set HOME or TRANSLATE_CACHE");
}

static tr_status repository_folder(char path[TR_PATH], const tr_hub_name *name, tr_error *error)
{
    char cache[TR_PATH], inner[2 * TR_HUB_NAME];
    snprintf(inner, sizeof inner, "%s/%s", name->owner, name->name);
    const tr_status status = tr_hub_cache(cache, error);
    return status == TR_OK ? tr_path_join(path, cache, inner, error) : status;
}

tr_status tr_hub_cache_folder(char path[TR_PATH], const tr_hub_name *name, tr_error *error)
{
    char repository[TR_PATH];
    tr_buffer revision = {0};
    tr_status status = repository_folder(repository, name, error);
    if (status == TR_OK && !tr_hub_encode(&revision, name->revision, false))
        status = tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", name->label);
    if (status == TR_OK)
        status = tr_path_join(path, repository, revision.data, error);
    tr_buffer_free(&revision);
    return status;
}

static bool is_gguf(const char *name)
{
    const size_t size = strlen(name);
    return size > 5 && strcmp(name + size - 5, ".gguf") == 0;
}

/* The folder, if it holds a whole model of several files; else the one GGUF file in it. False: it is no model. */
static tr_status choose_path(char path[TR_PATH], const tr_hub_name *name, const char *folder, const tr_hub_files *files,
                             bool *found, tr_error *error)
{
    const char *gguf = NULL;
    bool folder_model = false, several = false;
    for (size_t i = 0; i < files->count; i++) {
        folder_model |= strcmp(files->items[i].name, "config.json") == 0;
        several |= gguf && is_gguf(files->items[i].name);
        gguf = is_gguf(files->items[i].name) ? files->items[i].name : gguf;
    }
    *found = folder_model || gguf;
    if (!folder_model && several)
        return tr_fail(error, TR_ERROR_ARGUMENT, "hf:%s: several GGUF files are there, name one with -m: %s/%s", name->label,
                       folder, gguf);
    if (!folder_model && gguf)
        return tr_path_join(path, folder, gguf, error);
    snprintf(path, TR_PATH, "%s", folder);
    return TR_OK;
}

tr_status tr_hub_cache_find(char path[TR_PATH], const tr_hub_name *name, bool *found, tr_error *error)
{
    char folder[TR_PATH];
    tr_hub_manifest manifest;
    *found = false;
    tr_status status = tr_hub_cache_folder(folder, name, error);
    if (status != TR_OK)
        return status;
    if (tr_hub_manifest_read(folder, &manifest) && tr_hub_manifest_holds(folder, &manifest))
        status = choose_path(path, name, folder, &manifest.files, found, error);
    tr_hub_manifest_free(&manifest);
    return status;
}

/* ----------------------------------------------------------------------------------------------- listing and removing */

typedef struct listing {
    void (*visit)(void *context, const tr_hub_entry *entry);
    void *context;
} listing;

static tr_status visit_revision(const listing *l, const char *path, const char *label)
{
    tr_hub_entry entry = {.bytes = 0};
    tr_hub_manifest manifest;
    if (tr_hub_parse(label, &entry.name, NULL) != TR_OK)
        return TR_OK; /* nothing of ours */
    entry.whole = tr_hub_manifest_read(path, &manifest) && tr_hub_manifest_holds(path, &manifest);
    entry.bytes = tr_folder_bytes(path);
    tr_hub_manifest_free(&manifest);
    l->visit(l->context, &entry);
    return TR_OK;
}

/* depth 0: path is the cache, 1: an owner's folder, 2: a repository's, 3: a revision's. label: its name so far. */
static tr_status visit_folder(const listing *l, const char *path, const char *label, int depth, tr_error *error)
{
    static const char *const before[] = {"", "/", "@"};
    if (depth == 3)
        return visit_revision(l, path, label);
    tr_folder_names names;
    char inner[TR_PATH];
    tr_status status = tr_folder_list(path, &names, error);
    for (size_t i = 0; status == TR_OK && i < names.count; i++) {
        tr_buffer more = {0};
        status = tr_path_join(inner, path, names.names[i], error);
        if (status == TR_OK && !(tr_buffer_string(&more, label) && tr_buffer_string(&more, before[depth]) &&
                                 tr_hub_decode(&more, names.names[i])))
            status = tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", inner);
        if (status == TR_OK && tr_is_directory(inner))
            status = visit_folder(l, inner, more.data, depth + 1, error);
        tr_buffer_free(&more);
    }
    tr_folder_names_free(&names);
    return status;
}

tr_status tr_hub_cache_list(void (*visit)(void *context, const tr_hub_entry *entry), void *context, tr_error *error)
{
    char cache[TR_PATH];
    const listing l = {visit, context};
    const tr_status status = tr_hub_cache(cache, error);
    return status == TR_OK ? visit_folder(&l, cache, "", 0, error) : status;
}

static tr_status remove_locked(const char *folder, const tr_hub_name *name, tr_error *error)
{
    char path[TR_PATH];
    tr_lock lock;
    bool taken;
    tr_status status = tr_path_join(path, folder, TR_HUB_LOCK, error);
    if (status == TR_OK)
        status = tr_lock_try(&lock, path, &taken, error);
    if (status != TR_OK)
        return status;
    if (!taken)
        return tr_fail(error, TR_ERROR_IO, "%s: another process is downloading it", name->label);
    status = tr_folder_remove(folder, error);
    tr_lock_release(&lock);
    return status;
}

tr_status tr_hub_cache_remove(const tr_hub_name *name, bool all_revisions, uint64_t *bytes, tr_error *error)
{
    char repository[TR_PATH], folder[TR_PATH], owner[TR_PATH];
    tr_folder_names names = {0};
    *bytes = 0;
    tr_status status = repository_folder(repository, name, error);
    if (status == TR_OK)
        status = tr_hub_cache_folder(folder, name, error);
    if (status == TR_OK && all_revisions)
        status = tr_folder_list(repository, &names, error);
    for (size_t i = 0; status == TR_OK && i < (all_revisions ? names.count : 1); i++) {
        if (all_revisions)
            status = tr_path_join(folder, repository, names.names[i], error);
        if (status != TR_OK || !tr_is_directory(folder))
            continue;
        *bytes += tr_folder_bytes(folder);
        status = remove_locked(folder, name, error);
    }
    tr_folder_names_free(&names);
    if (status == TR_OK) {
        tr_folder_drop_empty(repository);
        snprintf(owner, sizeof owner, "%.*s", (int)(strlen(repository) - strlen(name->name) - 1), repository);
        tr_folder_drop_empty(owner);
    }
    return status;
}
