/* The coverage penalty: hypotheses and scores equal those of CTranslate2 (make_coverage.py), and those computed from the
 * attention maps of forced decoding; with any threads and batch, in every kind of decoder. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../engine_fixture.h"
#include "api/model.h"

enum { MOST_LINES = 16, SOURCES = 12, LONGEST = 26 };

static void check_hypotheses(const char *name, size_t c, const json_t *expected, const tr_hypotheses *found)
{
    size_t h;
    const json_t *one;
    assert_int_equal(found->count, json_array_size(expected));
    json_array_foreach(expected, h, one)
    {
        const tr_hypothesis *got = &found->items[h];
        const tr_tokens ids = read_ids(one, "ids");
        const double score = json_number_value(json_object_get(one, "score"));
        if (ids.count != got->count || memcmp(ids.ids, got->ids, ids.count * sizeof *ids.ids) != 0)
            fail_msg("%s, case %zu, hypothesis %zu: other tokens than CTranslate2's", name, c, h);
        assert_int_equal(got->finished, json_is_true(json_object_get(one, "finished")));
        if (!(fabs(score - (double)got->score) <= 1e-5 * fmax(1, fabs(score))))
            fail_msg("%s, case %zu, hypothesis %zu: score %f, CTranslate2's %f", name, c, h, (double)got->score, score);
        free(ids.ids);
    }
}

static void check_case(tr_context *context, const char *name, size_t number, const json_t *c)
{
    const json_t *lines = json_object_get(c, "lines"), *line;
    tr_tokens sources[MOST_LINES];
    tr_hypotheses *found;
    tr_error error;
    size_t i;
    double coverage, length, patience = 1;
    tr_translate_options o = tr_translate_default_options();
    assert_int_equal(json_unpack((json_t *)(uintptr_t)c, "{s:i,s:F,s:F,s?F}", "beam", &o.search.beam, "coverage_penalty",
                                 &coverage, "length_penalty", &length, "patience", &patience),
                     0);
    o.max_length = 16;
    o.scores = true;
    o.search.n_best = o.search.beam;
    o.search.coverage_penalty = (float)coverage;
    o.search.length_penalty = (float)length;
    o.search.patience = (float)patience;
    o.search.stopping = TR_STOP_EARLY;
    json_array_foreach(lines, i, line) sources[i] = read_ids(line, "source");
    assert_true(i > 0 && i <= MOST_LINES);
    if (tr_search_tokens(context, sources, NULL, i, &o, &found, &error))
        fail_msg("%s", error.message);
    json_array_foreach(lines, i, line)
    {
        check_hypotheses(name, number, json_object_get(line, "hypotheses"), &found[i]);
        free(sources[i].ids);
    }
    tr_hypotheses_free(found, i);
}

static void as_ctranslate2(void **unused)
{
    (void)unused;
    static const char *const names[] = {"mean", "head"};
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        json_error_t problem;
        json_t *all = json_load_file(path_in(TR_COVERAGE, names[f], "/expected.json"), 0, &problem);
        const json_t *c;
        size_t i;
        if (!all)
            fail_msg("%s: %s", names[f], problem.text);
        tr_model *model;
        const way exact = {.compute = TR_COMPUTE_F32, .threads = 2, .batch_size = 4};
        tr_context *context = open_way(path_in(TR_COVERAGE, names[f], ""), exact, &model);
        json_array_foreach(json_object_get(all, "cases"), i, c) check_case(context, names[f], i, c);
        assert_true(i > 0);
        tr_context_destroy(context);
        tr_model_close(model);
        json_decref(all);
    }
}

/* ------------------------------------------------------------------------------------------------------- the formula */

/* A model, and the attention that its coverage is computed from. */
typedef struct subject {
    const char *path;
    int layer, head; /* -1: the last; the mean of all */
} subject;

/* In Marian models the first head of a layer is trained to align; the default is the last layer. */
static const subject subjects[] = {
    {TR_TESTS "/reference/fixtures/relu-1x1-f32/model", -1, -1},
    {TR_TESTS "/reference/fixtures/mbart-2x2-f32/model", -1, -1},
    {TR_TESTS "/reference/fixtures/t5-2x2-f32/model", -1, -1},
    {TR_TESTS "/marian/fixtures/ssru", -1, 0},
    {TR_TESTS "/marian/fixtures/average", -1, 0},
    {TR_TESTS "/marian/fixtures/guided", 0, 0},
    {TR_COVERAGE "/mean", -1, -1},
    {TR_COVERAGE "/head", 0, 0},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* Random sources, and short prefixes. */
typedef struct questions {
    int32_t ids[SOURCES][LONGEST];
    tr_tokens sources[SOURCES], prefixes[SOURCES];
} questions;

static void ask(questions *q, const tr_model *model)
{
    tr_model_info info;
    uint32_t chance = 11;
    static int32_t prefix[] = {7, 5, 9};
    tr_model_get_info(model, &info);
    for (int i = 0; i < SOURCES; i++) {
        q->sources[i] = (tr_tokens){q->ids[i], (size_t)(1 + i * 5 % LONGEST)};
        q->prefixes[i] = (tr_tokens){prefix, (size_t)(i % 4)};
        for (int t = 0; t < LONGEST; t++) {
            chance = chance * 1664525 + 1013904223;
            q->ids[i][t] = (int32_t)(4 + (chance >> 8) % (uint32_t)(info.source_vocabulary - 4));
        }
    }
}

static tr_hypotheses *search(tr_context *context, const questions *q, bool prefixed, const tr_translate_options *o)
{
    tr_hypotheses *found;
    tr_error error;
    if (tr_search_tokens(context, q->sources, prefixed ? q->prefixes : NULL, SOURCES, o, &found, &error))
        fail_msg("%s", error.message);
    return found;
}

/* sum_i log(min(sum_j p_ij, 1)) */
static double penalty_of(const tr_attention_map *map, const subject *s)
{
    const int layer = s->layer < 0 ? map->layers - 1 : s->layer, first = s->head < 0 ? 0 : s->head,
              last = s->head < 0 ? map->heads : s->head + 1;
    double sum = 0;
    for (int column = 0; column < map->columns; column++) {
        double covered = 0;
        for (int row = 0; row < map->rows; row++)
            for (int head = first; head < last; head++)
                covered += (double)map->weights[((layer * map->heads + head) * map->rows + row) * map->columns + column] /
                           (last - first);
        sum += log(fmin(covered, 1));
    }
    return sum;
}

static void check_formula(tr_context *context, const tr_tokens *source, size_t prefix, const tr_hypothesis *h,
                          const subject *s, const tr_search_options *search, const tr_config *config)
{
    tr_score *score;
    tr_error error;
    const tr_tokens target = {h->ids, h->count};
    tr_score_options o = tr_score_default_options();
    o.cross_attention = true;
    o.no_end = !h->finished;
    if (tr_score_ids(context, source, &target, 1, &o, &score, &error))
        fail_msg("%s", error.message);
    double sum = 0;
    for (size_t t = prefix + (config->forced_first_id >= 0); t < score->count; t++) /* scores do not include the prefix */
        sum += (double)score->log_probabilities[t];
    /* beam search counts EOS after the longest target, as Hugging Face does if a model forces EOS */
    const size_t counted = score->count + (config->forced_last_id >= 0 && !h->finished && search->beam > 1);
    const double length = (double)(counted > prefix ? counted - prefix : 1);
    const double wanted =
        sum / pow(length, (double)search->length_penalty) + (double)search->coverage_penalty * penalty_of(&score->cross, s);
    if (!(fabs(wanted - (double)h->score) <= 1e-5 * fmax(1, fabs(wanted))))
        fail_msg("%s: score %.7f, its formula says %.7f", s->path, (double)h->score, wanted);
    tr_score_array_free(score, 1);
}

/* Beams, alternatives, greedy decoding; ways to end the search. */
static tr_search_options kind_of_search(int kind)
{
    tr_search_options s = tr_search_default_options();
    s.beam = kind == 3 ? 1 : 5;
    s.n_best = s.beam;
    s.coverage_penalty = 0.4f;
    s.length_penalty = kind == 1 ? 0 : 1;
    s.stopping = (tr_stopping)(kind % 3);
    s.alternatives = kind == 4;
    return s;
}

static void scores_follow_the_formula(void **unused)
{
    (void)unused;
    for (int m = 0; m < 2 * SUBJECTS; m++) {
        tr_model *model;
        const subject *s = &subjects[m / 2];
        const way w = {.compute = m % 2 ? TR_COMPUTE_INT8 : TR_COMPUTE_F32, .threads = 2};
        tr_context *context = open_way(s->path, w, &model);
        questions q;
        ask(&q, model);
        for (int kind = 0; kind < 5; kind++) {
            tr_translate_options o = tr_translate_default_options();
            o.max_length = 14;
            o.scores = true;
            o.search = kind_of_search(kind);
            const bool prefixed = kind >= 2;
            tr_hypotheses *found = search(context, &q, prefixed, &o);
            for (int i = 0; i < SOURCES; i++)
                for (size_t h = 0; h < found[i].count; h++) {
                    assert_true(h == 0 || found[i].items[h - 1].score >= found[i].items[h].score);
                    check_formula(context, &q.sources[i], prefixed ? q.prefixes[i].count : 0, &found[i].items[h], s,
                                  &o.search, &model->package.config);
                }
            tr_hypotheses_free(found, SOURCES);
        }
        tr_context_destroy(context);
        tr_model_close(model);
    }
}

/* With greedy decoding, the penalty changes the score but not the tokens; beams in the same context still work. */
static void others_are_left_alone(void **unused)
{
    (void)unused;
    tr_model *model;
    tr_context *context = open_way(subjects[0].path, (way){.threads = 1}, &model);
    questions q;
    ask(&q, model);
    tr_translate_options plain = tr_translate_default_options(), covered = plain, silent;
    plain.max_length = covered.max_length = 20;
    plain.scores = covered.scores = true;
    covered.search.coverage_penalty = 2;
    silent = covered;
    silent.scores = false;
    tr_hypotheses *a = search(context, &q, false, &plain), *b = search(context, &q, false, &covered),
                  *c = search(context, &q, false, &silent), *d = search(context, &q, false, &plain);
    int less = 0;
    for (int i = 0; i < SOURCES; i++) {
        const tr_hypothesis *x = a[i].items, *y = b[i].items, *z = c[i].items;
        assert_true(x->count == y->count && x->count == z->count && z->score == 0 && x->score == d[i].items->score);
        assert_memory_equal(x->ids, y->ids, x->count * sizeof *x->ids);
        assert_memory_equal(x->ids, z->ids, x->count * sizeof *x->ids);
        assert_true(x->log_probability == y->log_probability && y->score <= x->score);
        less += y->score < x->score;
    }
    assert_true(less > SOURCES / 2);
    tr_hypotheses_free(a, SOURCES);
    tr_hypotheses_free(b, SOURCES);
    tr_hypotheses_free(c, SOURCES);
    tr_hypotheses_free(d, SOURCES);
    tr_context_destroy(context);
    tr_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_ctranslate2), cmocka_unit_test(scores_follow_the_formula),
                                       cmocka_unit_test(others_are_left_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
