#include "serve/model_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "serve/languages.h"
#include "tokenizer/language_codes.h"

enum { SOURCE = 1, TARGET = 2 };

typedef struct code {
    char text[LANGUAGE], base[4];
} code;

struct model_pairs {
    const tr_model_index *index;
    code *codes;          /* [count], sorted */
    size_t count, models; /* languages; models of the index */
    unsigned char *sides; /* [models, count] SOURCE, TARGET */
    json_t **names;       /* [count] the codes, which the arrays share */
    json_t *sources, *targets;
    json_t **from, **to; /* [count] NULL: not yet found */
};

/* ------------------------------------------------------------------------------------------------------------- languages */

static int compare_codes(const void *a, const void *b)
{
    return strcmp(((const code *)a)->text, ((const code *)b)->text);
}

/* A model's own code of its language number i, those of its source side first; NULL: it has no more. */
static const char *own_code(const model_pairs *p, size_t model, size_t i, int *side)
{
    const size_t sources = (size_t)tr_model_index_int(p->index, model, "sources");
    *side = i < sources ? SOURCE : TARGET;
    return i < sources ? tr_model_index_source(p->index, model, i) : tr_model_index_target(p->index, model, i - sources);
}

static bool collect_codes(model_pairs *p)
{
    size_t room = 0, kept = 0;
    int side;
    for (size_t model = 0; model < p->models; model++)
        room += (size_t)(tr_model_index_int(p->index, model, "sources") + tr_model_index_int(p->index, model, "targets"));
    if (!(p->codes = malloc((room + 1) * sizeof *p->codes)))
        return false;
    for (size_t model = 0; model < p->models; model++) {
        const char *own;
        for (size_t i = 0; (own = own_code(p, model, i, &side)); i++) {
            code *const added = &p->codes[p->count];
            p->count += language_of(own, added->text) && tr_language_base(added->text, added->base);
        }
    }
    qsort(p->codes, p->count, sizeof *p->codes, compare_codes);
    for (size_t i = 0; i < p->count; i++)
        if (!kept || compare_codes(&p->codes[kept - 1], &p->codes[i]) != 0)
            p->codes[kept++] = p->codes[i];
    p->count = kept;
    return true;
}

/* The number of a code; count: there is none. */
static size_t find_code(const model_pairs *p, const char *text)
{
    code key;
    if (strlen(text) >= sizeof key.text)
        return p->count;
    strcpy(key.text, text);
    const code *const found = bsearch(&key, p->codes, p->count, sizeof key, compare_codes);
    return found ? (size_t)(found - p->codes) : p->count;
}

static void fill_sides(model_pairs *p)
{
    code key;
    int side;
    for (size_t model = 0; model < p->models; model++) {
        const char *own;
        for (size_t i = 0; (own = own_code(p, model, i, &side)); i++)
            if (language_of(own, key.text))
                p->sides[model * p->count + find_code(p, key.text)] |= (unsigned char)side;
    }
}

/* An array of the languages with wanted[i] & mask; NULL: out of memory. */
static json_t *list_codes(const model_pairs *p, const unsigned char *wanted, unsigned mask)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < p->count; i++)
        if (wanted[i] & mask && json_array_append(list, p->names[i]) < 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

static bool list_sides(model_pairs *p)
{
    unsigned char *any = calloc(p->count + 1, 1);
    for (size_t i = 0; any && i < p->models * p->count; i++)
        any[i % p->count] |= p->sides[i];
    p->sources = any ? list_codes(p, any, SOURCE) : NULL;
    p->targets = any ? list_codes(p, any, TARGET) : NULL;
    free(any);
    return p->sources && p->targets;
}

static bool fill_pairs(model_pairs *p)
{
    if (!collect_codes(p))
        return false;
    p->sides = calloc(p->models * p->count + 1, 1);
    p->names = calloc(p->count + 1, sizeof *p->names);
    p->from = calloc(p->count + 1, sizeof *p->from);
    p->to = calloc(p->count + 1, sizeof *p->to);
    if (!p->sides || !p->names || !p->from || !p->to)
        return false;
    for (size_t i = 0; i < p->count; i++)
        if (!(p->names[i] = json_string(p->codes[i].text)))
            return false;
    fill_sides(p);
    return list_sides(p);
}

model_pairs *model_pairs_create(const tr_model_index *index, tr_error *error)
{
    model_pairs *p = calloc(1, sizeof *p);
    if (p)
        *p = (model_pairs){.index = index, .models = tr_model_index_count(index)};
    if (p && fill_pairs(p))
        return p;
    model_pairs_free(p);
    tr_fail_memory(error, "languages of the models");
    return NULL;
}

static void free_values(json_t **values, size_t count)
{
    for (size_t i = 0; values && i < count; i++)
        json_decref(values[i]);
    free(values);
}

void model_pairs_free(model_pairs *p)
{
    if (!p)
        return;
    free_values(p->names, p->count);
    free_values(p->from, p->count);
    free_values(p->to, p->count);
    json_decref(p->sources);
    json_decref(p->targets);
    free(p->sides);
    free(p->codes);
    free(p);
}

/* ------------------------------------------------------------------------------------------------------------------ ways */

/* REACH_MAYBE: only the search for a route tells. */
enum { REACH_NONE, REACH_MAYBE, REACH_SURE };

static bool same_base(const model_pairs *p, size_t a, size_t b)
{
    return strcmp(p->codes[a].base, p->codes[b].base) == 0;
}

/* Whether there is another code of the same language, with another script or region. Such codes lie side by side. */
static bool has_sibling(const model_pairs *p, size_t i)
{
    return (i > 0 && same_base(p, i, i - 1)) || (i + 1 < p->count && same_base(p, i, i + 1));
}

/* Where models lead directly: to all languages that they have on their side `there`, from i on their side `here`. */
static void reach_directly(const model_pairs *p, size_t i, unsigned here, unsigned there, unsigned char *direct)
{
    for (size_t model = 0; model < p->models; model++) {
        const unsigned char *sides = p->sides + model * p->count;
        for (size_t k = 0; sides[i] & here && k < p->count; k++)
            if (sides[k] & there)
                direct[k] = same_base(p, i, k) ? REACH_MAYBE : REACH_SURE;
    }
}

/* Whether ways from (or to) a language go on with a model: over one that other models lead to directly. One with siblings is
 * no sure stop: the second model may not take the one that the first gives. */
static unsigned char find_stop(const model_pairs *p, unsigned here, const unsigned char *sides, const unsigned char *direct)
{
    unsigned char best = REACH_NONE;
    for (size_t k = 0; best < REACH_SURE && k < p->count; k++)
        if (direct[k] && sides[k] & here)
            best = direct[k] == REACH_SURE && !has_sibling(p, k) ? REACH_SURE : REACH_MAYBE;
    return best;
}

static void reach_over_another(const model_pairs *p, unsigned here, unsigned there, const unsigned char *direct,
                               unsigned char *over)
{
    for (size_t model = 0; model < p->models; model++) {
        const unsigned char *sides = p->sides + model * p->count;
        const unsigned char stop = find_stop(p, here, sides, direct);
        for (size_t k = 0; stop && k < p->count; k++)
            if (sides[k] & there && over[k] < stop)
                over[k] = stop;
    }
}

static bool leads(const model_pairs *p, size_t source, size_t target)
{
    tr_route route;
    return tr_find_route(p->index, p->codes[source].text, p->codes[target].text, &route, NULL) == TR_OK;
}

/* The other ends of the ways from, or to, language i on the side `here`. */
static json_t *find_ends(const model_pairs *p, size_t i, unsigned here, unsigned there)
{
    unsigned char *const direct = calloc(2 * p->count, 1);
    if (!direct)
        return NULL;
    unsigned char *const over = direct + p->count;
    reach_directly(p, i, here, there, direct);
    reach_over_another(p, here, there, direct, over);
    for (size_t k = 0; k < p->count; k++) {
        const bool sure = direct[k] == REACH_SURE || (over[k] == REACH_SURE && !same_base(p, i, k));
        if (k == i)
            direct[k] = false;
        else if (!sure && (direct[k] || over[k]))
            direct[k] = here == SOURCE ? leads(p, i, k) : leads(p, k, i);
        else
            direct[k] = sure;
    }
    json_t *const list = list_codes(p, direct, true);
    free(direct);
    return list;
}

static const json_t *look_up_ends(model_pairs *p, json_t **ends, const char *text, unsigned here, unsigned there)
{
    const size_t i = find_code(p, text);
    bool has_side = false;
    for (size_t model = 0; i < p->count && model < p->models; model++)
        has_side |= p->sides[model * p->count + i] & here;
    if (has_side && !ends[i])
        ends[i] = find_ends(p, i, here, there);
    return has_side ? ends[i] : NULL;
}

const json_t *model_pairs_from(model_pairs *p, const char *source)
{
    return look_up_ends(p, p->from, source, SOURCE, TARGET);
}

const json_t *model_pairs_to(model_pairs *p, const char *target)
{
    return look_up_ends(p, p->to, target, TARGET, SOURCE);
}

const json_t *model_pairs_sources(const model_pairs *p)
{
    return p->sources;
}

const json_t *model_pairs_targets(const model_pairs *p)
{
    return p->targets;
}

json_t *model_pairs_of_model(const model_pairs *p, size_t index, bool targets)
{
    return list_codes(p, p->sides + index * p->count, targets ? TARGET : SOURCE);
}
