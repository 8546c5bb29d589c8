/* Firefox's and translateLocally's int8 models, against the int8 reference of make_bergamot.py (make_models.py): the text of
 * a hundred lines, the logits of first steps, and model files converted from them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../engine_fixture.h"
#include "kernels/dispatch.h"
#include "decoding/decoding.h"
#include "formats/open.h"
#include "model/transformer.h"
#include "util/utf8.h"

enum { LINES = 100, LEAST = 98, LOGIT_LINES = 3, MOST_STEPS = 600 };

/* Sums are exact, but the float operations between them are rounded in another order: an activation halfway between two
 * integers may become the other one, and random networks have close runners-up. So not every line has to be the same. */
static const struct fixture {
    const char *name;
    bool has_shortlist;
} fixtures[] = {
    {"ssru-one-lex", true},   {"ssru-two", false},         {"ssru-one-plain", false},      {"ssru-two-plain-lex", true},
    {"attention-one", false}, {"attention-two-lex", true}, {"attention-one-plain", false}, {"package", true},
};

enum { FIXTURES = sizeof fixtures / sizeof *fixtures };

/* --------------------------------------------------------------------------------------------------------------- texts */

typedef struct lines {
    char *memory;
    const char *text[LINES];
} lines;

/* after: the lines' texts follow a TAB; what precedes it is skipped */
static lines read_lines(const char *path, bool after)
{
    lines l = {calloc(1, 1 << 20), {0}};
    FILE *file = fopen(path, "rb");
    if (!file || !l.memory)
        fail_msg("%s: cannot be read", path);
    const size_t size = fread(l.memory, 1, (1 << 20) - 1, file);
    fclose(file);
    assert_in_range(size, 1, (1 << 20) - 2);
    char *at = l.memory;
    for (int i = 0; i < LINES; i++) {
        char *end = strchr(at, '\n'), *tab = after ? strchr(at, '\t') : NULL;
        if (!end)
            fail_msg("%s: has %d lines", path, i);
        *end = 0;
        l.text[i] = tab ? tab + 1 : at;
        at = end + 1;
    }
    assert_int_equal(*at, 0);
    return l;
}

static lines translate(const char *path, way w)
{
    lines source = read_lines(fixture_path("lines.txt", ""), false), out = {calloc(1, 1 << 20), {0}};
    tr_translate_options settings = tr_translate_default_options();
    tr_model *model;
    tr_context *context = open_way(path, w, &model);
    tr_result *results = NULL;
    tr_error error;
    settings.split = TR_SPLIT_NEVER;
    settings.loop_guard = false; /* the other engine has none */
    settings.protect = false;
    if (tr_translate_texts(context, source.text, NULL, LINES, &settings, &results, &error))
        fail_msg("%s", error.message);
    char *at = out.memory;
    for (int i = 0; i < LINES; i++) {
        out.text[i] = memcpy(at, results[i].text, results[i].size + 1);
        at += results[i].size + 1;
    }
    tr_result_array_free(results, LINES);
    tr_context_destroy(context);
    tr_model_close(model);
    free(source.memory);
    return out;
}

static int same_lines(const lines *a, const lines *b)
{
    int same = 0;
    for (int i = 0; i < LINES; i++)
        same += strcmp(a->text[i], b->text[i]) == 0;
    return same;
}

static void expect_text(const char *name, way w, const char *file)
{
    lines expected = read_lines(fixture_path(name, file), true), got = translate(fixture_path(name, ""), w);
    const int same = same_lines(&expected, &got);
    print_message("%s%s: %d of %d lines are those of the reference\n", name, file, same, LINES);
    assert_in_range(same, LEAST, LINES);
    free(expected.memory);
    free(got.memory);
}

static void test_text(void **state)
{
    const struct fixture *f = *state;
    expect_text(f->name, (way){0}, "/expected.txt");
    if (f->has_shortlist)
        expect_text(f->name, (way){.shortlist = "off"}, "/unlisted.txt");
}

/* The output is the same bytes with any batch, threads and CPU level. */
static void test_same_bytes(void **state)
{
    const struct fixture *f = *state;
    static const way ways[] = {{.batch_size = 1},
                               {.threads = 1, .batch_size = 7},
                               {.threads = 3, .batch_size = 1},
                               {.threads = 3, .batch_size = 5}};
    lines first = translate(fixture_path(f->name, ""), (way){.threads = 1});
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        lines other = translate(fixture_path(f->name, ""), ways[i]);
        assert_int_equal(same_lines(&first, &other), LINES);
        free(other.memory);
    }
    const tr_kernels *levels[TR_LEVELS];
    const int count = tr_kernels_available(levels);
    for (int i = 0; i < count; i++) {
        lines other = translate(fixture_path(f->name, ""), (way){.cpu = levels[i]->level, .threads = 2});
        if (levels[i]->fused)
            assert_int_equal(same_lines(&first, &other), LINES);
        free(other.memory);
    }
    free(first.memory);
}

/* -------------------------------------------------------------------------------------------------------------- logits */

typedef struct one {
    tr_sequence sentence;
    bool given;
    float *logits; /* of the first step */
} one;

static tr_sequence *give(void *argument, int room)
{
    one *o = argument;
    (void)room;
    if (o->given)
        return NULL;
    o->given = true;
    return &o->sentence;
}

static bool take(void *argument, tr_sequence *sequence)
{
    (void)argument, (void)sequence;
    return true;
}

static void keep_logits(void *argument, const char *where, int layer, const float *rows, int count, int width)
{
    one *o = argument;
    (void)layer;
    if (strcmp(where, "logits") == 0)
        memcpy(o->logits, rows, (size_t)count * (size_t)width * sizeof *rows);
}

static void first_logits(const tr_model *model, const tr_network *network, const char *line, float *logits)
{
    int32_t target[1], source[256];
    tr_tokens tokens;
    tr_worker *worker;
    tr_error error;
    assert_int_equal(tr_source_tokens(model, line, strlen(line), &tokens, &error), TR_OK);
    assert_in_range(tokens.count, 1, 255);
    memcpy(source, tokens.ids, tokens.count * sizeof *source);
    source[tokens.count] = network->config.eos_id;
    one o = {.sentence = {.source = source, .source_length = (int)tokens.count + 1, .max_length = 1, .target = target},
             .logits = logits};
    const tr_decode_callbacks callbacks = {.next = give, .done = take, .argument = &o};
    const tr_decode_options options = {1, 1 << 20, 0, NULL, false};
    const tr_ensemble alone = tr_ensemble_of(network);
    assert_int_equal(tr_worker_create(&alone, 1, 1, &worker, &error), TR_OK);
    tr_worker_set_trace(worker, keep_logits, &o);
    assert_int_equal(tr_decode(worker, 0, &options, &callbacks, &error), TR_OK);
    tr_worker_destroy(worker);
    tr_tokens_free(&tokens);
}

/* If no rounding flips, logits of about 1 agree to 1e-5. */
static void test_logits(void **state)
{
    static const int numbers[LOGIT_LINES] = {1, 5, 9};
    const struct fixture *f = *state;
    lines source = read_lines(fixture_path("lines.txt", ""), false);
    tr_package package;
    tr_network *network;
    tr_model *model;
    const tr_kernels *kernels;
    tr_error error;
    if (tr_open_model(fixture_path(f->name, ""), NULL, &model, &error) || tr_kernels_select(NULL, &kernels, &error) ||
        tr_package_open(fixture_path(f->name, ""), TR_LOAD_MAP, &package, &error) ||
        tr_network_create(&package.config, &package.weights, TR_COMPUTE_AUTO, kernels, &network, &error))
        fail_msg("%s", error.message);
    const size_t width = (size_t)package.config.target_vocabulary;
    float *expected = malloc(width * sizeof *expected), *got = malloc(width * sizeof *got);
    FILE *file = fopen(fixture_path(f->name, "/logits.bin"), "rb");
    assert_true(file && expected && got);
    int exact = 0;
    for (int i = 0; i < LOGIT_LINES; i++) {
        float most = 0;
        assert_int_equal(fread(expected, sizeof *expected, width, file), width);
        first_logits(model, network, source.text[numbers[i]], got);
        for (size_t id = 0; id < width; id++)
            if ((int)id != package.config.unk_id) /* -inf here */
                most = fmaxf(most, fabsf(got[id] - expected[id]));
        assert_true(most < 0.3f);
        exact += most < 2e-5f;
    }
    assert_true(exact >= LOGIT_LINES - 1);
    fclose(file);
    free(expected), free(got), free(source.memory);
    tr_network_destroy(network);
    tr_package_close(&package);
    tr_model_close(model);
}

/* ---------------------------------------------------------------------------------------------------------- conversion */

static void *bytes_of(const tr_tensor *t)
{
    void *bytes = malloc(t->bytes);
    if (t->origin)
        tr_tensor_copy(t, 0, (size_t)tr_tensor_elements(t), bytes);
    else
        memcpy(bytes, t->data, t->bytes);
    return bytes;
}

static void expect_same_package(const tr_package *a, const tr_package *b)
{
    size_t stored = 0, screens = 0;
    for (size_t i = 0; i < a->weights.count; i++) {
        const tr_tensor *x = a->weights.tensors[i], *y = tr_weights_find(&b->weights, x->name);
        if (tr_ends_with(x->name, TR_PACKED_ROWS)) { /* of no use unless the file has it */
            assert_null(y);
            continue;
        }
        assert_non_null(y);
        assert_int_equal(x->bytes, y->bytes);
        assert_int_equal(x->type, y->type);
        void *bytes = bytes_of(x);
        assert_memory_equal(bytes, y->data, x->bytes);
        free(bytes);
        stored++;
    }
    for (size_t i = 0; i < b->weights.count; i++)
        screens += tr_ends_with(b->weights.tensors[i]->name, TR_SCREEN_PANELS);
    assert_int_equal(b->weights.count, stored + screens);
    assert_int_equal(a->shortlist.count, b->shortlist.count);
    assert_int_equal(a->shortlist.shared, b->shortlist.shared);
    if (a->shortlist.count)
        assert_memory_equal(a->shortlist.words, b->shortlist.words, (size_t)a->shortlist.count * sizeof(int32_t));
    assert_true(a->config.marian_int8 && b->config.marian_int8);
    assert_true(a->config.length_factor == b->config.length_factor);
}

/* int8 is stored as it is; the file translates as the directory does, and a file made from it is the same. */
static void test_converted(void **state)
{
    const struct fixture *f = *state;
    char path[] = TEMPORARY_FILE;
    tr_package package, back;
    tr_error error;
    convert_to_temporary(fixture_path(f->name, ""), TR_TYPE_I8, path);
    if (tr_package_open(fixture_path(f->name, ""), TR_LOAD_MAP, &package, &error) ||
        tr_package_open(path, TR_LOAD_MAP, &back, &error))
        fail_msg("%s", error.message);
    expect_same_package(&package, &back);
    tr_package_close(&back);
    tr_package_close(&package);
    lines direct = translate(fixture_path(f->name, ""), (way){0}), converted = translate(path, (way){0});
    assert_int_equal(same_lines(&direct, &converted), LINES);
    unlink(path);
    free(direct.memory);
    free(converted.memory);
}

/* As floats it is another computation, but it runs. */
static void test_floats(void **state)
{
    const struct fixture *f = *state;
    lines out = translate(fixture_path(f->name, ""), (way){.compute = TR_COMPUTE_F32});
    free(out.memory);
}

/* ---------------------------------------------------------------------------------------------------------- the files */

static void info_describes_the_model(void **unused)
{
    (void)unused;
    tr_model *model;
    tr_model_info info;
    tr_error error;
    for (int i = 0; i < FIXTURES; i++) {
        if (tr_open_model(fixture_path(fixtures[i].name, ""), NULL, &model, &error))
            fail_msg("%s", error.message);
        tr_model_get_info(model, &info);
        assert_string_equal(info.format, "Bergamot model");
        assert_string_equal(info.compute, "int8");
        assert_int_equal(info.has_shortlist, fixtures[i].has_shortlist);
        const bool named = strcmp(fixtures[i].name, "package") != 0;
        assert_string_equal(info.source_language, named ? "en" : "");
        assert_string_equal(info.target_language, named ? "zh" : "");
        tr_model_close(model);
    }
}

int main(void)
{
    static const fixture_test kinds[] = {{"text", test_text},
                                         {"same bytes", test_same_bytes},
                                         {"logits", test_logits},
                                         {"converted", test_converted},
                                         {"floats", test_floats}};
    const struct CMUnitTest others[] = {cmocka_unit_test(info_describes_the_model)};
    return run_fixture_suite(
        &(fixture_suite){"bergamot", fixtures, FIXTURES, sizeof *fixtures, kinds, sizeof kinds / sizeof *kinds, others, 1});
}
