/* CTranslate2 directories of every version and precision, token for token against what CTranslate2 itself decodes
 * (make_models.py): from the directory, and from model files converted from it. */
#include <stdio.h>
#include <string.h>

#include "../engine_fixture.h"
#include "formats/int8.h"
#include "formats/open.h"

enum { LEAST_LINES = 40, MOST_LINES = 64 };

/* A fixture, and how many of its lines must equal those of CTranslate2 at the stored precision. In int8 both quantise each
 * row of activations. A sum that differs in its last bits (keys and values are f16 here) may flip the rounding of one of
 * them, and the models, being random, have close runners-up: only lines whose best token leads by 0.1 at each step must be
 * the same. Before version 5, CTranslate2 truncates activations where it rounds later: there it is further from f32 than
 * this program is. */
typedef struct fixture {
    const char *name;
    tr_type type;
    int least_stored; /* -1: CTranslate2 truncates */
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
    {"opennmt-bos-float16", TR_TYPE_F16, 48},
    {"t5-float32", TR_TYPE_F32, 48},
    {"t5-gated-int8", TR_TYPE_I8, 40},
    {"version-5-int8", TR_TYPE_I8, 41},
    {"version-4-float16", TR_TYPE_F16, 48},
    {"version-3-int8", TR_TYPE_I8, -1},
    {"version-2-int16", TR_TYPE_F32, 47},
    {"version-1-float32", TR_TYPE_F32, 48},
};

static expectation expectation_of(const fixture *f)
{
    return read_expectation(fixture_path(f->name, "/expected.json"), LEAST_LINES, MOST_LINES);
}

static void test_exact(void **state)
{
    const fixture *f = *state;
    expectation e = expectation_of(f);
    tr_tokens *exact = lines_ids(&e, "float32");
    expect_targets(fixture_path(f->name, ""), (way){.compute = TR_COMPUTE_F32}, &e, exact);
    tr_tokens_array_free(exact, e.count);
    free_expectation(&e);
}

static void test_stored(void **state)
{
    const fixture *f = *state;
    expectation e = expectation_of(f);
    tr_tokens *stored = lines_ids(&e, "stored"), *outputs = translate_sources(fixture_path(f->name, ""), (way){0}, &e);
    int same = 0;
    for (size_t i = 0; i < e.count; i++) {
        const bool as_theirs = same_ids(&outputs[i], &stored[i]);
        same += as_theirs;
        if (!as_theirs && f->least_stored >= 0 && json_number_value(line_value(&e, i, "stored_margin")) >= clear_margin)
            fail_msg("line %zu differs, and is clear", i);
    }
    print_message("%s: %d of %zu lines as CTranslate2 has them at the stored precision\n", f->name, same, e.count);
    assert_true(same >= f->least_stored);
    tr_tokens_array_free(outputs, e.count);
    tr_tokens_array_free(stored, e.count);
    free_expectation(&e);
}

static void test_converted(void **state)
{
    const fixture *f = *state;
    expectation e = expectation_of(f);
    expect_all_converted(fixture_path(f->name, ""), &e);
    free_expectation(&e);
}

/* The weights of the package are the stored ones, not rounded again. */
static void test_type(void **state)
{
    const fixture *f = *state;
    tr_package package;
    tr_error error;
    if (tr_package_open(fixture_path(f->name, ""), TR_LOAD_COPY, &package, &error))
        fail_msg("%s", error.message);
    assert_int_equal(tr_lossless_type(&package.weights), f->type);
    assert_true(package.directory == (f->type != TR_TYPE_I8));
    assert_string_equal(package.name, f->name);
    tr_package_close(&package);
}

/* Without EOS after the source, an empty source has no tokens, and the longest one fills all positions. */
static void test_bare(void **state)
{
    (void)state;
    const fixture f = {"opennmt-float32", TR_TYPE_F32, 0};
    enum { LONGEST = 1024 };
    int32_t ids[LONGEST];
    for (int i = 0; i < LONGEST; i++)
        ids[i] = 3 + i % 50;
    tr_tokens sources[] = {{NULL, 0}, {ids, 2}, {ids, LONGEST}};
    const expectation e = {.count = 3, .max_length = 8, .sources = sources};
    tr_tokens *outputs = translate_sources(fixture_path(f.name, ""), (way){.compute = TR_COMPUTE_F32}, &e);
    assert_int_equal(outputs[0].count, 0);
    assert_true(outputs[1].count > 0 && outputs[2].count > 0);
    tr_tokens_array_free(outputs, e.count);
}

int main(void)
{
    static const fixture_test kinds[] = {
        {"exact", test_exact}, {"stored", test_stored}, {"converted", test_converted}, {"type", test_type}};
    const struct CMUnitTest others[] = {cmocka_unit_test(test_bare)};
    return run_fixture_suite(&(fixture_suite){"ctranslate2", fixtures, sizeof fixtures / sizeof *fixtures, sizeof *fixtures,
                                              kinds, sizeof kinds / sizeof *kinds, others, 1});
}
