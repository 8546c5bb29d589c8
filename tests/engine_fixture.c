#define _POSIX_C_SOURCE 200809L
#include "engine_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/gguf/gguf.h"
#include "formats/open.h"

const char *path_in(const char *folder, const char *name, const char *rest)
{
    static char paths[8][1024];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof *paths, "%s/%s%s", folder, name, rest);
    return path;
}

/* ------------------------------------------------------------------------------------------------------ what is expected */

expectation read_expectation(const char *path, size_t least, size_t most)
{
    json_error_t problem;
    expectation e = {.json = json_load_file(path, 0, &problem)};
    if (!e.json)
        fail_msg("%s: %s", path, problem.text);
    e.lines = json_object_get(e.json, "lines");
    e.count = json_array_size(e.lines);
    if (e.count < least || e.count > most)
        fail_msg("%s: %zu lines, must be %zu to %zu", path, e.count, least, most);
    e.max_length = (int)json_integer_value(json_object_get(e.json, "max_length"));
    e.sources = lines_ids(&e, "source");
    return e;
}

void free_expectation(expectation *e)
{
    tr_tokens_array_free(e->sources, e->count);
    json_decref(e->json);
}

const json_t *line_value(const expectation *e, size_t line, const char *key)
{
    return json_object_get(json_array_get(e->lines, line), key);
}

tr_tokens *lines_ids(const expectation *e, const char *key)
{
    tr_tokens *ids = calloc(e->count, sizeof *ids);
    assert_non_null(ids);
    for (size_t i = 0; i < e->count; i++)
        ids[i] = read_ids(json_array_get(e->lines, i), key);
    return ids;
}

/* ------------------------------------------------------------------------------------------------------- ways to compare */

bool same_ids(const tr_tokens *a, const tr_tokens *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->ids, b->ids, a->count * sizeof *a->ids) == 0);
}

void expect_ids(const char *where, size_t line, const tr_tokens *got, const tr_tokens *wanted)
{
    for (size_t i = 0; i < got->count && i < wanted->count; i++)
        if (got->ids[i] != wanted->ids[i])
            fail_msg("%s, line %zu: token %zu is %d, must be %d", where, line, i, (int)got->ids[i], (int)wanted->ids[i]);
    if (got->count != wanted->count)
        fail_msg("%s, line %zu: %zu tokens, must be %zu", where, line, got->count, wanted->count);
}

tr_context *open_way(const char *path, way w, tr_model **model)
{
    tr_model_options options = tr_model_default_options();
    tr_context_options team = tr_context_default_options();
    tr_context *context = NULL;
    tr_error error;
    options.compute = w.compute;
    options.load = w.load;
    options.cpu = w.cpu;
    options.shortlist = w.shortlist;
    team.threads = w.threads ? w.threads : team.threads;
    team.batch_size = w.batch_size ? w.batch_size : team.batch_size;
    if (tr_open_model(path, &options, model, &error) || tr_make_context(*model, &team, &context, &error))
        fail_msg("%s", error.message);
    return context;
}

tr_tokens *translate_sources(const char *path, way w, const expectation *e)
{
    tr_translate_options settings = tr_translate_default_options();
    tr_model *model;
    tr_context *context = open_way(path, w, &model);
    tr_tokens *outputs = NULL;
    tr_error error;
    settings.max_length = e->max_length;
    if (tr_translate_ids(context, e->sources, e->count, &settings, &outputs, &error))
        fail_msg("%s", error.message);
    tr_context_destroy(context);
    tr_model_close(model);
    return outputs;
}

void expect_targets(const char *path, way w, const expectation *e, const tr_tokens *wanted)
{
    tr_tokens *outputs = translate_sources(path, w, e);
    char where[1024];
    snprintf(where, sizeof where, "%s at level %s, %d threads, batch %d", path, w.cpu ? w.cpu : "best", w.threads,
             w.batch_size);
    for (size_t i = 0; i < e->count; i++)
        expect_ids(where, i, &outputs[i], &wanted[i]);
    tr_tokens_array_free(outputs, e->count);
}

size_t expect_texts(tr_context *context, const tr_translate_options *options, const expectation *e, const char *from,
                    const char *to)
{
    size_t texts = 0;
    for (size_t i = 0; i < e->count; i++) {
        const json_t *source = line_value(e, i, from);
        const char *text = json_string_value(source);
        const size_t size = json_string_length(source);
        tr_result *result;
        tr_error error;
        if (!text)
            continue;
        if (tr_translate_texts(context, &text, &size, 1, options, &result, &error))
            fail_msg("%s", error.message);
        assert_string_equal(result->text, json_string_value(line_value(e, i, to)));
        tr_result_array_free(result, 1);
        texts++;
    }
    return texts;
}

/* ----------------------------------------------------------------------------------------------------------- conversion */

void convert_model(const char *model, tr_type type, const char *path)
{
    tr_package package;
    tr_error error;
    if (tr_package_open(model, TR_LOAD_MAP, &package, &error) || tr_gguf_write(&package, path, type, NULL, NULL, &error))
        fail_msg("%s", error.message);
    tr_package_close(&package);
}

void convert_to_temporary(const char *model, tr_type type, char *path)
{
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    convert_model(model, type, path);
}

void expect_converted(const char *model, tr_type type, tr_compute compute, const expectation *e)
{
    char path[] = TEMPORARY_FILE;
    convert_to_temporary(model, type, path);
    tr_tokens *direct = translate_sources(model, (way){.compute = compute}, e);
    expect_targets(path, (way){.compute = compute}, e, direct);
    unlink(path);
    tr_tokens_array_free(direct, e->count);
}

void expect_all_converted(const char *model, const expectation *e)
{
    expect_converted(model, TR_TYPE_F32, TR_COMPUTE_F32, e);
    expect_converted(model, TR_TYPE_I8, TR_COMPUTE_INT8, e);
    expect_converted(model, TR_TYPE_F16, TR_COMPUTE_F16, e);
    expect_converted(model, TR_TYPE_BF16, TR_COMPUTE_BF16, e);
}

/* --------------------------------------------------------------------------------------------------------------- the run */

int run_fixture_suite(const fixture_suite *suite)
{
    enum { NAME = 80 };
    const size_t pairs = suite->count * suite->kind_count;
    struct CMUnitTest *tests = calloc(pairs + suite->other_count, sizeof *tests);
    char(*names)[NAME] = calloc(pairs, sizeof *names);
    if (!tests || !names)
        abort();
    for (size_t i = 0; i < pairs; i++) {
        const void *fixture = (const char *)suite->fixtures + i / suite->kind_count * suite->size;
        const fixture_test *kind = &suite->kinds[i % suite->kind_count];
        snprintf(names[i], NAME, "%s: %s", *(const char *const *)fixture, kind->what);
        tests[i] = (struct CMUnitTest){names[i], kind->function, NULL, NULL, (void *)(uintptr_t)fixture};
    }
    if (suite->other_count)
        memcpy(tests + pairs, suite->others, suite->other_count * sizeof *tests);
    const int failed = _cmocka_run_group_tests(suite->name, tests, pairs + suite->other_count, NULL, NULL);
    free(names);
    free(tests);
    return failed != 0;
}
