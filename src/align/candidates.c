#include "align/candidates.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The pairs with token t of a side: pairs[starts[t] .. starts[t + 1]), ascending. */
typedef struct token_pairs {
    size_t *starts;
    uint32_t *pairs;
} token_pairs;

typedef struct row {
    int32_t *ids;
    int count;
} row;

typedef struct search {
    const tr_parallel *text;
    int given, given_size, explained_size, max_candidates;
    token_pairs given_in;
    uint32_t *frequency; /* [explained_size] pairs with the token */
    row *rows;           /* [given_size] */
    atomic_int next;     /* next token whose row is to be made */
    atomic_bool failed;
} search;

static bool find_pairs(const tr_parallel *text, int side, int vocabulary, token_pairs *p)
{
    const tr_text_side *s = &text->side[side];
    p->starts = calloc((size_t)vocabulary + 2, sizeof *p->starts);
    p->pairs = malloc((s->size ? s->size : 1) * sizeof *p->pairs);
    if (!p->starts || !p->pairs)
        return false;
    for (size_t i = 0; i < s->size; i++)
        p->starts[s->ids[i] + 2]++;
    for (int t = 0; t < vocabulary; t++)
        p->starts[t + 2] += p->starts[t + 1];
    for (size_t pair = 0; pair < text->pairs; pair++) {
        int length;
        const int32_t *ids = tr_parallel_sentence(text, side, pair, &length);
        for (int i = 0; i < length; i++)
            p->pairs[p->starts[ids[i] + 1]++] = (uint32_t)pair; /* now the end of this token's pairs */
    }
    return true;
}

/* Working memory of one thread. */
typedef struct row_counts {
    uint32_t *counts; /* [explained] pairs that also have the row's token */
    uint32_t *last;   /* [explained] 1 + the last pair that was counted */
    int32_t *seen;    /* [explained] tokens with a count */
    int size;
} row_counts;

static void count_row(const search *s, int token, row_counts *t)
{
    const token_pairs *in = &s->given_in;
    t->size = 0;
    for (size_t k = in->starts[token]; k < in->starts[token + 1]; k++) {
        const uint32_t pair = in->pairs[k];
        int length;
        const int32_t *ids = tr_parallel_sentence(s->text, !s->given, pair, &length);
        if (k > in->starts[token] && in->pairs[k - 1] == pair)
            continue;
        for (int i = 0; i < length; i++) {
            if (t->last[ids[i]] == pair + 1)
                continue;
            t->last[ids[i]] = pair + 1;
            if (t->counts[ids[i]]++ == 0)
                t->seen[t->size++] = ids[i];
        }
    }
}

typedef struct rated {
    double rate;
    int32_t id;
} rated;

static int by_rate(const void *a, const void *b)
{
    const rated *x = a, *y = b;
    return x->rate != y->rate ? (x->rate < y->rate ? 1 : -1) : (x->id > y->id) - (x->id < y->id);
}

static int by_id(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Moves the best candidates to seen[0..). */
static bool keep_best(const search *s, row_counts *t)
{
    if (t->size <= s->max_candidates)
        return true;
    rated *list = malloc((size_t)t->size * sizeof *list);
    if (!list)
        return false;
    for (int i = 0; i < t->size; i++) {
        const double together = t->counts[t->seen[i]];
        list[i] = (rated){together * together / s->frequency[t->seen[i]], t->seen[i]};
        t->counts[t->seen[i]] = t->last[t->seen[i]] = 0;
    }
    qsort(list, (size_t)t->size, sizeof *list, by_rate);
    for (int i = 0; i < s->max_candidates; i++)
        t->seen[i] = list[i].id;
    t->size = s->max_candidates;
    free(list);
    return true;
}

static bool make_row(search *s, int token, row_counts *t)
{
    count_row(s, token, t);
    if (!keep_best(s, t))
        return false;
    for (int i = 0; i < t->size; i++)
        t->counts[t->seen[i]] = t->last[t->seen[i]] = 0;
    qsort(t->seen, (size_t)t->size, sizeof *t->seen, by_id);
    row *r = &s->rows[token];
    r->count = t->size;
    r->ids = t->size ? malloc((size_t)t->size * sizeof *r->ids) : NULL;
    if (r->ids)
        memcpy(r->ids, t->seen, (size_t)t->size * sizeof *r->ids);
    return r->ids || !t->size;
}

static void make_rows(void *argument, int thread)
{
    search *s = argument;
    const size_t n = (size_t)s->explained_size;
    row_counts t = {calloc(n, sizeof *t.counts), calloc(n, sizeof *t.last), calloc(n, sizeof *t.seen), 0};
    bool good = t.counts && t.last && t.seen;
    (void)thread;
    for (int token; good && (token = atomic_fetch_add(&s->next, 1)) < s->given_size;)
        good = make_row(s, token, &t);
    if (!good)
        atomic_store(&s->failed, true);
    free(t.counts);
    free(t.last);
    free(t.seen);
}

/* Joins the rows to one table. */
static bool join_rows(const search *s, tr_align_candidates *found)
{
    *found = (tr_align_candidates){.given = s->given_size, .explained = s->explained_size};
    found->starts = calloc((size_t)s->given_size + 1, sizeof *found->starts);
    for (int g = 0; found->starts && g < s->given_size; g++)
        found->starts[g + 1] = found->starts[g] + (size_t)s->rows[g].count;
    const size_t all = found->starts ? found->starts[s->given_size] : 0;
    found->ids = malloc((all ? all : 1) * sizeof *found->ids);
    if (!found->starts || !found->ids)
        return false;
    for (int g = 0; g < s->given_size; g++)
        if (s->rows[g].count)
            memcpy(found->ids + found->starts[g], s->rows[g].ids, (size_t)s->rows[g].count * sizeof *found->ids);
    return true;
}

static bool allocate_search(search *s)
{
    const tr_parallel *text = s->text;
    token_pairs explained_in = {0};
    s->frequency = calloc((size_t)s->explained_size, sizeof *s->frequency);
    s->rows = calloc((size_t)s->given_size, sizeof *s->rows);
    bool good = s->frequency && s->rows && find_pairs(text, !s->given, s->explained_size, &explained_in);
    for (int t = 0; good && t < s->explained_size; t++)
        for (size_t k = explained_in.starts[t]; k < explained_in.starts[t + 1]; k++)
            s->frequency[t] += k == explained_in.starts[t] || explained_in.pairs[k] != explained_in.pairs[k - 1];
    free(explained_in.starts);
    free(explained_in.pairs);
    return good && find_pairs(text, s->given, s->given_size, &s->given_in);
}

tr_status tr_align_candidates_find(const tr_parallel *text, int given, const int vocabulary[2], tr_team *team,
                                   tr_align_candidates *found, tr_error *error)
{
    *found = (tr_align_candidates){0};
    const int each = TR_ALIGN_CANDIDATES_ALL / vocabulary[given];
    search s = {.text = text, .given = given, .given_size = vocabulary[given], .explained_size = vocabulary[!given]};
    s.max_candidates = each < 1 ? 1 : each < TR_ALIGN_CANDIDATES_EACH ? each : TR_ALIGN_CANDIDATES_EACH;
    tr_status status = TR_OK;
    bool good = allocate_search(&s);
    if (good)
        status = tr_team_run(team, make_rows, &s, error);
    good = good && status == TR_OK && !atomic_load(&s.failed) && join_rows(&s, found);
    for (int g = 0; s.rows && g < s.given_size; g++)
        free(s.rows[g].ids);
    free(s.rows);
    free(s.frequency);
    free(s.given_in.starts);
    free(s.given_in.pairs);
    if (good)
        return TR_OK;
    tr_align_candidates_free(found);
    return status != TR_OK ? status : tr_fail(error, TR_ERROR_MEMORY, "alignment model: out of memory");
}

void tr_align_candidates_free(tr_align_candidates *candidates)
{
    free(candidates->starts);
    free(candidates->ids);
    *candidates = (tr_align_candidates){0};
}
