#include "serve/models.h"

#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/model_index.h"
#include "cli/model.h"
#include "serve/languages.h"
#include "serve/model_pairs.h"
#include "serve/served.h"
#include "util/folder.h"

/* ------------------------------------------------------------------------------------------------------------ the folder */

tr_status models_folder(const cli_settings *settings, char folder[TR_PATH], tr_error *error)
{
    char path[TR_PATH];
    const char *const wanted = settings->models ? settings->models : cli_model_wanted(settings);
    if (wanted ? snprintf(path, sizeof path, "%s", wanted) >= TR_PATH : !cli_default_model(path))
        return tr_fail(error, TR_ERROR_IO, "no models: there is no %s; --models names a folder", tr_default_model_path());
    snprintf(folder, TR_PATH, "%s", settings->models ? path : dirname(path));
    return TR_OK;
}

static tr_status open_index(const cli_settings *settings, tr_model_index **index, tr_error *error)
{
    char folder[TR_PATH];
    const char *warning;
    if (settings->model)
        return tr_model_index_of_one(settings->model, index, error);
    tr_status status = models_folder(settings, folder, error);
    if (status == TR_OK)
        status = tr_model_index_open(folder, index, error);
    if (status != TR_OK)
        return status;
    for (size_t i = 0; (warning = tr_model_index_warning(*index, i)); i++)
        cli_warn(settings, "%s", warning);
    if (tr_model_index_count(*index))
        return TR_OK;
    tr_model_index_close(*index);
    *index = NULL;
    return tr_fail(error, TR_ERROR_IO, "%s: there is no model in it that can be used", folder);
}

/* -------------------------------------------------------------------------------------------------------------- reading it
 */

/* A route that was looked for before: it takes comparing all languages of all models. */
typedef struct known_route {
    char source[LANGUAGE], target[LANGUAGE];
    tr_route route; /* count 0: there is none */
} known_route;

enum { KNOWN = 256 };

/* What is read from the folder. */
typedef struct content {
    tr_model_index *index;
    model_pairs *pairs;
    served **served; /* [count] the model of each entry of the index */
    size_t count;
    served **ranked; /* [ranked_count] those with one that translates back, which have been asked for */
    size_t ranked_count;
    known_route *known; /* [KNOWN] by a hash of the codes; a new one takes the place of another */
} content;

struct models {
    served_list list;
    content content;
};

static bool is_among(served *const *list, size_t count, const served *model)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == model)
            return true;
    return false;
}

/* Whether the content has the file that another content had, unchanged. */
static bool keeps_file(const content *c, const content *before, const char *path)
{
    for (size_t i = 0; i < before->count; i++)
        if (strcmp(served_path(before->served[i]), path) == 0)
            return is_among(c->served, c->count, before->served[i]);
    return false;
}

/* Models that `other` has as well go on. */
static void drop_content(content *c, const content *other)
{
    for (size_t i = 0; i < c->count; i++)
        if (!is_among(other->served, other->count, c->served[i]))
            served_retire(c->served[i]);
    for (size_t i = 0; i < c->ranked_count; i++)
        if (!is_among(other->ranked, other->ranked_count, c->ranked[i]))
            served_retire(c->ranked[i]);
    free(c->served);
    free(c->ranked);
    free(c->known);
    model_pairs_free(c->pairs);
    tr_model_index_close(c->index);
    *c = (content){0};
}

/* The model of a file: the one that serves it already, if the file is the same. NULL: out of memory. */
static served *take_served(models *m, const char *path)
{
    const uint64_t stamp = served_stamp(path);
    for (size_t i = 0; i < m->content.count; i++)
        if (served_is(m->content.served[i], path, stamp))
            return m->content.served[i];
    return served_add(&m->list, path, NULL, stamp);
}

static tr_status read_content(models *m, content *c, tr_error *error)
{
    tr_status status = open_index(m->list.server->settings, &c->index, error);
    if (status != TR_OK)
        return status;
    const size_t count = tr_model_index_count(c->index);
    if (!(c->pairs = model_pairs_create(c->index, error)))
        return TR_ERROR_MEMORY;
    if (!(c->served = calloc(count, sizeof *c->served)) || !(c->known = calloc(KNOWN, sizeof *c->known)))
        return tr_fail_memory(error, "models");
    for (; c->count < count; c->count++)
        if (!(c->served[c->count] = take_served(m, c->index->items[c->count].path)))
            return tr_fail_memory(error, "models");
    const content *const before = &m->content;
    if (before->ranked_count && !(c->ranked = calloc(before->ranked_count, sizeof *c->ranked)))
        return tr_fail_memory(error, "models");
    for (size_t i = 0; i < before->ranked_count; i++)
        if (keeps_file(c, before, served_path(before->ranked[i])) &&
            keeps_file(c, before, served_reverse(before->ranked[i])))
            c->ranked[c->ranked_count++] = before->ranked[i];
    return TR_OK;
}

tr_status models_reload(models *m, tr_error *error)
{
    content fresh = {0};
    const tr_status status = read_content(m, &fresh, error);
    if (status != TR_OK) {
        drop_content(&fresh, &m->content);
        return status;
    }
    content old = m->content;
    m->content = fresh;
    drop_content(&old, &fresh);
    return TR_OK;
}

size_t models_count(const models *m)
{
    return m->content.count;
}

models *models_create(server *s, tr_error *error)
{
    models *m = calloc(1, sizeof *m);
    if (!m) {
        tr_fail_memory(error, "models");
        return NULL;
    }
    m->list.server = s;
    if (models_reload(m, error) == TR_OK)
        return m;
    models_free(m);
    return NULL;
}

void models_end(models *m)
{
    if (m)
        served_end_all(&m->list);
}

void models_free(models *m)
{
    if (!m)
        return;
    served_free_all(&m->list);
    m->content.count = m->content.ranked_count = 0;
    drop_content(&m->content, &m->content);
    free(m);
}

/* ------------------------------------------------------------------------------------------------------------- languages */

const json_t *models_sources(const models *m)
{
    return model_pairs_sources(m->content.pairs);
}

const json_t *models_targets(const models *m)
{
    return model_pairs_targets(m->content.pairs);
}

const json_t *models_targets_of(const models *m, const char *source)
{
    return model_pairs_from(m->content.pairs, source);
}

const json_t *models_sources_of(const models *m, const char *target)
{
    return model_pairs_to(m->content.pairs, target);
}

/* ------------------------------------------------------------------------------------------------------------------ ways */

static known_route *known_place(const content *c, const char *source, const char *target)
{
    unsigned hash = 0;
    for (const char *at = source; *at; at++)
        hash = hash * 31 + (unsigned char)*at;
    for (const char *at = target; *at; at++)
        hash = hash * 37 + (unsigned char)*at;
    return &c->known[hash % KNOWN];
}

static tr_status look_up_route(const content *c, const char *source, const char *target, tr_route *route, tr_error *error)
{
    known_route *const known = known_place(c, source, target);
    if (strcmp(known->source, source) != 0 || strcmp(known->target, target) != 0) {
        const tr_status status = tr_find_route(c->index, source, target, route, error);
        if (status != TR_OK && status != TR_ERROR_ARGUMENT)
            return status;
        strcpy(known->source, source);
        strcpy(known->target, target);
        known->route = *route;
    }
    *route = known->route;
    return route->count ? TR_OK : TR_ERROR_ARGUMENT;
}

/* The messages go to clients, so they name no files. */
static tr_status find_route(const models *m, const char *source, const char *target, tr_route *route, tr_error *error)
{
    char from[LANGUAGE], to[LANGUAGE];
    if (!language_of(source, from))
        return tr_fail(error, TR_ERROR_ARGUMENT, "%.40s: is not a language", source);
    if (!language_of(target, to))
        return tr_fail(error, TR_ERROR_ARGUMENT, "%.40s: is not a language", target);
    const tr_status status = look_up_route(&m->content, from, to, route, error);
    if (status != TR_ERROR_ARGUMENT)
        return status;
    return tr_fail(error, status, "%s to %s: %s", from, to,
                   language_same(from, to) ? "they are one language" : "no model has it, nor do two together");
}

tr_status models_check(const models *m, const char *source, const char *target, tr_error *error)
{
    tr_route route;
    return find_route(m, source, target, &route, error);
}

static served *served_of_path(const content *c, const char *path)
{
    size_t i = 0;
    while (c->index->items[i].path != path)
        i++;
    return c->served[i];
}

/* The model of a route, with the one that translates back; NULL: there is none, or no memory. */
static served *find_ranked(models *m, const tr_route *route)
{
    content *const c = &m->content;
    const tr_route_step *const step = &route->steps[0];
    tr_route back;
    tr_error error;
    if (route->count != 1 || find_route(m, step->target, step->source, &back, &error) != TR_OK || back.count != 1)
        return NULL;
    for (size_t i = 0; i < c->ranked_count; i++)
        if (strcmp(served_path(c->ranked[i]), step->path) == 0 &&
            strcmp(served_reverse(c->ranked[i]), back.steps[0].path) == 0)
            return c->ranked[i];
    served **const more = realloc(c->ranked, (c->ranked_count + 1) * sizeof *more);
    if (!more)
        return NULL;
    c->ranked = more;
    more[c->ranked_count] = served_add(&m->list, step->path, back.steps[0].path, 0);
    return more[c->ranked_count] ? more[c->ranked_count++] : NULL;
}

tr_status models_find(models *m, const char *source, const char *target, bool ranks, way *found, tr_error *error)
{
    tr_route route;
    *found = (way){0};
    const tr_status status = find_route(m, source, target, &route, error);
    served *const ranked = status == TR_OK && ranks ? find_ranked(m, &route) : NULL;
    for (int i = 0; status == TR_OK && i < route.count; i++) {
        const tr_route_step *const step = &route.steps[i];
        found->steps[i].model = ranked ? ranked : served_of_path(&m->content, step->path);
        snprintf(found->steps[i].source, TR_LANGUAGE, "%s", step->source);
        snprintf(found->steps[i].target, TR_LANGUAGE, "%s", step->target);
        served_hold(found->steps[i].model);
        found->count++;
    }
    return status;
}

void way_release(way *w)
{
    while (w->count)
        served_release(w->steps[--w->count].model);
}

void way_name(const way *w, char name[128])
{
    int size = 0;
    name[0] = 0;
    for (int i = 0; i < w->count; i++)
        size += snprintf(name + size, 64, "%" PRIu64 " %s %s;", served_generation(w->steps[i].model), w->steps[i].source,
                         w->steps[i].target);
}

/* ------------------------------------------------------------------------------------------------------------------ state
 */

static bool is_open(const content *c, size_t model)
{
    bool open = served_is_open(c->served[model]);
    for (size_t i = 0; i < c->ranked_count && !open; i++)
        open = served_is_open(c->ranked[i]) && strcmp(served_path(c->ranked[i]), c->index->items[model].path) == 0;
    return open;
}

json_t *models_list(const models *m)
{
    const content *const c = &m->content;
    json_t *const list = json_array();
    for (size_t i = 0; i < c->count; i++) {
        json_t *const model =
            json_pack("{s:s, s:b, s:o, s:o, s:I}", "name", c->index->items[i].name, "open", is_open(c, i), "sources",
                      model_pairs_of_model(c->pairs, i, false), "targets", model_pairs_of_model(c->pairs, i, true), "bytes",
                      (json_int_t)c->index->items[i].peek.file_size);
        if (json_array_append_new(list, model) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

size_t models_waiting(const models *m)
{
    return served_waiting(&m->list);
}

size_t models_fullest(const models *m)
{
    return served_fullest(&m->list);
}

void models_fill(const models *m, size_t *sentences, size_t *places)
{
    served_fill(&m->list, sentences, places);
}
