#define _GNU_SOURCE
#include "serve/deepl.h"

#include <stdio.h>
#include <string.h>

#include "serve/glossaries.h"
#include "serve/models.h"

enum { MAX_DICTIONARIES = 100, MAX_NAME = 1024 }; /* of a request, bytes */

/* ----------------------------------------------------------------------------------------------------------------- pairs */

/* Whether a code before index i has the same language. */
static bool is_repeated(const json_t *codes, size_t i)
{
    const char *const code = json_string_value(json_array_get(codes, i));
    const size_t size = strcspn(code, "-");
    for (size_t k = 0; k < i; k++) {
        const char *const other = json_string_value(json_array_get(codes, k));
        if (strcspn(other, "-") == size && memcmp(other, code, size) == 0)
            return true;
    }
    return false;
}

static bool append_pairs(json_t *list, const char *source, const json_t *targets)
{
    const size_t size = strcspn(source, "-");
    for (size_t i = 0; i < json_array_size(targets); i++) {
        const char *const target = json_string_value(json_array_get(targets, i));
        const size_t target_size = strcspn(target, "-");
        if (is_repeated(targets, i) || (size == target_size && memcmp(source, target, size) == 0))
            continue;
        if (json_array_append_new(
                list, json_pack("{s: s%, s: s%}", "source_lang", source, size, "target_lang", target, target_size)))
            return false;
    }
    return true;
}

void deepl_glossary_pairs(request *r)
{
    const models *const m = r->server->models;
    const json_t *const sources = models_sources(m);
    json_t *const list = json_array();
    for (size_t i = 0; i < json_array_size(sources); i++) {
        const char *const source = json_string_value(json_array_get(sources, i));
        if (is_repeated(sources, i) || append_pairs(list, source, models_targets_of(m, source)))
            continue;
        json_decref(list);
        answer_json(r, 200, NULL);
        return;
    }
    answer_json(r, 200, json_pack("{s: o}", "supported_languages", list));
}

/* --------------------------------------------------------------------------------------------------------------- answers */

static json_t *pack_dictionary(const dictionary *d)
{
    return json_pack("{s: s, s: s, s: I}", "source_lang", d->source, "target_lang", d->target, "entry_count",
                     (json_int_t)d->entries);
}

static json_t *pack_v3(const glossary *of)
{
    json_t *const list = json_array();
    for (size_t i = 0; i < of->count; i++)
        json_array_append_new(list, pack_dictionary(of->dictionaries[i]));
    return json_pack("{s: s, s: s, s: s, s: o}", "glossary_id", of->id, "name", of->name, "creation_time", of->created,
                     "dictionaries", list);
}

/* Version 2 knows glossaries with one dictionary. */
static json_t *pack_v2(const glossary *of)
{
    const dictionary *const d = of->dictionaries[0];
    return json_pack("{s: s, s: s, s: b, s: s, s: s, s: s, s: I}", "glossary_id", of->id, "name", of->name, "ready", 1,
                     "source_lang", d->source, "target_lang", d->target, "creation_time", of->created, "entry_count",
                     (json_int_t)d->entries);
}

static void answer_list(request *r, bool v2)
{
    json_t *const list = json_array();
    for (const glossary *g = NULL; (g = glossaries_next(r->server->glossaries, r->key, g));)
        if (!v2 || g->count == 1)
            json_array_append_new(list, v2 ? pack_v2(g) : pack_v3(g));
    answer_json(r, 200, json_pack("{s: o}", "glossaries", list));
}

/* Too many glossaries are a quota of DeepL's. */
static void answer_refusal(request *r, const tr_error *error)
{
    if (error->status == TR_ERROR_UNSUPPORTED)
        answer_error(r, 456, "Quota exceeded: %s", error->message);
    else
        answer_failure(r, error);
}

/* The glossary that the path names. NULL: there is none, which has been answered. */
static glossary *find_glossary(request *r, bool v2)
{
    glossary *const found = glossaries_get(r->server->glossaries, r->key, request_part(r));
    if (found && (!v2 || found->count == 1))
        return found;
    answer_error(r, 404, "Glossary not found");
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------------- reading */

static const char *required_text(request *r, const json_t *from, const char *name)
{
    const char *const text = json_string_value(json_object_get(from, name));
    if (text && *text)
        return text;
    answer_error(r, 400, "Missing or invalid argument: %s", name);
    return NULL;
}

/* Reads the parameters of a dictionary. to: the glossary whose entries for the same languages stay; NULL: none. NULL: they
 * are wrong, which has been answered. */
static dictionary *read_dictionary(request *r, const json_t *from, const glossary *to)
{
    const char *source, *target, *entries, *format;
    dictionary *made;
    tr_error error;
    if (!(source = required_text(r, from, "source_lang")) || !(target = required_text(r, from, "target_lang")) ||
        !(entries = required_text(r, from, "entries")) || !(format = required_text(r, from, "entries_format")))
        return NULL;
    const bool csv = strcmp(format, "csv") == 0;
    if (!csv && strcmp(format, "tsv") != 0)
        answer_error(r, 400, "Value for 'entries_format' not supported: it may be tsv or csv.");
    else if (models_check(r->server->models, source, target, &error) != TR_OK)
        answer_error(r, 400, "Unsupported glossary source and target language pair: %s", error.message);
    else if (dictionary_read(source, target, csv ? ENTRIES_CSV : ENTRIES_TSV, entries,
                             json_string_length(json_object_get(from, "entries")),
                             to ? glossary_dictionary(to, source, target) : NULL, &made, &error) != TR_OK)
        answer_refusal(r, &error);
    else
        return made;
    return NULL;
}

/* The dictionaries of a request, also as a form has them, dictionaries[0].source_lang: a new array; NULL: there are none. */
static json_t *gather_dictionaries(const request *r)
{
    static const char *const names[] = {"source_lang", "target_lang", "entries", "entries_format"};
    json_t *const given = json_object_get(r->fields, "dictionaries");
    if (given && !json_is_null(given))
        return json_incref(given);
    json_t *const list = json_array();
    for (size_t i = 0; i <= MAX_DICTIONARIES; i++) {
        json_t *const one = json_object();
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            char name[64];
            snprintf(name, sizeof name, "dictionaries[%zu].%s", i, names[k]);
            json_object_set(one, names[k], json_object_get(r->fields, name)); /* unless it is missing */
        }
        const size_t size = json_object_size(one);
        if (json_array_append_new(list, one) || !size) {
            json_array_remove(list, i);
            break;
        }
    }
    if (json_array_size(list))
        return list;
    json_decref(list);
    return NULL;
}

typedef struct dictionaries {
    dictionary *items[MAX_DICTIONARIES];
    size_t count;
} dictionaries;

static void release_all(dictionaries *all)
{
    for (size_t i = 0; i < all->count; i++)
        dictionary_release(all->items[i]);
}

/* Reads the dictionaries of a request, which may have none. False: they are wrong, which has been answered. */
static bool read_dictionaries(request *r, const glossary *to, dictionaries *all)
{
    json_t *const list = gather_dictionaries(r);
    const size_t count = json_array_size(list);
    size_t bytes = 0;
    bool good = !list || (json_is_array(list) && count <= MAX_DICTIONARIES);
    all->count = 0;
    if (!good)
        answer_error(r, 400, "Value for 'dictionaries' not supported: it is no list of at most %d.", MAX_DICTIONARIES);
    for (size_t i = 0; good && i < count; i++) {
        dictionary *const made = read_dictionary(r, json_array_get(list, i), to);
        good = made;
        if (!made)
            break;
        all->items[all->count++] = made;
        bytes += made->bytes;
        if (bytes > DICTIONARIES_BYTES) { /* what comes then is not even read */
            answer_error(r, 456, "Quota exceeded: the dictionaries are too large");
            good = false;
        }
    }
    json_decref(list);
    if (!good)
        release_all(all);
    return good;
}

/* *name: NULL if it is missing and need not be there. */
static bool read_name(request *r, bool required, const char **name)
{
    const json_t *const field = json_object_get(r->fields, "name");
    *name = json_string_value(field);
    if (*name ? **name && strlen(*name) <= MAX_NAME : !required && (!field || json_is_null(field)))
        return true;
    answer_error(r, 400, "Missing or invalid argument: name");
    return false;
}

/* ------------------------------------------------------------------------------------------------------------- version 2 */

void deepl_glossaries_create(request *r)
{
    const char *name;
    const glossary *made;
    tr_error error;
    if (!read_name(r, true, &name))
        return;
    dictionary *const d = read_dictionary(r, r->fields, NULL);
    if (!d)
        return;
    if (glossaries_add(r->server->glossaries, r->key, name, &d, 1, &made, &error) == TR_OK)
        answer_json(r, 201, pack_v2(made));
    else
        answer_refusal(r, &error);
    dictionary_release(d);
}

void deepl_glossaries_list(request *r)
{
    answer_list(r, true);
}

void deepl_glossary_get(request *r)
{
    const glossary *const found = find_glossary(r, true);
    if (found)
        answer_json(r, 200, pack_v2(found));
}

void deepl_glossary_entries(request *r)
{
    const glossary *const found = find_glossary(r, true);
    if (found)
        answer_bytes(r, 200, "text/tab-separated-values; charset=utf-8", found->dictionaries[0]->tsv.data,
                     found->dictionaries[0]->tsv.size);
}

void deepl_glossary_delete(request *r)
{
    glossary *const found = find_glossary(r, false);
    if (!found)
        return;
    glossaries_remove(r->server->glossaries, found);
    answer_memory(r, 204, NULL, NULL, 0);
}

/* ------------------------------------------------------------------------------------------------------------- version 3 */

void deepl_multilingual_create(request *r)
{
    const char *name;
    const glossary *made;
    dictionaries all;
    tr_error error;
    if (!read_name(r, true, &name) || !read_dictionaries(r, NULL, &all))
        return;
    if (!all.count)
        answer_error(r, 400, "Missing or invalid argument: dictionaries");
    else if (glossaries_add(r->server->glossaries, r->key, name, all.items, all.count, &made, &error) == TR_OK)
        answer_json(r, 201, pack_v3(made));
    else
        answer_refusal(r, &error);
    release_all(&all);
}

void deepl_multilingual_list(request *r)
{
    answer_list(r, false);
}

void deepl_multilingual_get(request *r)
{
    const glossary *const found = find_glossary(r, false);
    if (found)
        answer_json(r, 200, pack_v3(found));
}

void deepl_multilingual_patch(request *r)
{
    glossary *const found = find_glossary(r, false);
    const char *name;
    dictionaries all;
    tr_error error;
    if (!found || !read_name(r, false, &name) || !read_dictionaries(r, found, &all))
        return;
    if (glossaries_change(r->server->glossaries, found, name, all.items, all.count, &error) == TR_OK)
        answer_json(r, 200, pack_v3(found));
    else
        answer_refusal(r, &error);
    release_all(&all);
}

/* The dictionary that source_lang and target_lang name. NULL: it has been answered. */
static dictionary *find_dictionary(request *r, const glossary *of)
{
    const char *source, *target;
    if (!(source = required_text(r, r->fields, "source_lang")) || !(target = required_text(r, r->fields, "target_lang")))
        return NULL;
    dictionary *const found = glossary_dictionary(of, source, target);
    if (!found)
        answer_error(r, 404, "Dictionary not found");
    return found;
}

void deepl_multilingual_entries(request *r)
{
    const glossary *const of = find_glossary(r, false);
    const dictionary *const d = of ? find_dictionary(r, of) : NULL;
    if (d)
        answer_json(r, 200,
                    json_pack("{s: [{s: s, s: s, s: s%, s: s}]}", "dictionaries", "source_lang", d->source, "target_lang",
                              d->target, "entries", d->tsv.data, d->tsv.size, "entries_format", "tsv"));
}

void deepl_dictionary_put(request *r)
{
    glossary *const found = find_glossary(r, false);
    dictionary *const d = found ? read_dictionary(r, r->fields, NULL) : NULL;
    tr_error error;
    if (!d)
        return;
    if (glossaries_change(r->server->glossaries, found, NULL, &d, 1, &error) == TR_OK)
        answer_json(r, 200, pack_dictionary(d));
    else
        answer_refusal(r, &error);
    dictionary_release(d);
}

void deepl_dictionary_delete(request *r)
{
    glossary *const found = find_glossary(r, false);
    dictionary *const d = found ? find_dictionary(r, found) : NULL;
    if (!d)
        return;
    glossaries_remove_dictionary(r->server->glossaries, found, d);
    answer_memory(r, 204, NULL, NULL, 0);
}
