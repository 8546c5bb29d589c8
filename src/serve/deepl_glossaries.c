#define _GNU_SOURCE
#include "serve/deepl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/glossaries.h"
#include "serve/loop.h"
#include "serve/models.h"

enum {
    MAX_DICTIONARIES = 100, /* of a request */
    MAX_NAME = 1024,        /* bytes */
    LARGE = 32 << 10,       /* bytes of entries that are read in another thread */
};

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

/* The dictionaries of a request, also as a form has them, dictionaries[0].source_lang: a new value; NULL: out of memory. */
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
    return list;
}

/* Dictionaries of a request on their way: large ones are read in another thread. */
typedef struct reading {
    request *request; /* NULL: the client left */
    json_t *list;     /* of their parameters, which stay when the request ends */
    bool merge;       /* their entries are added to those of the glossary that the path names */
    struct {
        const char *source, *target, *entries;
        size_t size;
        entries_format format;
        dictionary *before; /* that they are added to; NULL: none */
        dictionary *made;
    } items[MAX_DICTIONARIES];
    size_t count;
    tr_error error; /* of the reading */
    void (*done)(request *r, dictionary *const *made, size_t count);
} reading;

/* Those that were made, and those before. */
static void release_dictionaries(reading *of)
{
    for (size_t i = 0; i < of->count; i++) {
        dictionary_release(of->items[i].before);
        dictionary_release(of->items[i].made);
        of->items[i].before = of->items[i].made = NULL;
    }
}

static void free_reading(reading *of)
{
    release_dictionaries(of);
    json_decref(of->list);
    free(of);
}

/* Checks the parameters of a dictionary. False: they are wrong, which has been answered. */
static bool check_dictionary(reading *of, const json_t *from)
{
    request *const r = of->request;
    const char *source, *target, *entries, *format;
    tr_error error;
    if (!(source = required_text(r, from, "source_lang")) || !(target = required_text(r, from, "target_lang")) ||
        !(entries = required_text(r, from, "entries")) || !(format = required_text(r, from, "entries_format")))
        return false;
    const bool csv = strcmp(format, "csv") == 0;
    if (!csv && strcmp(format, "tsv") != 0) {
        answer_error(r, 400, "Value for 'entries_format' not supported: it may be tsv or csv.");
        return false;
    }
    if (models_check(r->server->models, source, target, &error) != TR_OK) {
        answer_error(r, 400, "Unsupported glossary source and target language pair: %s", error.message);
        return false;
    }
    of->items[of->count].source = source;
    of->items[of->count].target = target;
    of->items[of->count].entries = entries;
    of->items[of->count].size = json_string_length(json_object_get(from, "entries"));
    of->items[of->count++].format = csv ? ENTRIES_CSV : ENTRIES_TSV;
    return true;
}

/* In the loop or in a thread: what it reads nobody changes. */
static void read_entries(void *argument)
{
    reading *const of = argument;
    size_t bytes = 0;
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < of->count; i++) {
        status = dictionary_read(of->items[i].source, of->items[i].target, of->items[i].format, of->items[i].entries,
                                 of->items[i].size, of->items[i].before, &of->items[i].made, &of->error);
        if (status == TR_OK && (bytes += of->items[i].made->bytes) > DICTIONARIES_BYTES)
            status = tr_fail(&of->error, TR_ERROR_UNSUPPORTED, "the dictionaries are too large");
    }
    of->error.status = status;
}

/* Holds the dictionaries of the glossary that the entries are added to. False: they are those that are held already. */
static bool take_before(reading *of)
{
    const glossary *const to =
        of->merge ? glossaries_get(of->request->server->glossaries, of->request->key, request_part(of->request)) : NULL;
    bool changed = false;
    for (size_t i = 0; i < of->count; i++) {
        dictionary *const before = to ? glossary_dictionary(to, of->items[i].source, of->items[i].target) : NULL;
        changed = changed || before != of->items[i].before;
    }
    if (!changed)
        return false;
    release_dictionaries(of);
    for (size_t i = 0; i < of->count; i++) {
        dictionary *const before = to ? glossary_dictionary(to, of->items[i].source, of->items[i].target) : NULL;
        of->items[i].before = before ? dictionary_hold(before) : NULL;
    }
    return true;
}

static void start_reading(reading *of);

static void end_reading(void *argument)
{
    reading *const of = argument;
    request *const r = of->request;
    dictionary *made[MAX_DICTIONARIES];
    if (r && take_before(of)) { /* somebody else has changed the glossary meanwhile */
        start_reading(of);
        return;
    }
    for (size_t i = 0; i < of->count; i++)
        made[i] = of->items[i].made;
    if (r)
        request_on_leave(r, NULL, NULL);
    if (r && of->error.status != TR_OK)
        answer_refusal(r, &of->error);
    else if (r)
        of->done(r, made, of->count);
    free_reading(of);
}

static void start_reading(reading *of)
{
    size_t size = 0;
    for (size_t i = 0; i < of->count; i++)
        size += of->items[i].size + (of->items[i].before ? of->items[i].before->tsv.size : 0);
    tr_fail(&of->error, TR_ERROR_CANCELLED, "the server ends"); /* if it is not run */
    if (size > LARGE && loop_work(of->request->server->loop, read_entries, end_reading, of))
        return;
    if (size <= LARGE)
        read_entries(of);
    end_reading(of);
}

static void leave_reading(void *argument)
{
    ((reading *)argument)->request = NULL;
}

/* Reads dictionaries, list (which it takes; NULL: out of memory), and calls done with them. What is wrong is answered. */
static void read_dictionaries(request *r, json_t *list, bool merge,
                              void (*done)(request *r, dictionary *const *made, size_t count))
{
    const size_t count = json_array_size(list);
    if (list && (!json_is_array(list) || count > MAX_DICTIONARIES)) {
        answer_error(r, 400, "Value for 'dictionaries' not supported: it is no list of at most %d.", MAX_DICTIONARIES);
        json_decref(list);
        return;
    }
    reading *const of = list ? calloc(1, sizeof *of) : NULL;
    if (!of) {
        json_decref(list);
        answer_error(r, 503, "out of memory");
        return;
    }
    *of = (reading){.request = r, .list = list, .merge = merge, .done = done};
    for (size_t i = 0; i < count; i++)
        if (!check_dictionary(of, json_array_get(list, i))) {
            free_reading(of);
            return;
        }
    request_on_leave(r, leave_reading, of);
    take_before(of);
    start_reading(of);
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

static void create_v2(request *r, dictionary *const *made, size_t count)
{
    const glossary *new;
    tr_error error;
    if (glossaries_add(r->server->glossaries, r->key, request_text(r, "name"), made, count, &new, &error) == TR_OK)
        answer_json(r, 201, pack_v2(new));
    else
        answer_refusal(r, &error);
}

void deepl_glossaries_create(request *r)
{
    const char *name;
    if (read_name(r, true, &name))
        read_dictionaries(r, json_pack("[O]", r->fields), false, create_v2);
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

static void create_v3(request *r, dictionary *const *made, size_t count)
{
    const glossary *new;
    tr_error error;
    if (!count)
        answer_error(r, 400, "Missing or invalid argument: dictionaries");
    else if (glossaries_add(r->server->glossaries, r->key, request_text(r, "name"), made, count, &new, &error) == TR_OK)
        answer_json(r, 201, pack_v3(new));
    else
        answer_refusal(r, &error);
}

void deepl_multilingual_create(request *r)
{
    const char *name;
    if (read_name(r, true, &name))
        read_dictionaries(r, gather_dictionaries(r), false, create_v3);
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

static void change_glossary(request *r, dictionary *const *made, size_t count)
{
    glossary *const found = find_glossary(r, false);
    tr_error error;
    if (!found)
        return;
    if (glossaries_change(r->server->glossaries, found, request_text(r, "name"), made, count, &error) == TR_OK)
        answer_json(r, 200, pack_v3(found));
    else
        answer_refusal(r, &error);
}

void deepl_multilingual_patch(request *r)
{
    const char *name;
    if (find_glossary(r, false) && read_name(r, false, &name))
        read_dictionaries(r, gather_dictionaries(r), true, change_glossary);
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

static void put_dictionary(request *r, dictionary *const *made, size_t count)
{
    glossary *const found = find_glossary(r, false);
    tr_error error;
    if (!found)
        return;
    if (glossaries_change(r->server->glossaries, found, NULL, made, count, &error) == TR_OK)
        answer_json(r, 200, pack_dictionary(*made));
    else
        answer_refusal(r, &error);
}

void deepl_dictionary_put(request *r)
{
    if (find_glossary(r, false))
        read_dictionaries(r, json_pack("[O]", r->fields), false, put_dictionary);
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
