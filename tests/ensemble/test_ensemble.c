/* Models that decode together: results equal those of Hugging Face's networks whose log-probabilities make_ensemble.py adds,
 * an ensemble of a model with itself is that model, and nothing depends on threads and batches. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "json_ids.h"
#include "api/model.h"

enum { LINES = 4, MOST = 3 };

#define FIXTURES TR_TESTS "/ensemble/fixtures/"

static tr_model *open_as(const char *path, tr_compute compute)
{
    tr_model_options options = tr_model_default_options();
    tr_model *model;
    tr_error error;
    options.compute = compute;
    if (tr_open_model(path, &options, &model, &error))
        fail_msg("%s", error.message);
    return model;
}

/* Models [count], the first of which is the context's own. */
static tr_context *join(tr_model *const *models, int count, const float *weights, int threads, int batch_size)
{
    const tr_context_options options = {.threads = threads,
                                        .backend = TR_THREADS_POSIX,
                                        .batch_size = batch_size,
                                        .ensemble = (const tr_model *const *)models + 1,
                                        .ensemble_count = count - 1,
                                        .ensemble_weights = weights};
    tr_context *context;
    tr_error error;
    if (tr_make_context(models[0], &options, &context, &error))
        fail_msg("%s", error.message);
    return context;
}

static tr_translate_options beams(int beam)
{
    tr_translate_options o = tr_translate_default_options();
    o.max_length = 16;
    o.scores = true;
    o.search.beam = o.search.n_best = beam;
    return o;
}

static tr_hypotheses *search(tr_context *context, const tr_tokens *sources, size_t count,
                             const tr_translate_options *options)
{
    tr_hypotheses *found;
    tr_error error;
    if (tr_search_tokens(context, sources, NULL, count, options, &found, &error))
        fail_msg("%s", error.message);
    return found;
}

static json_t *read_expected(void)
{
    json_t *expected = json_load_file(TR_TESTS "/ensemble/expected.json", 0, NULL);
    assert_non_null(expected);
    return expected;
}

/* Sources of a case, to be freed. */
static void read_sources(const json_t *c, tr_tokens sources[LINES])
{
    const json_t *lines = json_object_get(c, "lines"), *line;
    size_t i;
    assert_int_equal(json_array_size(lines), LINES);
    json_array_foreach(lines, i, line) sources[i] = read_ids(line, "source");
}

static void free_sources(tr_tokens sources[LINES])
{
    for (int i = 0; i < LINES; i++)
        free(sources[i].ids);
}

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.8f is not %.8f", a, b);
}

static bool same_bits(const tr_hypotheses *a, const tr_hypotheses *b)
{
    bool same = a->count == b->count;
    for (size_t h = 0; same && h < a->count; h++) {
        const tr_hypothesis *x = &a->items[h], *y = &b->items[h];
        same = x->count == y->count && x->finished == y->finished && x->score == y->score &&
               memcmp(x->ids, y->ids, x->count * sizeof *x->ids) == 0 &&
               memcmp(x->log_probabilities, y->log_probabilities, (x->count + x->finished) * sizeof(float)) == 0;
    }
    return same;
}

static void assert_same(const tr_hypotheses *a, const tr_hypotheses *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!same_bits(&a[i], &b[i]))
            fail_msg("line %zu: other hypotheses", i);
}

/* ----------------------------------------------------------------------------------------------------- the reference */

static void check_hypothesis(const json_t *wanted, const tr_hypothesis *got, double tolerance)
{
    const tr_tokens ids = read_ids(wanted, "ids");
    const json_t *each = json_object_get(wanted, "log_probabilities");
    assert_int_equal(got->count, ids.count);
    assert_memory_equal(got->ids, ids.ids, ids.count * sizeof *ids.ids);
    assert_int_equal(got->finished, json_is_true(json_object_get(wanted, "finished")));
    assert_int_equal(json_array_size(each), got->count + got->finished);
    for (size_t t = 0; t < json_array_size(each); t++)
        assert_near((double)got->log_probabilities[t], json_number_value(json_array_get(each, t)), 3 * tolerance);
    assert_near((double)got->score, json_number_value(json_object_get(wanted, "score")), tolerance);
    free(ids.ids);
}

static void check_case(tr_context *context, const json_t *c)
{
    const json_t *line, *one;
    tr_tokens sources[LINES];
    size_t i, h;
    tr_translate_options options = beams((int)json_integer_value(json_object_get(c, "beam")));
    read_sources(c, sources);
    options.search.length_penalty = options.search.beam > 1 ? 1 : options.search.length_penalty;
    tr_hypotheses *found = search(context, sources, LINES, &options);
    json_array_foreach(json_object_get(c, "lines"), i, line)
    {
        const json_t *wanted = json_object_get(line, "hypotheses");
        assert_int_equal(found[i].count, json_array_size(wanted));
        json_array_foreach(wanted, h, one) check_hypothesis(one, &found[i].items[h], 1e-5);
    }
    tr_hypotheses_free(found, LINES);
    free_sources(sources);
}

static void as_the_reference(void **unused)
{
    (void)unused;
    json_t *expected = read_expected(), *c;
    tr_model *models[] = {open_as(FIXTURES "a", TR_COMPUTE_F32), open_as(FIXTURES "b", TR_COMPUTE_F32)};
    size_t i;
    json_array_foreach(json_object_get(expected, "cases"), i, c)
    {
        const json_t *w = json_object_get(c, "weights");
        const float weights[] = {(float)json_number_value(json_array_get(w, 0)),
                                 (float)json_number_value(json_array_get(w, 1))};
        tr_context *context = join(models, 2, weights[0] == weights[1] ? NULL : weights, 2, 3);
        check_case(context, c);
        tr_context_destroy(context);
    }
    /* three to one is also the other one once, and the first with a weight of two and of one */
    tr_model *three[] = {models[0], models[1], models[0]};
    const float weights[] = {1, 0.5F, 0.5F};
    tr_context *context = join(three, MOST, weights, 1, 2);
    json_array_foreach(json_object_get(expected, "cases"), i, c)
    {
        const json_t *w = json_object_get(c, "weights");
        if (json_number_value(json_array_get(w, 0)) > 1)
            check_case(context, c);
    }
    tr_context_destroy(context);
    tr_model_close(models[0]);
    tr_model_close(models[1]);
    json_decref(expected);
}

/* ------------------------------------------------------------------------------------------------------ of one and more */

/* With weights of 1/2 the weighted sums are exact. */
static void with_itself(void **unused)
{
    (void)unused;
    static const char *const paths[] = {FIXTURES "b", TR_TESTS "/reference/fixtures/m2m100-1x3-f16/model",
                                        TR_TESTS "/reference/fixtures/t5-2x2-f32/model", TR_TESTS "/marian/fixtures/ssru",
                                        TR_TESTS "/marian/fixtures/average"};
    for (size_t p = 0; p < sizeof paths / sizeof *paths; p++)
        for (int compute = TR_COMPUTE_F32; compute <= TR_COMPUTE_INT8; compute += TR_COMPUTE_INT8 - TR_COMPUTE_F32) {
            tr_model *model = open_as(paths[p], (tr_compute)compute), *both[] = {model, model};
            tr_context *alone = join(both, 1, NULL, 1, 4), *together = join(both, 2, NULL, 1, 4);
            int32_t ids[] = {5, 9, 33, 8, 14, 21, 30, 7};
            const tr_tokens sources[] = {{ids, 8}, {ids + 2, 3}, {ids, 1}, {ids + 3, 5}};
            for (int beam = 1; beam <= 4; beam += 3) {
                const tr_translate_options options = beams(beam);
                tr_hypotheses *a = search(alone, sources, LINES, &options), *b = search(together, sources, LINES, &options);
                assert_same(a, b, LINES);
                tr_hypotheses_free(a, LINES);
                tr_hypotheses_free(b, LINES);
            }
            tr_context_destroy(alone);
            tr_context_destroy(together);
            tr_model_close(model);
        }
}

/* Beam search, sampling, constraints and alternatives with any threads and batches; and one model in int8. */
static void with_any_threads(void **unused)
{
    (void)unused;
    json_t *expected = read_expected();
    tr_tokens sources[LINES];
    read_sources(json_array_get(json_object_get(expected, "cases"), 1), sources);
    tr_model *models[] = {open_as(FIXTURES "a", TR_COMPUTE_INT8), open_as(FIXTURES "b", TR_COMPUTE_F32)};
    tr_translate_options kinds[] = {beams(1), beams(4), beams(1), beams(1), beams(3)};
    kinds[0].search.no_repeat_ngram = 2;
    kinds[0].search.repetition_penalty = 1.2F;
    kinds[2].search.sample = true;
    kinds[2].search.n_best = 3;
    kinds[2].search.seed = 4;
    kinds[3].search.sample = true;
    kinds[3].search.top_k = 5;
    kinds[4].search.alternatives = true;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tr_hypotheses *first = NULL;
        for (int threads = 1; threads <= 3; threads++)
            for (int batch = 1; batch <= 3; batch += 2) {
                tr_context *context = join(models, 2, NULL, threads, batch);
                tr_hypotheses *found = search(context, sources, LINES, &kinds[k]);
                if (first) {
                    assert_same(first, found, LINES);
                    tr_hypotheses_free(found, LINES);
                }
                first = first ? first : found;
                tr_context_destroy(context);
            }
        tr_hypotheses_free(first, LINES);
    }
    free_sources(sources);
    tr_model_close(models[0]);
    tr_model_close(models[1]);
    json_decref(expected);
}

/* The scores of a search equal those of forced decoding, which are each model's scores times its weight. */
static void check_sums(tr_model *const *models, int count, const float *weights, const tr_tokens sources[LINES])
{
    tr_context *all = join(models, count, weights, 2, 4);
    const tr_translate_options options = beams(4);
    tr_hypotheses *found = search(all, sources, LINES, &options);
    tr_score_options asked = tr_score_default_options();
    tr_tokens targets[LINES];
    tr_score *together, *each[MOST];
    tr_error error;
    asked.no_end = true;
    asked.cross_attention = true;
    for (int i = 0; i < LINES; i++)
        targets[i] = (tr_tokens){found[i].items[0].ids, found[i].items[0].count};
    if (tr_score_ids(all, sources, targets, LINES, &asked, &together, &error))
        fail_msg("%s", error.message);
    for (int m = 0; m < count; m++) {
        tr_context *alone = join(models + m, 1, NULL, 2, 4);
        assert_int_equal(tr_score_ids(alone, sources, targets, LINES, &asked, &each[m], &error), TR_OK);
        tr_context_destroy(alone);
    }
    for (int i = 0; i < LINES; i++) {
        const tr_score *both = &together[i], *own = &each[0][i];
        assert_int_equal(both->count, targets[i].count);
        assert_memory_equal(both->log_probabilities, found[i].items[0].log_probabilities, both->count * sizeof(float));
        for (size_t t = 0; t < both->count; t++) {
            double sum = 0, parts = 0;
            for (int m = 0; m < count; m++) {
                sum += (double)weights[m] * (double)each[m][i].log_probabilities[t];
                parts += (double)weights[m];
            }
            assert_near((double)both->log_probabilities[t], sum / parts, 2e-5);
        }
        /* attention weights are those of the context's own model */
        assert_int_equal(both->cross.heads, own->cross.heads);
        assert_memory_equal(both->cross.weights, own->cross.weights,
                            (size_t)(own->cross.layers * own->cross.heads * own->cross.rows * own->cross.columns) *
                                sizeof(float));
    }
    for (int m = 0; m < count; m++)
        tr_score_array_free(each[m], LINES);
    tr_score_array_free(together, LINES);
    tr_hypotheses_free(found, LINES);
    tr_context_destroy(all);
}

static void scores_add_up(void **unused)
{
    (void)unused;
    int32_t ids[] = {5, 9, 33, 8, 14, 21, 30, 7, 11, 4, 6, 5};
    const tr_tokens sources[LINES] = {{ids, 12}, {ids + 4, 5}, {ids + 2, 1}, {ids + 6, 6}};
    const float weights[] = {1, 3, 0.5F};
    tr_model *pair[] = {open_as(FIXTURES "a", TR_COMPUTE_INT8), open_as(FIXTURES "b", TR_COMPUTE_F32)};
    check_sums(pair, 2, weights, sources);
    /* keys and values, a recurrent unit, and a mean of what came before, in f32 and int8 */
    tr_model *kinds[] = {open_as(TR_TESTS "/marian/fixtures/ssru", TR_COMPUTE_F32),
                         open_as(TR_TESTS "/marian/fixtures/plain-npz", TR_COMPUTE_INT8),
                         open_as(TR_TESTS "/marian/fixtures/average", TR_COMPUTE_F32)};
    check_sums(kinds, MOST, weights, sources);
    for (int m = 0; m < 2; m++)
        tr_model_close(pair[m]);
    for (int m = 0; m < MOST; m++)
        tr_model_close(kinds[m]);
}

/* Sources have the maximum length: 40 positions, of which EOS takes one. */
static void lengths_of_all(void **unused)
{
    (void)unused;
    tr_model *models[] = {open_as(FIXTURES "a", TR_COMPUTE_F32), open_as(FIXTURES "b", TR_COMPUTE_F32)};
    tr_context *context = join(models, 2, NULL, 1, 2);
    int32_t ids[40];
    const tr_tokens most = {ids, 39}, more = {ids, 40};
    tr_translate_options options = beams(2);
    tr_hypotheses *found;
    tr_error error;
    for (int i = 0; i < 40; i++)
        ids[i] = 1 + i;
    options.max_length = 100;
    options.min_length = 100;
    found = search(context, &most, 1, &options);
    assert_int_equal(found->items[0].count, 40);
    tr_hypotheses_free(found, 1);
    assert_int_equal(tr_search_tokens(context, &more, NULL, 1, &options, &found, &error), TR_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "takes 40"));
    tr_context_destroy(context);
    tr_model_close(models[0]);
    tr_model_close(models[1]);
}

/* ------------------------------------------------------------------------------------------------------------- misfits */

static void refuse(const tr_model *model, const tr_model *other, int count, const float *weights, const char *why)
{
    const tr_model *others[TR_MAX_ENSEMBLE] = {other};
    const tr_context_options options = {
        .threads = 1, .batch_size = 1, .ensemble = others, .ensemble_count = count, .ensemble_weights = weights};
    tr_context *context;
    tr_error error;
    assert_int_equal(tr_make_context(model, &options, &context, &error), TR_ERROR_ARGUMENT);
    assert_null(context);
    if (!strstr(error.message, why))
        fail_msg("\"%s\" does not say \"%s\"", error.message, why);
}

/* As if b came from other files. */
static void settings_that_differ(const tr_model *a, tr_model *b)
{
    tr_config *c = &b->package.config;
    const tr_config before = *c;
    static const tr_shortlist list;
    c->start_id = 3;
    refuse(a, b, 1, NULL, "fixtures/b differ in the token that targets start with");
    *c = before;
    c->eos_id = 3;
    refuse(a, b, 1, NULL, "differ in their EOS");
    *c = before;
    c->forced_first_id = 3;
    refuse(a, b, 1, NULL, "differ in the first token that they force");
    *c = before;
    b->package.languages.target = TR_LANGUAGE_TARGET_FIRST;
    refuse(a, b, 1, NULL, "differ in the tokens that languages are given as");
    b->package.languages.target = TR_LANGUAGE_NOWHERE;
    b->network->output_tokens = &before.start_id;
    refuse(a, b, 1, NULL, "--allowed off");
    b->network->output_tokens = NULL;
    b->shortlist = &list;
    refuse(a, b, 1, NULL, "fixtures/b has a shortlist");
    refuse(b, a, 1, NULL, "fixtures/b has a shortlist");
    b->shortlist = NULL;
}

static void misfits(void **unused)
{
    (void)unused;
    tr_model *a = open_as(FIXTURES "a", TR_COMPUTE_F32), *b = open_as(FIXTURES "b", TR_COMPUTE_F32);
    tr_model *larger = open_as(TR_TESTS "/reference/fixtures/relu-2x1-f32-odd/model", TR_COMPUTE_F32);
    tr_model *mbart = open_as(TR_TESTS "/reference/fixtures/mbart-2x2-f32/model", TR_COMPUTE_F32);
    tr_model *t5 = open_as(TR_TESTS "/reference/fixtures/t5-2x2-f32/model", TR_COMPUTE_F32);
    const float zero[] = {1, 0}, none[] = {NAN, 1}, negative[] = {1, -1}, endless[] = {1, INFINITY};
    refuse(a, larger, 1, NULL, "/ensemble/fixtures/a and ");
    refuse(a, larger, 1, NULL, "relu-2x1-f32-odd/model differ in their target tokens: 110 and 131");
    refuse(mbart, t5, 1, NULL, "differ in their target tokens: number 0 is 'piece0' and '<pad>'");
    refuse(a, b, 1, zero, "the weight 0 of model 2");
    refuse(a, b, 1, none, "of model 1");
    refuse(a, b, 1, negative, "the weight -1 of model 2");
    refuse(a, b, 1, endless, "the weight inf of model 2");
    refuse(a, b, 2, NULL, "ensemble: model 1 is NULL");
    refuse(a, b, TR_MAX_ENSEMBLE, NULL, "ensemble_count: 16 is not between 0 and 15");
    refuse(a, b, -1, NULL, "ensemble_count: -1");
    settings_that_differ(a, b);
    tr_model *all[] = {a, b, larger, mbart, t5};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tr_model_close(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_reference), cmocka_unit_test(with_itself),    cmocka_unit_test(with_any_threads),
        cmocka_unit_test(scores_add_up),    cmocka_unit_test(lengths_of_all), cmocka_unit_test(misfits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
