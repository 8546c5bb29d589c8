#include "align/lexicon.h"

#include <stdlib.h>
#include <string.h>

typedef struct weighted {
    int32_t id;
    float weight; /* expected alignments */
} weighted;

typedef struct list {
    weighted *items;
    int count, capacity;
} list;

typedef struct lexicon {
    const tr_lexicon_settings *settings;
    int sources, targets;
    list *lists; /* [sources] */
    tr_align_progress *progress;
    void *argument;
    uint64_t done, total; /* of both directions */
} lexicon;

static bool append_item(list *l, int32_t id, float weight)
{
    if (l->count == l->capacity) {
        const int capacity = l->capacity ? 2 * l->capacity : 16;
        weighted *larger = realloc(l->items, (size_t)capacity * sizeof *larger);
        if (!larger)
            return false;
        l->items = larger;
        l->capacity = capacity;
    }
    l->items[l->count++] = (weighted){id, weight};
    return true;
}

static int by_weight(const void *a, const void *b)
{
    const weighted *x = a, *y = b;
    return x->weight != y->weight ? (x->weight < y->weight ? 1 : -1) : (x->id > y->id) - (x->id < y->id);
}

static int by_id(const void *a, const void *b)
{
    const weighted *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static void sort_list(list *l, int (*order)(const void *, const void *))
{
    if (l->count)
        qsort(l->items, (size_t)l->count, sizeof *l->items, order);
}

/* Adds up the weights of the same id; sorts by id. */
static void merge_items(list *l)
{
    int kept = 0;
    sort_list(l, by_id);
    for (int i = 0; i < l->count; i++) {
        if (kept && l->items[kept - 1].id == l->items[i].id)
            l->items[kept - 1].weight += l->items[i].weight;
        else
            l->items[kept++] = l->items[i];
    }
    l->count = kept;
}

static void truncate_list(list *l, int max)
{
    sort_list(l, by_weight);
    l->count = l->count < max ? l->count : max;
}

/* ---------------------------------------------------------------------------------------------------------- directions */

/* Candidates kept of each direction, for each place in the final list: the sum of both directions decides. */
enum { SPARE = 4 };

static bool add_sources(lexicon *x, const tr_align_model *model)
{
    const tr_align_candidates *c = &model->candidates;
    bool good = true;
    for (int s = 0; good && s < x->sources; s++) {
        for (size_t i = c->starts[s]; good && i < c->starts[s + 1]; i++)
            if (tr_align_count(model, i) > 0)
                good = append_item(&x->lists[s], c->ids[i], (float)tr_align_count(model, i));
        truncate_list(&x->lists[s], SPARE * x->settings->best);
    }
    return good;
}

/* Each occurrence of a source token is explained once, so few target tokens can explain more than a small share of them. */
static bool add_targets(lexicon *x, const tr_align_model *model, const uint32_t *occurrences)
{
    const tr_align_candidates *c = &model->candidates;
    bool good = true;
    for (int t = 0; good && t < x->targets; t++)
        for (size_t i = c->starts[t]; good && i < c->starts[t + 1]; i++) {
            const double count = tr_align_count(model, i);
            if (count * SPARE * x->settings->best >= occurrences[c->ids[i]])
                good = append_item(&x->lists[c->ids[i]], t, (float)count);
        }
    return good;
}

static int report_progress(void *argument, uint64_t done, uint64_t total)
{
    const lexicon *x = argument;
    (void)total;
    return x->progress ? x->progress(x->argument, x->done + done, x->total) : 0;
}

static tr_status add_direction(lexicon *x, const tr_parallel *text, int given, const int vocabulary[2],
                               const uint32_t *occurrences, tr_team *team, tr_error *error)
{
    tr_align_model model;
    const tr_status status =
        tr_align_learn(text, given, vocabulary, &x->settings->align, team, report_progress, x, &model, error);
    if (status != TR_OK)
        return status;
    const bool good = given == 0 ? add_sources(x, &model) : add_targets(x, &model, occurrences);
    tr_align_free(&model);
    x->done += x->total / 2;
    return good ? TR_OK : tr_fail(error, TR_ERROR_MEMORY, "shortlist: out of memory");
}

/* --------------------------------------------------------------------------------------------------------------- lists */

static uint32_t *count_tokens(const tr_parallel *text, int side, int vocabulary)
{
    uint32_t *counts = calloc((size_t)vocabulary, sizeof *counts);
    for (size_t i = 0; counts && i < text->side[side].size; i++)
        counts[text->side[side].ids[i]]++;
    return counts;
}

/* The frequent target tokens and EOS. */
static bool find_frequent(const lexicon *x, const tr_parallel *text, list *frequent)
{
    uint32_t *counts = count_tokens(text, 1, x->targets);
    bool good = counts != NULL;
    for (int t = 0; good && t < x->targets; t++)
        if (counts[t] && t != x->settings->end_id)
            good = append_item(frequent, t, (float)counts[t]);
    free(counts);
    truncate_list(frequent, x->settings->first);
    return good && append_item(frequent, x->settings->end_id, 0);
}

static bool finish_lists(lexicon *x, const int32_t *also, const list *frequent)
{
    bool good = true;
    for (int s = 0; good && s < x->sources; s++) {
        list *l = &x->lists[s];
        merge_items(l);
        truncate_list(l, x->settings->best);
        const bool gets_frequent = x->settings->bare_source || s == x->settings->end_id;
        for (int i = 0; good && gets_frequent && i < frequent->count; i++)
            good = append_item(l, frequent->items[i].id, 0);
        if (good && also && also[s] >= 0)
            good = append_item(l, also[s], 0);
        merge_items(l);
    }
    return good;
}

static tr_status join_lists(const lexicon *x, tr_shortlist *shortlist, tr_error *error)
{
    int64_t words = 0;
    for (int s = 0; s < x->sources; s++)
        words += x->lists[s].count;
    int32_t *memory = words < INT32_MAX ? calloc((size_t)x->sources + 1 + (size_t)words, sizeof *memory) : NULL;
    if (!memory)
        return tr_fail(error, TR_ERROR_MEMORY, "shortlist: out of memory");
    int32_t *out = memory + x->sources + 1;
    for (int s = 0; s < x->sources; s++) {
        for (int i = 0; i < x->lists[s].count; i++)
            *out++ = x->lists[s].items[i].id;
        memory[s + 1] = (int32_t)(out - (memory + x->sources + 1));
    }
    *shortlist = (tr_shortlist){.best = x->settings->best,
                                .sources = x->sources,
                                .offsets = memory,
                                .words = memory + x->sources + 1,
                                .count = words,
                                .owned = memory};
    return TR_OK;
}

static tr_status learn_lists(lexicon *x, const tr_parallel *text, const int vocabulary[2], const int32_t *also,
                             const uint32_t *occurrences, tr_team *team, tr_shortlist *shortlist, tr_error *error)
{
    tr_status status = TR_OK;
    for (int given = 0; status == TR_OK && given < 2; given++)
        status = add_direction(x, text, given, vocabulary, occurrences, team, error);
    list frequent = {0};
    if (status == TR_OK && !(find_frequent(x, text, &frequent) && finish_lists(x, also, &frequent)))
        status = tr_fail(error, TR_ERROR_MEMORY, "shortlist: out of memory");
    free(frequent.items);
    return status == TR_OK ? join_lists(x, shortlist, error) : status;
}

tr_status tr_lexicon_learn(const tr_parallel *text, const int vocabulary[2], const tr_lexicon_settings *settings,
                           const int32_t *also, tr_team *team, tr_align_progress *progress, void *argument,
                           tr_shortlist *shortlist, tr_error *error)
{
    lexicon x = {.settings = settings,
                 .sources = vocabulary[0],
                 .targets = vocabulary[1],
                 .lists = calloc((size_t)vocabulary[0], sizeof *x.lists),
                 .progress = progress,
                 .argument = argument,
                 .total = 2 * (uint64_t)settings->align.iterations * text->pairs};
    uint32_t *occurrences = count_tokens(text, 0, vocabulary[0]);
    *shortlist = (tr_shortlist){0};
    const tr_status status = x.lists && occurrences
                                 ? learn_lists(&x, text, vocabulary, also, occurrences, team, shortlist, error)
                                 : tr_fail(error, TR_ERROR_MEMORY, "shortlist: out of memory");
    for (int s = 0; x.lists && s < x.sources; s++)
        free(x.lists[s].items);
    free(x.lists);
    free(occurrences);
    return status;
}
