/* Native Marian models, token for token against Marian's own output (make_models.py): from its files, from model files
 * converted from them, at every level, with any number of threads and any batch. */
#include <stdio.h>

#include "../engine_fixture.h"
#include "kernels/dispatch.h"

enum { LEAST_LINES = 40, MOST_LINES = 64 };

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

static expectation expectation_of(const char *fixture)
{
    return read_expectation(fixture_path(fixture, "/expected.json"), LEAST_LINES, MOST_LINES);
}

static void test_exact(void **state)
{
    static const way ways[] = {{.compute = TR_COMPUTE_AUTO},
                               {.compute = TR_COMPUTE_F32, .threads = 1, .batch_size = 1},
                               {.compute = TR_COMPUTE_F32, .threads = 3, .batch_size = 5}};
    const char *const *fixture = *state, *path = fixture_path(*fixture, "");
    expectation e = expectation_of(*fixture);
    tr_tokens *targets = lines_ids(&e, "target");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        expect_targets(path, ways[i], &e, targets);
    const tr_kernels *levels[TR_LEVELS];
    const int count = tr_kernels_available(levels);
    for (int i = 0; i < count; i++)
        expect_targets(path, (way){.compute = TR_COMPUTE_F32, .cpu = levels[i]->level, .threads = 2, .batch_size = 3}, &e,
                       targets);
    tr_tokens_array_free(targets, e.count);
    free_expectation(&e);
}

/* int8 tokens do not depend on threads, batch and level. */
static void test_int8(void **state)
{
    const char *const *fixture = *state, *path = fixture_path(*fixture, "");
    expectation e = expectation_of(*fixture);
    tr_tokens *targets = lines_ids(&e, "target");
    tr_tokens *outputs = translate_sources(path, (way){.compute = TR_COMPUTE_INT8, .threads = 1, .batch_size = 1}, &e);
    expect_targets(path, (way){.compute = TR_COMPUTE_INT8, .threads = 3, .batch_size = 7}, &e, outputs);
    expect_targets(path, (way){.compute = TR_COMPUTE_INT8, .cpu = "portable", .threads = 2, .batch_size = 32}, &e, outputs);
    size_t same = 0, all = 0; /* tokens up to the first difference */
    for (size_t i = 0; i < e.count; i++) {
        size_t n = 0;
        while (n < outputs[i].count && n < targets[i].count && outputs[i].ids[n] == targets[i].ids[n])
            n++;
        same += n;
        all += targets[i].count;
    }
    print_message("%s: %zu of %zu tokens in int8 before the first that differs\n", *fixture, same, all);
    assert_true(2 * same > all); /* random networks have close runners-up */
    tr_tokens_array_free(outputs, e.count);
    tr_tokens_array_free(targets, e.count);
    free_expectation(&e);
}

static void test_converted(void **state)
{
    const char *const *fixture = *state;
    expectation e = expectation_of(*fixture);
    expect_all_converted(fixture_path(*fixture, ""), &e);
    free_expectation(&e);
}

/* SentencePiece models are vocabularies and tokenizers at once. */
static void test_text(void **state)
{
    tr_translate_options settings = tr_translate_default_options();
    tr_model *model;
    expectation e = expectation_of(*state);
    tr_context *context = open_way(fixture_path(*state, ""), (way){0}, &model);
    settings.split = TR_SPLIT_NEVER;
    settings.loop_guard = false;
    settings.protect = false;
    assert_true(expect_texts(context, &settings, &e, "text", "translation") >= 10);
    tr_context_destroy(context);
    tr_model_close(model);
    free_expectation(&e);
}

int main(void)
{
    static const fixture_test kinds[] = {{"exact", test_exact}, {"int8", test_int8}, {"converted", test_converted}};
    static char one[] = "spm", two[] = "spm-two";
    const struct CMUnitTest others[] = {{"spm: text", test_text, NULL, NULL, one},
                                        {"spm-two: text", test_text, NULL, NULL, two}};
    return run_fixture_suite(&(fixture_suite){"marian", fixtures, sizeof fixtures / sizeof *fixtures, sizeof *fixtures,
                                              kinds, sizeof kinds / sizeof *kinds, others, 2});
}
