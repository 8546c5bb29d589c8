#define _GNU_SOURCE
#include "serve/glossaries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/ids.h"
#include "serve/loop.h"
#include "util/folder.h"
#include "util/utf8.h"

enum { GLOSSARIES = 1000 }; /* of clients */

/* A file of the folder. */
typedef struct named {
    char *name; /* without its end */
    dictionary *dictionary;
} named;

typedef struct named_list {
    named *items;
    size_t count;
} named_list;

struct glossaries {
    loop *loop;
    const char *folder; /* NULL: none */
    named_list files;
    /* Of the thread that reads the folder again. */
    named_list read;
    tr_error error;
    bool reading, again; /* again: the folder has changed since it began */
    void (*done)(void *argument, const tr_error *error);
    void *done_argument;

    glossary *first, **end; /* of clients, the oldest first */
    size_t count, bytes;    /* bytes: of their dictionaries */
    size_t terms_bytes;     /* of those that requests brought */
};

/* ---------------------------------------------------------------------------------------------------------------- folder */

static void free_files(named_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        dictionary_release(list->items[i].dictionary);
    }
    free(list->items);
    *list = (named_list){0};
}

static const named *find_named(const named_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

static tr_status open_file(named_list *list, const char *folder, const char *file, tr_error *error)
{
    char path[TR_PATH];
    named *const item = &list->items[list->count];
    tr_status status = tr_path_join(path, folder, file, error);
    if (status != TR_OK)
        return status;
    item->name = strndup(file, strlen(file) - 4);
    if (!item->name)
        return tr_fail_memory(error, path);
    if (find_named(list, item->name))
        status = tr_fail(error, TR_ERROR_ARGUMENT, "%s: another glossary has this name", path);
    else
        status = dictionary_open(path, &item->dictionary, error);
    list->count++;
    return status;
}

static tr_status open_files(named_list *list, const char *folder, tr_error *error)
{
    tr_folder_names names;
    if (!tr_is_directory(folder)) /* the folder of another name, or none yet */
        return tr_fail(error, TR_ERROR_IO, "%s: is not a folder", folder);
    tr_status status = tr_folder_list(folder, &names, error);
    if (status == TR_OK && names.count && !(list->items = calloc(names.count, sizeof *list->items)))
        status = tr_fail_memory(error, folder);
    for (size_t i = 0; status == TR_OK && i < names.count; i++) {
        const char *const name = names.names[i];
        if (*name != '.' && (tr_ends_with(name, ".tsv") || tr_ends_with(name, ".csv")))
            status = open_file(list, folder, name, error);
    }
    tr_folder_names_free(&names);
    return status;
}

static void read_folder(void *argument)
{
    glossaries *const g = argument;
    g->error.status = g->folder ? open_files(&g->read, g->folder, &g->error) : TR_OK;
}

static void take_read(glossaries *g)
{
    free_files(g->error.status == TR_OK ? &g->files : &g->read);
    if (g->error.status == TR_OK)
        g->files = g->read;
    g->read = (named_list){0};
}

static void on_read(void *argument)
{
    glossaries *const g = argument;
    take_read(g);
    g->reading = false;
    if (g->again)
        glossaries_reload(g, g->done, g->done_argument);
    else
        g->done(g->done_argument, g->error.status == TR_OK ? NULL : &g->error);
}

void glossaries_reload(glossaries *g, void (*done)(void *argument, const tr_error *error), void *argument)
{
    g->again = g->reading;
    if (g->reading)
        return;
    g->done = done;
    g->done_argument = argument;
    g->reading = true;
    tr_fail(&g->error, TR_ERROR_CANCELLED, "the server ends"); /* if it is not run */
    if (!loop_work(g->loop, read_folder, on_read, g)) {
        tr_fail_memory(&g->error, "glossaries");
        on_read(g);
    }
}

size_t glossaries_count(const glossaries *g)
{
    return g->files.count;
}

glossaries *glossaries_create(const server *s, tr_error *error)
{
    glossaries *const g = calloc(1, sizeof *g);
    if (!g) {
        tr_fail_memory(error, "glossaries");
        return NULL;
    }
    g->loop = s->loop;
    g->folder = s->settings->glossaries;
    g->end = &g->first;
    read_folder(g);
    take_read(g);
    if (g->error.status != TR_OK) {
        *error = g->error;
        glossaries_free(g);
        return NULL;
    }
    return g;
}

void glossaries_free(glossaries *g)
{
    if (!g)
        return;
    free_files(&g->files);
    while (g->first)
        glossaries_remove(g, g->first);
    free(g);
}

/* --------------------------------------------------------------------------------------------------------------- finding */

glossary *glossaries_get(const glossaries *g, const char *key, const char *id)
{
    for (glossary *found = g->first; found; found = found->next)
        if (secret_is(found->id, id))
            return secret_is(found->key, key) ? found : NULL;
    return NULL;
}

const glossary *glossaries_next(const glossaries *g, const char *key, const glossary *before)
{
    const glossary *found = before ? before->next : g->first;
    while (found && !secret_is(found->key, key))
        found = found->next;
    return found;
}

/* Its index; the number of dictionaries if there is none. */
static size_t find_dictionary(dictionary *const *dictionaries, size_t count, const char *source, const char *target)
{
    size_t i = 0;
    while (i < count && !dictionary_fits(dictionaries[i], source, target))
        i++;
    return i;
}

dictionary *glossary_dictionary(const glossary *of, const char *source, const char *target)
{
    const size_t i = find_dictionary(of->dictionaries, of->count, source, target);
    return i < of->count ? of->dictionaries[i] : NULL;
}

dictionary *glossaries_take(const request *r, const char *id, const char *source, const char *target)
{
    const glossaries *const g = r->server->glossaries;
    const named *const file = find_named(&g->files, id);
    const glossary *const clients = file ? NULL : glossaries_get(g, r->key, id);
    dictionary *const found = file ? file->dictionary : clients ? glossary_dictionary(clients, source, target) : NULL;
    return found ? dictionary_hold(found) : NULL;
}

bool glossaries_read_terms(request *r, dictionary **found)
{
    const char *terms;
    tr_error error;
    *found = NULL;
    if (!request_option(r, "terms", &terms))
        return false;
    if (!terms || !*terms)
        return true;
    if (dictionary_parse(terms, strlen(terms), &r->server->glossaries->terms_bytes, found, &error) == TR_OK)
        return true;
    answer_failure(r, &error);
    return false;
}

json_t *glossaries_names(const glossaries *g)
{
    json_t *const list = json_array();
    for (size_t i = 0; i < g->files.count; i++)
        json_array_append_new(list, json_pack("{s: s}", "name", g->files.items[i].name));
    return list;
}

/* -------------------------------------------------------------------------------------------------------------- changing */

static void free_glossary(glossary *of)
{
    for (size_t i = 0; i < of->count; i++)
        dictionary_release(of->dictionaries[i]);
    free(of->dictionaries);
    free(of->name);
    free(of->key);
    free(of);
}

static size_t sum_bytes(dictionary *const *dictionaries, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += dictionaries[i]->bytes;
    return bytes;
}

/* Puts the old dictionaries and the new, which replace old ones of the same languages, into all. Returns their number. */
static size_t merge_dictionaries(const glossary *of, dictionary *const *dictionaries, size_t count, dictionary **all)
{
    size_t merged = of->count;
    if (merged)
        memcpy(all, of->dictionaries, merged * sizeof *all);
    for (size_t i = 0; i < count; i++) {
        const size_t at = find_dictionary(all, merged, dictionaries[i]->source, dictionaries[i]->target);
        all[at] = dictionaries[i];
        merged += at == merged;
    }
    return merged;
}

tr_status glossaries_change(glossaries *g, glossary *changed, const char *name, dictionary *const *dictionaries,
                            size_t count, tr_error *error)
{
    dictionary **const all = calloc(changed->count + count + 1, sizeof *all);
    char *const new_name = name ? strdup(name) : NULL;
    if (!all || (name && !new_name)) {
        free(all);
        free(new_name);
        return tr_fail_memory(error, "glossary");
    }
    const size_t merged = merge_dictionaries(changed, dictionaries, count, all);
    const size_t bytes = g->bytes - sum_bytes(changed->dictionaries, changed->count) + sum_bytes(all, merged);
    if (bytes > DICTIONARIES_BYTES) {
        free(all);
        free(new_name);
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "glossary: more than %d MiB together", DICTIONARIES_BYTES >> 20);
    }
    for (size_t i = 0; i < merged; i++)
        dictionary_hold(all[i]);
    for (size_t i = 0; i < changed->count; i++)
        dictionary_release(changed->dictionaries[i]);
    free(changed->dictionaries);
    changed->dictionaries = all;
    changed->count = merged;
    g->bytes = bytes;
    if (name) {
        free(changed->name);
        changed->name = new_name;
    }
    return TR_OK;
}

/* As it is usually written. */
static bool make_uuid(char uuid[37])
{
    char id[ID + 1];
    if (!id_make(id))
        return false;
    snprintf(uuid, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", id, id + 8, id + 12, id + 16, id + 20);
    return true;
}

static void write_time(char iso[32])
{
    struct timespec now;
    struct tm utc;
    timespec_get(&now, TIME_UTC);
    gmtime_r(&now.tv_sec, &utc);
    const size_t size = strftime(iso, 20, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(iso + size, 32 - size, ".%06ldZ", now.tv_nsec / 1000);
}

tr_status glossaries_add(glossaries *g, const char *key, const char *name, dictionary *const *dictionaries, size_t count,
                         const glossary **made, tr_error *error)
{
    *made = NULL;
    if (g->count == GLOSSARIES)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "glossary: there are %d", GLOSSARIES);
    glossary *const new = calloc(1, sizeof *new);
    if (!new)
        return tr_fail_memory(error, "glossary");
    write_time(new->created);
    tr_status status = TR_OK;
    if ((key && !(new->key = strdup(key))) || !make_uuid(new->id))
        status = tr_fail_memory(error, "glossary");
    if (status == TR_OK)
        status = glossaries_change(g, new, name, dictionaries, count, error);
    if (status != TR_OK) {
        free_glossary(new);
        return status;
    }
    *g->end = new;
    g->end = &new->next;
    g->count++;
    *made = new;
    return TR_OK;
}

void glossaries_remove(glossaries *g, glossary *removed)
{
    glossary **at = &g->first;
    while (*at != removed)
        at = &(*at)->next;
    *at = removed->next;
    if (g->end == &removed->next)
        g->end = at;
    g->count--;
    g->bytes -= sum_bytes(removed->dictionaries, removed->count);
    free_glossary(removed);
}

void glossaries_remove_dictionary(glossaries *g, glossary *of, dictionary *removed)
{
    size_t i = 0;
    while (of->dictionaries[i] != removed)
        i++;
    of->count--;
    memmove(of->dictionaries + i, of->dictionaries + i + 1, (of->count - i) * sizeof *of->dictionaries);
    g->bytes -= removed->bytes;
    dictionary_release(removed);
}
