/* A default model end to end, by the public interface alone: twenty sentences as Hugging Face's MarianTokenizer and
 * generate translate them (make_expected.py), with any number of threads and any batch size: as stored, in int8, and with
 * the weights widened to f32.
 *
 *     test_default_model MODEL EXPECTED.json */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../emulated.h"
#include "../engine_fixture.h"

enum { LINES = 20, WAYS = 2 };

static const char *model_path, *expected_path;

/* A compute type, and the expected results in it. */
typedef struct computing {
    const char *name;
    tr_compute compute;
    tr_model *model;
    const char *texts[LINES];
    tr_tokens target_ids[LINES];
} computing;

typedef struct fixture {
    json_t *json;
    const char *sources[LINES];
    tr_tokens source_ids[LINES];
    tr_translate_options options;
    computing ways[WAYS];
} fixture;

static bool set_up_way(computing *w, const json_t *lines)
{
    tr_model_options options = tr_model_default_options();
    tr_model_info info;
    tr_error error;
    for (size_t i = 0; i < LINES; i++) {
        const json_t *expected = json_object_get(json_array_get(lines, i), w->name);
        w->texts[i] = json_string_value(json_object_get(expected, "text"));
        w->target_ids[i] = read_ids(expected, "target_ids");
    }
    options.compute = w->compute;
    if (tr_open_model(model_path, &options, &w->model, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return false;
    }
    tr_model_get_info(w->model, &info);
    return strcmp(info.compute, w->name) == 0;
}

static int set_up(void **state)
{
    static fixture f = {.ways = {{.name = "int8", .compute = TR_COMPUTE_AUTO}, {.name = "f32", .compute = TR_COMPUTE_F32}}};
    json_error_t problem;
    f.json = json_load_file(expected_path, 0, &problem);
    const json_t *lines = json_object_get(f.json, "lines");
    if (json_array_size(lines) != LINES) {
        fprintf(stderr, "%s: %s\n", expected_path, f.json ? "not twenty lines" : problem.text);
        return -1;
    }
    for (size_t i = 0; i < LINES; i++) {
        const json_t *line = json_array_get(lines, i);
        f.sources[i] = json_string_value(json_object_get(line, "source"));
        f.source_ids[i] = read_ids(line, "source_ids");
    }
    f.options = tr_translate_default_options();
    f.options.split = TR_SPLIT_NEVER;
    f.options.use_cache = false;
    f.options.max_length = (int)json_integer_value(json_object_get(f.json, "max_length"));
    *state = &f;
    return set_up_way(&f.ways[0], lines) && set_up_way(&f.ways[1], lines) ? 0 : -1;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    if (!f)
        return 0;
    for (size_t i = 0; i < LINES; i++) {
        free(f->source_ids[i].ids);
        for (size_t w = 0; w < WAYS; w++)
            free(f->ways[w].target_ids[i].ids);
    }
    for (size_t w = 0; w < WAYS; w++)
        tr_model_close(f->ways[w].model);
    json_decref(f->json);
    return 0;
}

static void test_tokenize(void **state)
{
    const fixture *f = *state;
    tr_error error;
    for (size_t i = 0; i < LINES; i++) {
        tr_tokens ids;
        if (tr_source_tokens(f->ways[0].model, f->sources[i], strlen(f->sources[i]), &ids, &error))
            fail_msg("%s", error.message);
        expect_ids("source", i, &ids, &f->source_ids[i]);
        tr_tokens_free(&ids);
    }
}

static void test_detokenize(void **state)
{
    const fixture *f = *state;
    const computing *w = &f->ways[0];
    tr_error error;
    for (size_t i = 0; i < LINES; i++) {
        char *text;
        size_t size;
        if (tr_tokens_text(w->model, w->target_ids[i].ids, w->target_ids[i].count, &text, &size, &error))
            fail_msg("%s", error.message);
        assert_string_equal(text, w->texts[i]);
        assert_int_equal(size, strlen(w->texts[i]));
        tr_free(text);
    }
}

/* The tokens of a result must decode to its text. */
static void test_tokenize_target(void **state)
{
    const fixture *f = *state;
    const computing *w = &f->ways[0];
    tr_error error;
    for (size_t i = 0; i < LINES; i++) {
        tr_tokens ids;
        char *text = NULL;
        if (tr_target_tokens(w->model, w->texts[i], strlen(w->texts[i]), &ids, &error) ||
            tr_tokens_text(w->model, ids.ids, ids.count, &text, NULL, &error))
            fail_msg("%s", error.message);
        assert_string_equal(text, w->texts[i]);
        tr_free(text);
        tr_tokens_free(&ids);
    }
}

static void check_tokens(const fixture *f, const computing *w, tr_context *context)
{
    tr_tokens *outputs;
    tr_error error;
    if (tr_translate_ids(context, f->source_ids, LINES, &f->options, &outputs, &error))
        fail_msg("%s", error.message);
    for (size_t i = 0; i < LINES; i++)
        expect_ids(w->name, i, &outputs[i], &w->target_ids[i]);
    tr_tokens_array_free(outputs, LINES);
}

static void check_texts(const fixture *f, const computing *w, tr_context *context)
{
    tr_result *results;
    tr_error error;
    if (tr_translate_texts(context, f->sources, NULL, LINES, &f->options, &results, &error))
        fail_msg("%s", error.message);
    for (size_t i = 0; i < LINES; i++) {
        assert_string_equal(results[i].text, w->texts[i]);
        assert_int_equal(results[i].size, strlen(w->texts[i]));
        assert_int_equal(results[i].sentences, 1);
        assert_int_equal(results[i].source_tokens, f->source_ids[i].count);
        assert_int_equal(results[i].target_tokens, w->target_ids[i].count);
        assert_int_equal(results[i].flags, 0);
    }
    tr_result_array_free(results, LINES);
}

static void check_way(const fixture *f, const computing *w)
{
    static const int settings[][2] = {{2, 7}, {1, 1}, {2, 1}, {1, 32}, {2, 32}}; /* threads, batch size */
    const size_t count = is_emulated() ? 1 : sizeof settings / sizeof *settings;
    for (size_t i = 0; i < count; i++) {
        tr_context_options options = tr_context_default_options();
        tr_context *context;
        tr_error error;
        options.threads = settings[i][0];
        options.batch_size = settings[i][1];
        if (tr_make_context(w->model, &options, &context, &error))
            fail_msg("%s", error.message);
        check_tokens(f, w, context);
        check_texts(f, w, context);
        tr_context_destroy(context);
    }
}

static void test_translate(void **state)
{
    const fixture *f = *state;
    const size_t count = is_emulated() ? 1 : WAYS; /* f32 is very slow there */
    for (size_t w = 0; w < count; w++)
        check_way(f, &f->ways[w]);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    model_path = argv[1];
    expected_path = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokenize),
        cmocka_unit_test(test_detokenize),
        cmocka_unit_test(test_tokenize_target),
        cmocka_unit_test(test_translate),
    };
    return cmocka_run_group_tests_name("default model", tests, set_up, tear_down);
}
