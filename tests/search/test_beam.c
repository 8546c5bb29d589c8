/* Beam search gives the tokens and scores of Hugging Face's generate; make_search.py makes expected.json, and describes
 * it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "json_ids.h"

enum { MOST_LINES = 16 };

/* Options by the names of make_search.py. */
static tr_translate_options read_options(const json_t *c)
{
    tr_translate_options o = tr_translate_default_options();
    tr_search_options *s = &o.search;
    int stop = 0;
    const json_t *stopping = json_object_get(c, "stopping");
    o.max_length = 20;
    s->beam = 4;
    double length_penalty = 1, repetition_penalty = 1;
    assert_int_equal(json_unpack((json_t *)(uintptr_t)c, "{s?i,s?i,s?i,s?i,s?F,s?F}", "beam", &s->beam, "min_length",
                                 &o.min_length, "max_length", &o.max_length, "no_repeat_ngram", &s->no_repeat_ngram,
                                 "length_penalty", &length_penalty, "repetition_penalty", &repetition_penalty),
                     0);
    s->length_penalty = (float)length_penalty;
    s->repetition_penalty = (float)repetition_penalty;
    stop = json_is_true(stopping) ? TR_STOP_EARLY : json_is_string(stopping) ? TR_STOP_NEVER : TR_STOP_HEURISTIC;
    s->stopping = (tr_stopping)stop;
    s->n_best = s->beam;
    o.scores = true;
    return o;
}

static void check_line(const char *model, const char *name, size_t number, const json_t *expected,
                       const tr_hypotheses *found)
{
    size_t h;
    const json_t *one;
    assert_int_equal(found->count, json_array_size(expected));
    json_array_foreach(expected, h, one)
    {
        const tr_hypothesis *got = &found->items[h];
        const tr_tokens ids = read_ids(one, "ids");
        const json_t *score = json_object_get(one, "score");
        if (ids.count != got->count || memcmp(ids.ids, got->ids, ids.count * sizeof *ids.ids) != 0)
            fail_msg("%s, %s, line %zu, hypothesis %zu: other tokens than the reference", model, name, number, h);
        if (json_is_true(json_object_get(one, "finished")) != got->finished)
            fail_msg("%s, %s, line %zu, hypothesis %zu: finished %d", model, name, number, h, got->finished);
        const double wanted = json_number_value(score);
        /* these networks have large weights: the reference's own f32 results are as far from its f64 results */
        if (score && fabs(wanted - (double)got->score) > 1e-3 * fmax(1, fabs(wanted)))
            fail_msg("%s, %s, line %zu, hypothesis %zu: score %g", model, name, number, h, (double)got->score);
        free(ids.ids);
    }
}

static void check_case(tr_context *context, const char *model, const json_t *c)
{
    const json_t *lines = json_object_get(c, "lines"), *line;
    tr_tokens sources[MOST_LINES], prefixes[MOST_LINES], forbidden = read_ids(c, "forbidden");
    tr_translate_options options = read_options(c);
    const size_t count = json_array_size(lines);
    tr_hypotheses *found;
    tr_error error;
    size_t i;
    options.search.forbidden = forbidden.ids;
    options.search.forbidden_count = forbidden.count;
    assert_true(count && count <= MOST_LINES);
    json_array_foreach(lines, i, line)
    {
        sources[i] = read_ids(line, "source");
        sources[i].count--; /* without EOS */
        prefixes[i] = read_ids(c, "prefix");
    }
    /* the reference's limit counts the tokens after a prefix as well */
    if (tr_search_tokens(context, sources, prefixes, count, &options, &found, &error))
        fail_msg("%s", error.message);
    json_t *told = json_copy((json_t *)(uintptr_t)c);
    json_object_del(told, "lines");
    char *name = json_dumps(told, 0);
    json_array_foreach(lines, i, line)
    {
        check_line(model, name, i, json_object_get(line, "hypotheses"), &found[i]);
        free(sources[i].ids);
        free(prefixes[i].ids);
    }
    free(name);
    json_decref(told);
    free(forbidden.ids);
    tr_hypotheses_free(found, count);
}

static void check_model(const json_t *entry, int threads, int batch_size)
{
    char path[1024];
    tr_model *model;
    tr_context *context;
    tr_error error;
    const tr_context_options options = {.threads = threads, .backend = TR_THREADS_POSIX, .batch_size = batch_size};
    const char *name = json_string_value(json_object_get(entry, "model"));
    const json_t *c;
    size_t i;
    snprintf(path, sizeof path, "%s/reference/fixtures/%s/model", TR_TESTS, name);
    tr_model_options f32 = tr_model_default_options();
    f32.compute = TR_COMPUTE_F32;
    if (tr_open_model(path, &f32, &model, &error) || tr_make_context(model, &options, &context, &error))
        fail_msg("%s", error.message);
    json_array_foreach(json_object_get(entry, "cases"), i, c) check_case(context, name, c);
    tr_context_destroy(context);
    tr_model_close(model);
}

static void as_the_reference(void **unused)
{
    (void)unused;
    json_error_t error;
    json_t *all = json_load_file(TR_TESTS "/search/expected.json", 0, &error);
    const json_t *entry;
    size_t i;
    if (!all)
        fail_msg("expected.json: %s", error.text);
    json_array_foreach(json_object_get(all, "models"), i, entry)
    {
        check_model(entry, 1, 1);
        check_model(entry, 3, 4);
    }
    assert_true(i > 0);
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
