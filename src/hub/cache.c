#include "hub/cache.h"

#include "import/json.h"
#include "util/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------------------- manifest */

/* False: the entry is invalid. */
static bool read_file(const json_t *item, tr_hub_file *file)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    const char *digest = json_string_value(json_object_get(item, "digest"));
    const json_t *size = json_object_get(item, "size");
    if (!name || !tr_hub_safe(name) || (size && (!json_is_integer(size) || json_integer_value(size) < 0)))
        return false;
    *file = (tr_hub_file){.name = (char *)name, .size = size ? (uint64_t)json_integer_value(size) : TR_HUB_UNKNOWN};
    return !digest || tr_hub_set_digest(file, digest);
}

static tr_status read_files(const json_t *list, tr_hub_files *files, bool *good, tr_error *error)
{
    size_t i;
    const json_t *item;
    *good = json_array_size(list) > 0;
    json_array_foreach(list, i, item)
    {
        tr_hub_file file;
        *good = *good && read_file(item, &file);
        if (*good && !tr_hub_files_add(files, &file))
            return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    }
    return TR_OK;
}

tr_status tr_hub_manifest_read(const tr_folder *folder, const char *list, tr_hub_manifest *manifest, bool *found,
                               tr_error *error)
{
    tr_buffer text;
    tr_error local;
    json_t *root = NULL;
    *manifest = (tr_hub_manifest){0};
    tr_status status = tr_folder_read(folder, list, &text, found, error);
    const bool read = status == TR_OK && *found;
    *found = false;
    if (read)
        status = tr_json_parse((const unsigned char *)text.data, text.size, folder->path, &root, &local);
    tr_buffer_free(&text);
    if (!read)
        return status;
    *found = status == TR_OK;
    if (status != TR_OK)
        return status == TR_ERROR_MEMORY ? tr_fail(error, status, "%s", local.message) : TR_OK;
    const char *commit = json_string_value(json_object_get(root, "commit"));
    snprintf(manifest->commit, sizeof manifest->commit, "%s", commit ? commit : "");
    status = read_files(json_object_get(root, "files"), &manifest->files, found, error);
    json_decref(root);
    if (!*found || status != TR_OK)
        tr_hub_manifest_free(manifest);
    return tr_fail_in(error, status, folder->path);
}

static json_t *file_json(const tr_hub_file *file)
{
    json_t *item = tr_json_set(json_object(), "name", json_string(file->name));
    if (file->size != TR_HUB_UNKNOWN)
        item = tr_json_set(item, "size", json_integer((json_int_t)file->size));
    return file->digest == TR_HUB_NO_DIGEST ? item : tr_json_set(item, "digest", json_string(file->hex));
}

static json_t *manifest_json(const tr_hub_name *name, const tr_hub_manifest *manifest)
{
    char repository[2 * TR_HUB_NAME];
    json_t *files = json_array();
    for (size_t i = 0; i < manifest->files.count; i++)
        files = tr_json_append(files, file_json(&manifest->files.items[i]));
    snprintf(repository, sizeof repository, "%s/%s", name->owner, name->name);
    json_t *root = tr_json_set(json_object(), "repository", json_string(repository));
    root = tr_json_set(root, "revision", json_string(name->revision));
    root = tr_json_set(root, "commit", json_string(manifest->commit));
    return tr_json_set(root, "files", files);
}

tr_status tr_hub_manifest_write(const char *folder, const char *list, const tr_hub_name *name,
                                const tr_hub_manifest *manifest, tr_error *error)
{
    char path[TR_PATH];
    tr_status status = tr_path_join(path, folder, list, error);
    if (status != TR_OK)
        return status;
    tr_buffer text = {0};
    status = tr_json_print(manifest_json(name, manifest), JSON_INDENT(1), &text)
                 ? tr_file_write_own(path, 0666, text.data, text.size, error)
                 : tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", path);
    tr_buffer_free(&text);
    return status;
}

void tr_hub_manifest_free(tr_hub_manifest *manifest)
{
    tr_hub_files_free(&manifest->files);
}

tr_status tr_hub_manifest_holds(const tr_folder *folder, const tr_hub_manifest *manifest, bool *holds, tr_error *error)
{
    uint64_t size;
    tr_status status = TR_OK;
    *holds = true;
    for (size_t i = 0; status == TR_OK && *holds && i < manifest->files.count; i++) {
        status = tr_folder_size(folder, manifest->files.items[i].name, &size, holds, error);
        *holds = status == TR_OK && *holds && size == manifest->files.items[i].size;
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- places */

tr_status tr_hub_cache(char path[TR_PATH], tr_error *error)
{
    const char *own = getenv("TRANSLATE_CACHE"), *common = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own && *own)
        return tr_path_join(path, own, "hub", error);
    if (common && *common == '/') /* the XDG specification says to ignore relative paths */
        return tr_path_join(path, common, "translate/hub", error);
    if (home && *home)
        return tr_path_join(path, home, ".cache/translate/hub", error);
    return tr_fail(error, TR_ERROR_IO, "cache: its place is unknown, set HOME or TRANSLATE_CACHE");
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

tr_status tr_hub_cache_open(tr_folder *folder, const tr_hub_name *name, bool make, tr_error *error)
{
    tr_folder cache = {.descriptor = -1};
    char path[TR_PATH], inner[TR_PATH];
    folder->descriptor = -1;
    tr_status status = tr_hub_cache(path, error);
    if (status == TR_OK && make)
        status = tr_folder_make(path, error);
    if (status == TR_OK)
        status = tr_folder_open(&cache, path, error);
    if (status == TR_OK && cache.descriptor >= 0)
        status = tr_hub_cache_folder(inner, name, error);
    if (status == TR_OK && cache.descriptor >= 0)
        status = tr_folder_enter(folder, &cache, inner + strlen(path) + 1, make, error);
    tr_folder_close(&cache);
    return status;
}

static bool is_gguf(const char *name)
{
    const size_t size = strlen(name);
    return size > 5 && strcmp(name + size - 5, ".gguf") == 0;
}

/* The folder, if it holds a whole model of several files; else the one GGUF file in it. *found false: it holds no model. */
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
    tr_folder folder;
    tr_hub_manifest manifest;
    bool listed;
    *found = false;
    tr_status status = tr_hub_cache_open(&folder, name, false, error);
    if (status != TR_OK || folder.descriptor < 0)
        return status;
    status = tr_hub_manifest_read(&folder, TR_HUB_MANIFEST, &manifest, &listed, error);
    if (status == TR_OK && listed)
        status = tr_hub_manifest_holds(&folder, &manifest, &listed, error);
    if (status == TR_OK && listed)
        status = choose_path(path, name, folder.path, &manifest.files, found, error);
    tr_hub_manifest_free(&manifest);
    tr_folder_close(&folder);
    return status;
}

/* ----------------------------------------------------------------------------------------------- listing and removing */

typedef struct listing {
    void (*visit)(void *context, const tr_hub_entry *entry);
    void *context;
} listing;

static tr_status visit_revision(const listing *l, const tr_folder *folder, const char *label, tr_error *error)
{
    tr_hub_entry entry = {.bytes = 0};
    tr_hub_manifest manifest;
    tr_folder_sum sum;
    if (tr_hub_parse(label, &entry.name, NULL) != TR_OK)
        return TR_OK; /* not a folder of the cache */
    tr_status status = tr_hub_manifest_read(folder, TR_HUB_MANIFEST, &manifest, &entry.whole, error);
    if (status == TR_OK && entry.whole)
        status = tr_hub_manifest_holds(folder, &manifest, &entry.whole, error);
    if (status == TR_OK)
        status = tr_folder_measure(folder, &sum, error);
    tr_hub_manifest_free(&manifest);
    if (status != TR_OK)
        return status;
    entry.bytes = sum.bytes;
    l->visit(l->context, &entry);
    return TR_OK;
}

static tr_status visit_folder(const listing *l, const tr_folder *folder, const char *label, int depth, tr_error *error);

/* Lists an inner folder, if it is a folder. */
static tr_status visit_inner(const listing *l, const tr_folder *folder, const char *name, const char *label, int depth,
                             tr_error *error)
{
    static const char *const before[] = {"", "/", "@"};
    tr_folder inner;
    tr_buffer more = {0};
    tr_status status = tr_folder_enter(&inner, folder, name, false, error);
    if (status == TR_OK && inner.descriptor >= 0) {
        if (tr_buffer_string(&more, label) && tr_buffer_string(&more, before[depth]) && tr_hub_decode(&more, name))
            status = visit_folder(l, &inner, more.data, depth + 1, error);
        else
            status = tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", inner.path);
    }
    tr_buffer_free(&more);
    tr_folder_close(&inner);
    return status == TR_ERROR_UNSUPPORTED ? TR_OK : status; /* a link */
}

/* depth 0: folder is the cache, 1: an owner, 2: a repository, 3: a revision. label: its name so far. */
static tr_status visit_folder(const listing *l, const tr_folder *folder, const char *label, int depth, tr_error *error)
{
    if (depth == 3)
        return visit_revision(l, folder, label, error);
    tr_folder_names names;
    tr_status status = tr_folder_entries(folder, &names, error);
    for (size_t i = 0; status == TR_OK && i < names.count; i++)
        status = visit_inner(l, folder, names.names[i], label, depth, error);
    tr_folder_names_free(&names);
    return status;
}

tr_status tr_hub_cache_list(void (*visit)(void *context, const tr_hub_entry *entry), void *context, tr_error *error)
{
    char path[TR_PATH];
    tr_folder cache = {.descriptor = -1};
    const listing l = {visit, context};
    tr_status status = tr_hub_cache(path, error);
    if (status == TR_OK)
        status = tr_folder_open(&cache, path, error);
    if (status == TR_OK && cache.descriptor >= 0)
        status = visit_folder(&l, &cache, "", 0, error);
    tr_folder_close(&cache);
    return status;
}

void tr_hub_file_folders(char folders[TR_PATH], const char *name)
{
    const char *slash = strrchr(name, '/');
    snprintf(folders, TR_PATH, "%.*s", slash ? (int)(slash - name) : 0, name);
}

tr_status tr_hub_file_remove(const tr_folder *folder, const char *name, tr_folder_sum *removed, tr_error *error)
{
    static const char *const endings[] = {"", TR_HUB_PART, TR_HUB_TAG};
    char companion[TR_PATH], folders[TR_PATH];
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < sizeof endings / sizeof *endings; i++)
        if (snprintf(companion, sizeof companion, "%s%s", name, endings[i]) < TR_PATH)
            status = tr_folder_unlink(folder, companion, removed, error);
    tr_hub_file_folders(folders, name);
    tr_folder_prune(folder, folders);
    return status;
}

static tr_status remove_listed(const tr_folder *folder, const char *list, tr_folder_sum *removed, tr_error *error)
{
    tr_hub_manifest manifest;
    bool found;
    tr_status status = tr_hub_manifest_read(folder, list, &manifest, &found, error);
    for (size_t i = 0; status == TR_OK && found && i < manifest.files.count; i++)
        status = tr_hub_file_remove(folder, manifest.files.items[i].name, removed, error);
    tr_hub_manifest_free(&manifest);
    return status;
}

/* Removes the lists themselves, last, so that an interrupted removal can be repeated. */
static tr_status remove_own(const tr_folder *folder, tr_folder_sum *removed, tr_error *error)
{
    tr_folder_names names;
    tr_status status = tr_folder_entries(folder, &names, error);
    for (size_t i = 0; status == TR_OK && i < names.count; i++)
        if (strncmp(names.names[i], TR_HUB_OWN, strlen(TR_HUB_OWN)) == 0 && strcmp(names.names[i], TR_HUB_LOCK) != 0)
            status = tr_folder_unlink(folder, names.names[i], removed, error);
    tr_folder_names_free(&names);
    return status;
}

static tr_status remove_locked(const tr_folder *folder, const tr_hub_name *name, tr_hub_removal *removal, tr_error *error)
{
    tr_lock lock;
    bool taken;
    tr_status status = tr_lock_try(&lock, folder, TR_HUB_LOCK, &taken, error);
    if (status != TR_OK)
        return status;
    if (!taken)
        return tr_fail(error, TR_ERROR_IO, "%s: another process is downloading it", name->label);
    status = remove_listed(folder, TR_HUB_BEGUN, &removal->removed, error);
    if (status == TR_OK)
        status = remove_listed(folder, TR_HUB_MANIFEST, &removal->removed, error);
    if (status == TR_OK)
        status = remove_own(folder, &removal->removed, error);
    tr_lock_release(&lock);
    return status;
}

static tr_status remove_revision(const tr_folder *repository, const char *revision, const tr_hub_name *name,
                                 tr_hub_removal *removal, tr_error *error)
{
    tr_folder folder;
    tr_folder_sum left = {0};
    tr_status status = tr_folder_enter(&folder, repository, revision, false, error);
    if (status != TR_OK || folder.descriptor < 0)
        return status;
    removal->found = true;
    status = remove_locked(&folder, name, removal, error);
    if (status == TR_OK)
        status = tr_folder_measure(&folder, &left, error);
    if (status == TR_OK && left.count) {
        snprintf(removal->folder, sizeof removal->folder, "%s", folder.path);
        removal->left += left.count;
    }
    tr_folder_close(&folder);
    return status;
}

/* Links are refused before anything is removed. */
static tr_status refuse_links(const tr_folder *repository, const tr_folder_names *revisions, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < revisions->count; i++) {
        tr_folder folder;
        status = tr_folder_enter(&folder, repository, revisions->names[i], false, error);
        tr_folder_close(&folder);
    }
    return status;
}

static tr_status remove_all(const tr_folder *repository, const tr_hub_name *name, tr_hub_removal *removal, tr_error *error)
{
    tr_folder_names names;
    tr_status status = tr_folder_entries(repository, &names, error);
    if (status == TR_OK)
        status = refuse_links(repository, &names, error);
    for (size_t i = 0; status == TR_OK && i < names.count; i++) {
        status = remove_revision(repository, names.names[i], name, removal, error);
        tr_folder_prune(repository, names.names[i]);
    }
    tr_folder_names_free(&names);
    return status;
}

static tr_status remove_one(const tr_folder *repository, const tr_hub_name *name, tr_hub_removal *removal, tr_error *error)
{
    tr_buffer revision = {0};
    tr_status status = TR_OK;
    if (!tr_hub_encode(&revision, name->revision, false))
        status = tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", name->label);
    if (status == TR_OK)
        status = remove_revision(repository, revision.data, name, removal, error);
    if (status == TR_OK)
        tr_folder_prune(repository, revision.data);
    tr_buffer_free(&revision);
    return status;
}

tr_status tr_hub_cache_remove(const tr_hub_name *name, bool all_revisions, tr_hub_removal *removal, tr_error *error)
{
    char path[TR_PATH], inner[2 * TR_HUB_NAME];
    tr_folder cache = {.descriptor = -1}, repository = {.descriptor = -1};
    *removal = (tr_hub_removal){.found = false};
    snprintf(inner, sizeof inner, "%s/%s", name->owner, name->name);
    tr_status status = tr_hub_cache(path, error);
    if (status == TR_OK)
        status = tr_folder_open(&cache, path, error);
    if (status == TR_OK && cache.descriptor >= 0)
        status = tr_folder_enter(&repository, &cache, inner, false, error);
    if (status == TR_OK && repository.descriptor >= 0)
        status = (all_revisions ? remove_all : remove_one)(&repository, name, removal, error);
    tr_folder_close(&repository);
    if (status == TR_OK && cache.descriptor >= 0)
        tr_folder_prune(&cache, inner);
    tr_folder_close(&cache);
    return status;
}
