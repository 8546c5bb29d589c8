/* Native Marian models, token for token against what Marian itself decodes (make_models.py): from its files, from model
 * files converted from them, at every level, with any number of threads and in any company. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>
#include <translate/translate.h>

#include "../json_ids.h"
#include "formats/gguf/gguf.h"
#include "formats/packed.h"
#include "kernels/kernels.h"

enum { PATH = 512, MAX_LINES = 64 };

static const char *const fixtures[] = {
    "plain-npz",
    "plain-bin",
    "deflated-npz",
    "f16-bin",
    "f16-npz",
    "pre-norm",
    "both-norms",
    "both-norms-top",
    "post-norm-top",
    "pre-norm-bare",
    "rms",
    "rms-post",
    "ssru",
    "ssru-bin",
    "ssru-pre-norm",
    "ssru-projection",
    "ssru-projection-pre-norm",
    "average",
    "average-pre-norm",
    "average-both-norms",
    "average-ungated",
    "average-depth-1",
    "average-depth-1-ungated",
    "average-depth-3",
    "average-depth-4-d",
    "average-d-pre-norm",
    "tied-layers",
    "tied-layers-ssru",
    "ffn-depth-1",
    "ffn-depth-1-pre-norm",
    "ffn-depth-3",
    "gelu",
    "swish",
    "no-projection",
    "no-projection-pre-norm",
    "positions-said-trained",
    "positions-none",
    "tied-src",
    "tied-target",
    "untied",
    "untied-untransposed",
    "spm",
    "spm-two",
    "no-output-bias",
    "guided",
};

enum { FIXTURES = sizeof fixtures / sizeof *fixtures };

/* What Marian made of a fixture's lines. */
typedef struct expectation {
    json_t *json;
    size_t count;
    int max_length;
    tr_tokens sources[MAX_LINES], targets[MAX_LINES];
} expectation;

static const char *path_of(const char *fixture, const char *file)
{
    static char path[PATH];
    snprintf(path, sizeof path, "%s/%s%s%s", TR_FIXTURES, fixture, *file ? "/" : "", file);
    return path;
}

static expectation read_expectation(const char *fixture)
{
    json_error_t problem;
    expectation e = {0};
    e.json = json_load_file(path_of(fixture, "expected.json"), 0, &problem);
    const json_t *lines = json_object_get(e.json, "lines");
    e.count = json_array_size(lines);
    if (e.count < 40 || e.count > MAX_LINES)
        fail_msg("%s: %s", fixture, e.json ? "no 40 lines" : problem.text);
    e.max_length = (int)json_integer_value(json_object_get(e.json, "max_length"));
    for (size_t i = 0; i < e.count; i++) {
        e.sources[i] = read_ids(json_array_get(lines, i), "source");
        e.targets[i] = read_ids(json_array_get(lines, i), "target");
    }
    return e;
}

static void free_expectation(expectation *e)
{
    for (size_t i = 0; i < e->count; i++) {
        free(e->sources[i].ids);
        free(e->targets[i].ids);
    }
    json_decref(e->json);
}

static bool equal(const tr_tokens *a, const tr_tokens *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->ids, b->ids, a->count * sizeof *a->ids) == 0);
}

/* How a model is to be run. */
typedef struct way {
    tr_compute compute;
    const char *cpu; /* NULL: the best level */
    int threads, batch_size;
} way;

/* To be freed with tr_tokens_array_free. */
static tr_tokens *translate(const char *path, way w, const expectation *e)
{
    tr_model_options options = tr_model_default_options();
    tr_translate_options settings = tr_translate_default_options();
    tr_context_options team = tr_context_default_options();
    tr_model *model;
    tr_context *context = NULL;
    tr_tokens *outputs = NULL;
    tr_error error;
    options.compute = w.compute;
    options.cpu = w.cpu;
    settings.max_length = e->max_length;
    team.threads = w.threads ? w.threads : team.threads;
    team.batch_size = w.batch_size ? w.batch_size : team.batch_size;
    if (tr_model_open(path, &options, &model, &error) || tr_context_create(model, &team, &context, &error) ||
        tr_translate_tokens(context, e->sources, e->count, &settings, &outputs, &error))
        fail_msg("%s", error.message);
    tr_context_destroy(context);
    tr_model_close(model);
    return outputs;
}

static void expect_targets(const char *path, way w, const expectation *e, const tr_tokens *targets)
{
    tr_tokens *outputs = translate(path, w, e);
    for (size_t i = 0; i < e->count; i++)
        if (!equal(&outputs[i], &targets[i]))
            fail_msg("%s: line %zu differs at level %s, %d threads, batch %d", path, i, w.cpu ? w.cpu : "best", w.threads,
                     w.batch_size);
    tr_tokens_array_free(outputs, e->count);
}

static void test_exact(void **state)
{
    static const way ways[] = {{TR_COMPUTE_AUTO, NULL, 0, 0}, {TR_COMPUTE_F32, NULL, 1, 1}, {TR_COMPUTE_F32, NULL, 3, 5}};
    expectation e = read_expectation(*state);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        expect_targets(path_of(*state, ""), ways[i], &e, e.targets);
    const tr_kernels *levels[TR_LEVELS];
    const int count = tr_kernels_available(levels);
    for (int i = 0; i < count; i++)
        expect_targets(path_of(*state, ""), (way){TR_COMPUTE_F32, levels[i]->level, 2, 3}, &e, e.targets);
    free_expectation(&e);
}

/* int8 tokens are no others with other threads, in other company, or at another level. */
static void test_int8(void **state)
{
    expectation e = read_expectation(*state);
    tr_tokens *outputs = translate(path_of(*state, ""), (way){TR_COMPUTE_INT8, NULL, 1, 1}, &e);
    expect_targets(path_of(*state, ""), (way){TR_COMPUTE_INT8, NULL, 3, 7}, &e, outputs);
    expect_targets(path_of(*state, ""), (way){TR_COMPUTE_INT8, "portable", 2, 32}, &e, outputs);
    size_t same = 0, all = 0; /* tokens of the beginning, up to where they part */
    for (size_t i = 0; i < e.count; i++) {
        size_t n = 0;
        while (n < outputs[i].count && n < e.targets[i].count && outputs[i].ids[n] == e.targets[i].ids[n])
            n++;
        same += n;
        all += e.targets[i].count;
    }
    print_message("%s: %zu of %zu tokens in int8 before the first that differs\n", (const char *)*state, same, all);
    assert_true(2 * same > all); /* noise has close runners-up */
    tr_tokens_array_free(outputs, e.count);
    free_expectation(&e);
}

/* The file made from the model translates as the model does. */
static void check_converted(const char *fixture, tr_type type, tr_compute compute)
{
    char path[] = "/tmp/test_marian.XXXXXX";
    tr_package package;
    tr_error error;
    expectation e = read_expectation(fixture);
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    if (tr_package_open(path_of(fixture, ""), TR_LOAD_MAP, &package, &error) ||
        tr_gguf_write(&package, path, type, NULL, NULL, &error))
        fail_msg("%s", error.message);
    tr_package_close(&package);
    tr_tokens *direct = translate(path_of(fixture, ""), (way){compute, NULL, 0, 0}, &e);
    expect_targets(path, (way){compute, NULL, 0, 0}, &e, direct);
    unlink(path);
    tr_tokens_array_free(direct, e.count);
    free_expectation(&e);
}

static void test_converted(void **state)
{
    check_converted(*state, TR_TYPE_F32, TR_COMPUTE_F32);
    check_converted(*state, TR_TYPE_I8, TR_COMPUTE_INT8);
    check_converted(*state, TR_TYPE_F16, TR_COMPUTE_F16);
    check_converted(*state, TR_TYPE_BF16, TR_COMPUTE_BF16);
}

/* SentencePiece models are vocabularies and tokenizers both. */
static void test_text(void **state)
{
    tr_translate_options settings = tr_translate_default_options();
    tr_model *model;
    tr_context *context = NULL;
    tr_error error;
    size_t texts = 0;
    expectation e = read_expectation(*state);
    settings.split = TR_SPLIT_NEVER;
    if (tr_model_open(path_of(*state, ""), NULL, &model, &error) || tr_context_create(model, NULL, &context, &error))
        fail_msg("%s", error.message);
    for (size_t i = 0; i < e.count; i++) {
        const json_t *line = json_array_get(json_object_get(e.json, "lines"), i);
        const char *text = json_string_value(json_object_get(line, "text"));
        const size_t size = json_string_length(json_object_get(line, "text"));
        tr_result *result;
        if (!text)
            continue;
        if (tr_translate(context, &text, &size, 1, &settings, &result, &error))
            fail_msg("%s", error.message);
        assert_string_equal(result->text, json_string_value(json_object_get(line, "translation")));
        tr_results_free(result, 1);
        texts++;
    }
    assert_true(texts >= 10);
    tr_context_destroy(context);
    tr_model_close(model);
    free_expectation(&e);
}

int main(void)
{
    static struct CMUnitTest tests[3 * FIXTURES + 2];
    static char names[3 * FIXTURES][64];
    static const struct {
        const char *what;
        CMUnitTestFunction function;
    } kinds[] = {{"exact", test_exact}, {"int8", test_int8}, {"converted", test_converted}};
    size_t count = 0;
    for (size_t i = 0; i < FIXTURES; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++, count++) {
            snprintf(names[count], sizeof names[count], "%s: %s", fixtures[i], kinds[k].what);
            tests[count] = (struct CMUnitTest){names[count], kinds[k].function, NULL, NULL, (void *)(uintptr_t)fixtures[i]};
        }
    static char one[] = "spm", two[] = "spm-two";
    tests[count++] = (struct CMUnitTest){"spm: text", test_text, NULL, NULL, one};
    tests[count++] = (struct CMUnitTest){"spm-two: text", test_text, NULL, NULL, two};
    return _cmocka_run_group_tests("marian", tests, count, NULL, NULL) != 0;
}
