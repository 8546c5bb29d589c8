/* A folder of models: what is in it. model_routes.c finds the way from one language to another. */
#include "api/model_index.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer/language_codes.h"
#include "tokenizer/language_names.h"
#include "util/folder.h"

static char *copy_string(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copied = malloc(size);
    return copied ? memcpy(copied, text, size) : NULL;
}

/* ---------------------------------------------------------------------------------------------------------- languages */

static bool is_language(const char *code)
{
    char base[4];
    return tr_language_base(code, base) && !tr_language_is_group(code);
}

static tr_status add_all(tr_languages *side, const tr_languages *from, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < from->count; i++)
        status = tr_languages_add(side, from->items[i].code, strlen(from->items[i].code), 0, error);
    return status;
}

/* One side of a model: the languages that it has tokens for, else what its settings say ("spa", "cat+oci+spa"), else its
 * name (named). */
static tr_status find_side(const tr_peek *peek, tr_language_place place, const char *settings, const char *named,
                           tr_languages *side, tr_error *error)
{
    char code[TR_LANGUAGE];
    tr_status status = TR_OK;
    if (place != TR_LANGUAGE_NOWHERE)
        return add_all(side, &peek->languages, error);
    for (const char *at = settings; status == TR_OK && *at;) {
        const size_t size = strcspn(at, "+");
        memcpy(code, at, size);
        code[size] = 0;
        if (is_language(code))
            status = tr_languages_add(side, code, size, 0, error);
        at += size + (at[size] != 0);
    }
    if (status == TR_OK && !*settings && is_language(named))
        status = tr_languages_add(side, named, strlen(named), 0, error);
    return status;
}

/* A model with rules for traditional characters offers them, if it is one into Chinese. */
static tr_status add_traditional(tr_indexed *item, tr_error *error)
{
    bool chinese = false;
    for (size_t i = 0; i < item->targets.count; i++)
        chinese = chinese || tr_language_match("zh", item->targets.items[i].code);
    item->peek.traditional = chinese;
    return chinese ? tr_languages_add(&item->targets, "zh-Hant", strlen("zh-Hant"), 0, error) : TR_OK;
}

static tr_status find_languages(tr_indexed *item, tr_error *error)
{
    char source[TR_LANGUAGE], target[TR_LANGUAGE];
    const tr_peek *p = &item->peek;
    if (!tr_languages_of_name(item->name, source, target))
        tr_languages_of_name(p->name, source, target);
    tr_status status = find_side(p, p->languages.source, p->source_language, source, &item->sources, error);
    if (status == TR_OK)
        status = find_side(p, p->languages.target, p->target_language, target, &item->targets, error);
    if (status == TR_OK && !item->sources.count) /* MADLAD-400, SMaLL-100: the source needs no language token */
        status = add_all(&item->sources, &p->languages, error);
    if (status == TR_OK && p->traditional)
        status = add_traditional(item, error);
    if (status == TR_OK && (!item->sources.count || !item->targets.count))
        return tr_fail(error, TR_ERROR_UNSUPPORTED,
                       "%s: neither its settings nor its name say which language it translates %s", item->path,
                       item->sources.count ? "to" : "from");
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- one model */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

tr_status tr_models_look(const char *path, tr_indexed *item, tr_error *error)
{
    *item = (tr_indexed){.path = copy_string(path)};
    if (!item->path)
        return tr_fail_memory(error, path);
    item->name = last_part(item->path);
    tr_status status = tr_package_peek(path, &item->peek, error);
    const bool foreign = status != TR_OK && item->peek.not_a_model;
    if (status == TR_OK && !item->peek.has_tokenizer)
        status = tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: has no tokenizer, it takes tokens only", path);
    if (status == TR_OK)
        status = find_languages(item, error);
    if (status != TR_OK) {
        tr_models_forget(item);
        item->peek.not_a_model = foreign;
    }
    return status;
}

void tr_models_forget(tr_indexed *item)
{
    tr_peek_free(&item->peek);
    tr_languages_free(&item->sources);
    tr_languages_free(&item->targets);
    free(item->path);
    *item = (tr_indexed){0};
}

/* --------------------------------------------------------------------------------------------------------- the folder */

static tr_status add_warning(tr_model_index *m, const tr_error *why, tr_error *error)
{
    char **warnings = realloc(m->warnings, (m->warning_count + 1) * sizeof *warnings);
    if (warnings)
        m->warnings = warnings;
    if (!warnings || !(warnings[m->warning_count] = copy_string(why->message)))
        return tr_fail_memory(error, m->folder);
    m->warning_count++;
    return TR_OK;
}

static tr_status add_item(tr_model_index *m, const tr_indexed *item, tr_error *error)
{
    tr_indexed *items = realloc(m->items, (m->count + 1) * sizeof *items);
    if (!items)
        return tr_fail_memory(error, m->folder);
    m->items = items;
    m->items[m->count++] = *item;
    return TR_OK;
}

static tr_status add_entry(tr_model_index *m, const char *name, tr_error *error)
{
    char path[TR_PATH];
    tr_indexed item;
    tr_error why;
    tr_status status = tr_path_join(path, m->folder, name, &why);
    if (status != TR_OK)
        return add_warning(m, &why, error);
    status = tr_models_look(path, &item, &why);
    if (status == TR_ERROR_MEMORY) {
        if (error)
            *error = why;
        return status;
    }
    if (status != TR_OK)
        return item.peek.not_a_model ? TR_OK : add_warning(m, &why, error);
    status = add_item(m, &item, error);
    if (status != TR_OK)
        tr_models_forget(&item);
    return status;
}

/* Slashes at the end are not part of the folder's name; the root is its name. */
static char *copy_folder(const char *path)
{
    char *folder = copy_string(path);
    for (size_t end = folder ? strlen(folder) : 0; end > 1 && folder[end - 1] == '/';)
        folder[--end] = 0;
    return folder;
}

tr_status tr_model_index_open(const char *folder, tr_model_index **models, tr_error *error)
{
    if (!models)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_model_index_open: models is NULL");
    *models = NULL;
    if (!folder || !*folder)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_model_index_open: folder is %s", folder ? "empty" : "NULL");
    tr_path_kind kind;
    tr_status status = tr_path_look(folder, &kind, error);
    if (status != TR_OK)
        return status;
    if (kind != TR_PATH_DIRECTORY)
        return tr_fail(error, TR_ERROR_IO, "%s: is not a folder", folder);
    tr_model_index *m = calloc(1, sizeof *m);
    if (!m || !(m->folder = copy_folder(folder))) {
        free(m);
        return tr_fail_memory(error, folder);
    }
    tr_folder_names names;
    status = tr_folder_list(m->folder, &names, error);
    for (size_t i = 0; status == TR_OK && i < names.count; i++)
        if (names.names[i][0] != '.')
            status = add_entry(m, names.names[i], error);
    tr_folder_names_free(&names);
    if (status == TR_OK)
        *models = m;
    else
        tr_model_index_close(m);
    return status;
}

tr_status tr_model_index_of_one(const char *path, tr_model_index **models, tr_error *error)
{
    tr_indexed item;
    tr_model_index *m = calloc(1, sizeof *m);
    *models = NULL;
    if (!m || !(m->folder = copy_string(path))) {
        free(m);
        return tr_fail_memory(error, path);
    }
    tr_status status = tr_models_look(path, &item, error);
    if (status == TR_OK && (status = add_item(m, &item, error)) != TR_OK)
        tr_models_forget(&item);
    if (status == TR_OK)
        *models = m;
    else
        tr_model_index_close(m);
    return status;
}

void tr_model_index_close(tr_model_index *models)
{
    if (!models)
        return;
    for (size_t i = 0; i < models->count; i++)
        tr_models_forget(&models->items[i]);
    for (size_t i = 0; i < models->warning_count; i++)
        free(models->warnings[i]);
    free(models->items);
    free(models->warnings);
    free(models->folder);
    free(models);
}

/* -------------------------------------------------------------------------------------------------------- what is there */

size_t tr_model_index_count(const tr_model_index *models)
{
    return models->count;
}

bool tr_model_index_get(const tr_model_index *models, size_t index, tr_model_entry *entry)
{
    if (index >= models->count)
        return false;
    const tr_indexed *item = &models->items[index];
    *entry = (tr_model_entry){item->path,           item->name,          item->peek.format,
                              item->peek.file_size, item->sources.count, item->targets.count};
    return true;
}

static const char *code_of(const tr_languages *side, size_t language)
{
    return language < side->count ? side->items[language].code : NULL;
}

const char *tr_model_index_source(const tr_model_index *models, size_t index, size_t language)
{
    return index < models->count ? code_of(&models->items[index].sources, language) : NULL;
}

const char *tr_model_index_target(const tr_model_index *models, size_t index, size_t language)
{
    return index < models->count ? code_of(&models->items[index].targets, language) : NULL;
}

const char *tr_model_index_warning(const tr_model_index *models, size_t index)
{
    return index < models->warning_count ? models->warnings[index] : NULL;
}
