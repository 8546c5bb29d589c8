/* CTranslate2 directories of every version and precision, token for token against what CTranslate2 itself decodes
 * (make_models.py): from the directory, and from model files converted from it. */
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

enum { PATH = 512, MAX_LINES = 64 };

/* A fixture, and how many of its lines must be those of CTranslate2 at the stored precision. In int8 both quantise each row
 * of activations; a sum that differs in its last bits (keys and values are halves here) may flip the rounding of one of
 * them, and the models, being random, have close runners-up: only lines whose best token is clear by 0.1 at each step must
 * be the same. Before version 5, CTranslate2 cuts where it rounds later: there it is further from f32 than we are. */
typedef struct fixture {
    const char *name;
    tr_type type;
    int least_stored; /* -1: CTranslate2 cuts */
} fixture;

static const double clear_margin = 0.1;

static const fixture fixtures[] = {
    {"marian-float32", TR_TYPE_F32, 48},
    {"marian-float16", TR_TYPE_F16, 48},
    {"marian-bfloat16", TR_TYPE_BF16, 48},
    {"marian-int16", TR_TYPE_F32, 48},
    {"marian-int8", TR_TYPE_I8, 34},
    {"marian-int8_float32", TR_TYPE_I8, 34},
    {"marian-int8_float16", TR_TYPE_I8, 38},
    {"marian-int8_bfloat16", TR_TYPE_I8, 36},
    {"marian-untied-float32", TR_TYPE_F32, 48},
    {"marian-untied-int8", TR_TYPE_I8, 37},
    {"marian-untied-int16", TR_TYPE_F32, 48},
    {"mbart-float32", TR_TYPE_F32, 48},
    {"mbart-int8", TR_TYPE_I8, 41},
    {"opennmt-float32", TR_TYPE_F32, 48},
    {"t5-float32", TR_TYPE_F32, 48},
    {"t5-gated-int8", TR_TYPE_I8, 40},
    {"version-5-int8", TR_TYPE_I8, 41},
    {"version-4-float16", TR_TYPE_F16, 48},
    {"version-3-int8", TR_TYPE_I8, -1},
    {"version-2-int16", TR_TYPE_F32, 47},
    {"version-1-float32", TR_TYPE_F32, 48},
};

enum { FIXTURES = sizeof fixtures / sizeof *fixtures };

/* What CTranslate2 made of a fixture's lines. */
typedef struct expectation {
    json_t *json;
    size_t count;
    int max_length;
    tr_tokens sources[MAX_LINES], exact[MAX_LINES], stored[MAX_LINES];
} expectation;

static expectation read_expectation(const fixture *f)
{
    char path[PATH];
    json_error_t problem;
    expectation e = {0};
    snprintf(path, sizeof path, "%s/%s/expected.json", TR_FIXTURES, f->name);
    e.json = json_load_file(path, 0, &problem);
    const json_t *lines = json_object_get(e.json, "lines");
    e.count = json_array_size(lines);
    if (e.count < 40 || e.count > MAX_LINES)
        fail_msg("%s: %s", path, e.json ? "no 40 lines" : problem.text);
    e.max_length = (int)json_integer_value(json_object_get(e.json, "max_length"));
    for (size_t i = 0; i < e.count; i++) {
        const json_t *line = json_array_get(lines, i);
        e.sources[i] = read_ids(line, "source");
        e.exact[i] = read_ids(line, "float32");
        e.stored[i] = read_ids(line, "stored");
    }
    return e;
}

static void free_expectation(expectation *e)
{
    for (size_t i = 0; i < e->count; i++) {
        free(e->sources[i].ids);
        free(e->exact[i].ids);
        free(e->stored[i].ids);
    }
    json_decref(e->json);
}

static bool equal(const tr_tokens *a, const tr_tokens *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->ids, b->ids, a->count * sizeof *a->ids) == 0);
}

/* To be freed with tr_tokens_array_free. */
static tr_tokens *translate(const char *path, tr_compute compute, const expectation *e)
{
    tr_model_options options = tr_model_default_options();
    tr_translate_options settings = tr_translate_default_options();
    tr_model *model;
    tr_context *context = NULL;
    tr_tokens *outputs = NULL;
    tr_error error;
    options.compute = compute;
    settings.max_length = e->max_length;
    if (tr_model_open(path, &options, &model, &error) || tr_context_create(model, NULL, &context, &error) ||
        tr_translate_tokens(context, e->sources, e->count, &settings, &outputs, &error))
        fail_msg("%s", error.message);
    tr_context_destroy(context);
    tr_model_close(model);
    return outputs;
}

static const char *directory_of(const fixture *f)
{
    static char path[PATH];
    snprintf(path, sizeof path, "%s/%s", TR_FIXTURES, f->name);
    return path;
}

static void test_exact(void **state)
{
    const fixture *f = *state;
    expectation e = read_expectation(f);
    tr_tokens *outputs = translate(directory_of(f), TR_COMPUTE_F32, &e);
    for (size_t i = 0; i < e.count; i++)
        if (!equal(&outputs[i], &e.exact[i]))
            fail_msg("line %zu differs", i);
    tr_tokens_array_free(outputs, e.count);
    free_expectation(&e);
}

static void test_stored(void **state)
{
    const fixture *f = *state;
    expectation e = read_expectation(f);
    tr_tokens *outputs = translate(directory_of(f), TR_COMPUTE_AUTO, &e);
    int same = 0;
    for (size_t i = 0; i < e.count; i++) {
        const bool as_theirs = equal(&outputs[i], &e.stored[i]);
        const json_t *line = json_array_get(json_object_get(e.json, "lines"), i);
        same += as_theirs;
        if (!as_theirs && f->least_stored >= 0 && json_number_value(json_object_get(line, "stored_margin")) >= clear_margin)
            fail_msg("line %zu differs, and is clear", i);
    }
    print_message("%s: %d of %zu lines as CTranslate2 has them at the stored precision\n", f->name, same, e.count);
    assert_true(same >= f->least_stored);
    tr_tokens_array_free(outputs, e.count);
    free_expectation(&e);
}

/* The file made from the directory translates as the directory does. */
static void check_converted(const fixture *f, tr_type type, tr_compute compute)
{
    char path[] = "/tmp/test_ctranslate2.XXXXXX";
    tr_package package;
    tr_error error;
    expectation e = read_expectation(f);
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    if (tr_package_open(directory_of(f), TR_LOAD_MAP, &package, &error) ||
        tr_gguf_write(&package, path, type, NULL, NULL, &error))
        fail_msg("%s", error.message);
    tr_package_close(&package);
    tr_tokens *direct = translate(directory_of(f), compute, &e), *converted = translate(path, compute, &e);
    unlink(path);
    for (size_t i = 0; i < e.count; i++)
        if (!equal(&converted[i], &direct[i]))
            fail_msg("line %zu differs in a file of %s", i, tr_type_name(type));
    tr_tokens_array_free(direct, e.count);
    tr_tokens_array_free(converted, e.count);
    free_expectation(&e);
}

static void test_converted(void **state)
{
    const fixture *f = *state;
    check_converted(f, TR_TYPE_F32, TR_COMPUTE_F32);
    check_converted(f, TR_TYPE_I8, TR_COMPUTE_INT8);
    check_converted(f, TR_TYPE_F16, TR_COMPUTE_F16);
    check_converted(f, TR_TYPE_BF16, TR_COMPUTE_BF16);
}

/* The weights are there as they were stored, none rounded again. */
static void test_type(void **state)
{
    const fixture *f = *state;
    tr_package package;
    tr_error error;
    if (tr_package_open(directory_of(f), TR_LOAD_COPY, &package, &error))
        fail_msg("%s", error.message);
    assert_int_equal(tr_stored_type(&package), f->type);
    assert_true(package.directory == (f->type != TR_TYPE_I8));
    assert_string_equal(package.name, f->name);
    tr_package_close(&package);
}

/* Without an end mark an empty source holds nothing, as longer ones hold all places that there are. */
static void test_bare(void **state)
{
    (void)state;
    const fixture f = {"opennmt-float32", TR_TYPE_F32, 0};
    enum { LONGEST = 1024 };
    int32_t ids[LONGEST];
    for (int i = 0; i < LONGEST; i++)
        ids[i] = 3 + i % 50;
    expectation e = {.count = 3, .max_length = 8, .sources = {{NULL, 0}, {ids, 2}, {ids, LONGEST}}};
    tr_tokens *outputs = translate(directory_of(&f), TR_COMPUTE_F32, &e);
    assert_int_equal(outputs[0].count, 0);
    assert_true(outputs[1].count > 0 && outputs[2].count > 0);
    tr_tokens_array_free(outputs, e.count);
}

int main(void)
{
    static struct CMUnitTest tests[4 * FIXTURES + 1];
    static char names[4 * FIXTURES][64];
    static const struct {
        const char *what;
        CMUnitTestFunction function;
    } kinds[] = {{"exact", test_exact}, {"stored", test_stored}, {"converted", test_converted}, {"type", test_type}};
    size_t count = 0;
    for (size_t i = 0; i < FIXTURES; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++, count++) {
            snprintf(names[count], sizeof names[count], "%s: %s", fixtures[i].name, kinds[k].what);
            tests[count] = (struct CMUnitTest){names[count], kinds[k].function, NULL, NULL, (void *)(uintptr_t)&fixtures[i]};
        }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_bare);
    return _cmocka_run_group_tests("ctranslate2", tests, count, NULL, NULL) != 0;
}
