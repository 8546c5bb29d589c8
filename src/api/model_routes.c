/* The way from one language to another over the models of a folder; the rules are those of tr_model_index_route. */
#include "api/model_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/language_codes.h"

/* One model for a pair. */
typedef struct step {
    const tr_indexed *item; /* NULL: there is none */
    const char *source, *target;
    int distance; /* sum over both sides of distance(requested language, language of the model) */
} step;

/* ------------------------------------------------------------------------------------------------------------ one model */

/* The distance between the requested language and that of a model: 0 if they are equal. A region that the model leaves open
 * counts least, another region more, an unusual script most. In Chinese a region stands for a script. */
static int distance(const char *wanted, const char *has)
{
    enum { UNUSUAL_SCRIPT = 4 }; /* more than any region */
    static const int regions[TR_REGIONS_SAME + 1] = {[TR_REGIONS_DIFFER] = 2, [TR_REGION_HAS_OPEN] = 1};
    char base[4];
    const int match = tr_language_match(wanted, has);
    if (match == TR_LANGUAGE_ALIKE)
        return 0;
    const bool unusual = match / TR_LANGUAGE_REGIONS == TR_SCRIPTS_UNUSUAL;
    const bool chinese = tr_language_base(wanted, base) && strcmp(base, "zh") == 0;
    return (unusual ? UNUSUAL_SCRIPT : 0) + (chinese ? 0 : regions[match % TR_LANGUAGE_REGIONS]);
}

static bool is_one_pair(const tr_indexed *item)
{
    return item->sources.count == 1 && item->targets.count == 1 + (size_t)item->peek.traditional;
}

static bool is_better(const step *a, const step *b)
{
    if (!b->item)
        return true;
    if (a->distance != b->distance)
        return a->distance < b->distance;
    if (is_one_pair(a->item) != is_one_pair(b->item))
        return is_one_pair(a->item);
    return a->item->peek.file_size > b->item->peek.file_size; /* sorted by name */
}

static step serve(const tr_indexed *item, const char *source, const char *target)
{
    const int from = tr_languages_find(&item->sources, source), to = tr_languages_find(&item->targets, target);
    if (from < 0 || to < 0)
        return (step){0};
    const char *s = item->sources.items[from].code, *t = item->targets.items[to].code;
    if (tr_language_match(s, t)) /* one language */
        return (step){0};
    return (step){item, s, t, distance(source, s) + distance(target, t)};
}

static step find_step(const tr_model_index *models, const char *source, const char *target)
{
    step best = {0};
    for (size_t i = 0; i < models->count; i++) {
        const step candidate = serve(&models->items[i], source, target);
        if (candidate.item && is_better(&candidate, &best))
            best = candidate;
    }
    return best;
}

/* ----------------------------------------------------------------------------------------------------------- two models */

typedef struct steps {
    step first, second; /* item NULL: there are none */
} steps;

static bool is_same(const char *a, const char *b)
{
    char one[4], other[4];
    return tr_language_base(a, one) && tr_language_base(b, other) ? strcmp(one, other) == 0 : strcmp(a, b) == 0;
}

static steps find_over(const tr_model_index *models, const char *source, const char *over, const char *target)
{
    if (is_same(source, over) || is_same(over, target))
        return (steps){0};
    const step first = find_step(models, source, over);
    const step second = first.item ? find_step(models, first.target, target) : first;
    return second.item ? (steps){first, second} : (steps){0};
}

/* Returns -1 if a is better, 0 if both are equally good, 1 if a is worse. */
static int compare_steps(const steps *a, const steps *b)
{
    const int far_a = a->first.distance + a->second.distance, far_b = b->first.distance + b->second.distance;
    const bool two_a = a->first.item != a->second.item, two_b = b->first.item != b->second.item;
    const uint64_t size_a = a->first.item->peek.file_size + (two_a ? a->second.item->peek.file_size : 0);
    const uint64_t size_b = b->first.item->peek.file_size + (two_b ? b->second.item->peek.file_size : 0);
    if (far_a != far_b)
        return far_a < far_b ? -1 : 1;
    if (two_a != two_b)
        return two_b ? -1 : 1;
    if (size_a != size_b)
        return size_a < size_b ? -1 : 1;
    const int code = strcmp(a->first.target, b->first.target);
    return code < 0 ? -1 : code > 0;
}

static bool has_languages(const tr_model_index *models, const char *source, const char *target)
{
    bool from = false, to = false;
    for (size_t i = 0; i < models->count && !(from && to); i++) {
        from = from || tr_languages_find(&models->items[i].sources, source) >= 0;
        to = to || tr_languages_find(&models->items[i].targets, target) >= 0;
    }
    return from && to;
}

/* Each language that a model with the source leads to is tried once. */
static tr_status find_over_any(const tr_model_index *models, const char *source, const char *target, steps *best,
                               tr_error *error)
{
    tr_languages tried = {0};
    char base[4];
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < models->count; i++) {
        const tr_indexed *item = &models->items[i];
        if (tr_languages_find(&item->sources, source) < 0)
            continue;
        for (size_t k = 0; status == TR_OK && k < item->targets.count; k++) {
            const char *code = item->targets.items[k].code;
            const char *over = tr_language_base(code, base) ? base : code;
            const size_t before = tried.count;
            status = tr_languages_add(&tried, over, strlen(over), 0, error);
            if (tried.count == before)
                continue;
            const steps found = find_over(models, source, over, target);
            if (found.first.item && (!best->first.item || compare_steps(&found, best) < 0))
                *best = found;
        }
    }
    tr_languages_free(&tried);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- messages */

/* Appends a code unless it is there already; "..." once it is full. */
static void list_code(char *list, size_t room, const char *code)
{
    static const char more[] = ", ...";
    const size_t used = strlen(list), size = strlen(code);
    for (const char *at = list; (at = strstr(at, code)); at += size)
        if ((at == list || at[-1] == ' ') && (at[size] == ',' || !at[size]))
            return;
    if (used >= sizeof more && strcmp(list + used - (sizeof more - 1), more) == 0)
        return;
    if (used + size + 2 + sizeof more > room)
        memcpy(list + used, more, sizeof more);
    else
        snprintf(list + used, room - used, "%s%s", used ? ", " : "", code);
}

/* The languages on one side of the models that have a language on the other. */
static void list_side(const tr_model_index *models, const char *wanted, bool to, char *list, size_t room)
{
    *list = 0;
    for (size_t i = 0; i < models->count; i++) {
        const tr_indexed *item = &models->items[i];
        const tr_languages *has = to ? &item->targets : &item->sources, *others = to ? &item->sources : &item->targets;
        if (tr_languages_find(has, wanted) < 0)
            continue;
        for (size_t k = 0; k < others->count; k++)
            if (!tr_language_match(wanted, others->items[k].code))
                list_code(list, room, others->items[k].code);
    }
    if (!*list)
        snprintf(list, room, "none");
}

static tr_status no_route(const tr_model_index *models, const char *source, const char *target, tr_error *error)
{
    char from[120], to[120];
    if (!models->count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "%s: there is no model in it", models->folder);
    if (tr_language_match(source, target))
        return tr_fail(error, TR_ERROR_ARGUMENT, "%.40s to %.40s: they are one language", source, target);
    list_side(models, source, false, from, sizeof from);
    list_side(models, target, true, to, sizeof to);
    return tr_fail(error, TR_ERROR_ARGUMENT,
                   "%.40s to %.40s: no model of %.100s has it, nor do two together; from %.40s to: %s; to %.40s from: %s",
                   source, target, models->folder, source, from, target, to);
}

/* ---------------------------------------------------------------------------------------------------------------- route */

static void add_hop(tr_route *route, const step *s)
{
    route->steps[route->count++] = (tr_route_step){s->item->path, s->source, s->target};
}

tr_status tr_find_route(const tr_model_index *models, const char *source, const char *target, tr_route *route,
                        tr_error *error)
{
    if (!models || !source || !target || !route)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_model_index_route: an argument is NULL");
    *route = (tr_route){0};
    const step direct = find_step(models, source, target);
    if (direct.item) {
        add_hop(route, &direct);
        return TR_OK;
    }
    steps both = {0};
    tr_status status = TR_OK;
    const bool possible = !is_same(source, target) && has_languages(models, source, target);
    if (possible)
        both = find_over(models, source, "en", target);
    if (possible && !both.first.item)
        status = find_over_any(models, source, target, &both, error);
    if (status != TR_OK)
        return status;
    if (!both.first.item)
        return no_route(models, source, target, error);
    add_hop(route, &both.first);
    add_hop(route, &both.second);
    return TR_OK;
}
