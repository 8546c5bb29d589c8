/* Every kind and every mask against results of PyTorch (make_fixtures.py) and against the formulas in double precision: on
 * the recorded cases, on which the formulas are checked, too, and on random ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "layer.h"

static const double tolerance = 1e-5;
#ifdef TR_EMULATED
enum { TRIALS = 40 };
#else
enum { TRIALS = 400 };
#endif

/* ------------------------------------------------------------------------------------------------------ out of the file */

static int64_t integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static tr_element element_of(const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "element"));
    return name && strcmp(name, "bf16") == 0 ? TR_ELEMENT_BF16 : TR_ELEMENT_F32;
}

static tr_attention_options options_of(const json_t *object)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const json_t *o = json_object_get(object, "options");
    tr_attention_options options = {.scale = (float)json_number_value(json_object_get(o, "scale")),
                                    .window = integer(o, "window"),
                                    .block = integer(o, "block"),
                                    .local_blocks = integer(o, "local_blocks"),
                                    .random_blocks = integer(o, "random_blocks"),
                                    .global_tokens = integer(o, "global_tokens"),
                                    .rank = integer(o, "rank"),
                                    .pool = integer(o, "pool")};
    while (strcmp(kind_name(options.kind), kind) != 0)
        options.kind++;
    return options;
}

static void give_lengths(trial *t, const json_t *mask)
{
    const json_t *array = json_object_get(mask, "lengths");
    int64_t *lengths = reserve(json_array_size(array) + 1, sizeof *lengths);
    for (size_t i = 0; i < json_array_size(array); i++)
        lengths[i] = json_integer_value(json_array_get(array, i));
    if (array)
        limit(t, lengths, json_is_true(json_object_get(mask, "by_query")));
    free(lengths);
}

static void give_masks(trial *t, const json_t *mask)
{
    static const struct {
        const char *key;
        void (*give)(trial *t, const char *along);
    } masks[] = {{"allowed", allow_some}, {"additive", add_some}, {"prior", add_prior}};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        if (json_object_get(mask, masks[i].key))
            masks[i].give(t, json_string_value(json_object_get(mask, masks[i].key)));
    give_lengths(t, mask);
    t->mask.causal = json_is_true(json_object_get(mask, "causal"));
    t->mask.position = integer(mask, "position");
}

static trial read_trial(const json_t *object)
{
    const json_t *s = json_object_get(object, "shape"), *amplitude = json_object_get(object, "amplitude");
    int64_t sizes[6];
    for (size_t i = 0; i < 6; i++)
        sizes[i] = json_integer_value(json_array_get(s, i));
    const tr_attention_shape shape = {sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]};
    trial t = make_trial(shape, options_of(object), element_of(object), (uint64_t)integer(object, "seed"),
                         amplitude ? (float)json_number_value(amplitude) : 1);
    give_masks(&t, json_object_get(object, "mask"));
    return t;
}

static layer_trial read_layer(const json_t *object)
{
    const json_t *s = json_object_get(object, "shape"), *layer = json_object_get(object, "layer");
    const layer_sizes sizes = {integer(layer, "query_size"), integer(layer, "key_size"), integer(layer, "value_size"),
                               integer(layer, "num_hiddens"), integer(layer, "num_heads")};
    layer_trial l =
        make_layer(json_integer_value(json_array_get(s, 0)), json_integer_value(json_array_get(s, 2)),
                   json_integer_value(json_array_get(s, 3)), sizes, json_is_true(json_object_get(layer, "biases")),
                   element_of(layer), element_of(object), (uint64_t)integer(object, "seed"));
    l.inner.options = options_of(object);
    give_masks(&l.inner, json_object_get(object, "mask"));
    return l;
}

/* ----------------------------------------------------------------------------------------------------------- comparisons */

typedef struct fixture {
    json_t *json;
    const json_t *cases;
    size_t samples, stride;
} fixture;

/* The recorded numbers must agree with the formulas; most: how many numbers of a large result are recorded. */
static void expect_recorded(const fixture *f, const char *what, const json_t *recorded, const double *wanted, size_t n,
                            size_t most)
{
    const size_t count = json_array_size(recorded);
    assert_int_equal(count, n < most ? n : most);
    for (size_t i = 0; i < count; i++) {
        const double record = json_number_value(json_array_get(recorded, i)),
                     value = wanted[n > most ? i * f->stride % n : i];
        if (!(fabs(record - value) <= 2e-7))
            fail_msg("%s: number %zu by the formulas is %.9g, by PyTorch %.9g", what, i, value, record);
    }
}

static void check_heads(const fixture *f, const json_t *object)
{
    trial t = read_trial(object);
    double *out = reserve(out_size(&t), sizeof *out), *weights = reserve(weights_size(&t), sizeof *weights);
    reference_attention(&t, out, weights);
    expect_recorded(f, describe_trial(&t), json_object_get(object, "out"), out, out_size(&t), f->samples);
    expect_recorded(f, describe_trial(&t), json_object_get(object, "weights"), weights, weights_size(&t), f->samples / 2);
    expect_reference(&t, tolerance);
    free(out), free(weights);
    free_trial(&t);
}

static void check_layer(const fixture *f, const json_t *object)
{
    layer_trial l = read_layer(object);
    double *out = reserve(layer_out_size(&l), sizeof *out), *weights = reserve(weights_size(&l.inner), sizeof *weights);
    reference_layer(&l, out, weights);
    expect_recorded(f, describe_trial(&l.inner), json_object_get(object, "out"), out, layer_out_size(&l), f->samples);
    expect_recorded(f, describe_trial(&l.inner), json_object_get(object, "weights"), weights, weights_size(&l.inner),
                    f->samples / 2);
    expect_layer_reference(&l, tolerance);
    free(out), free(weights);
    free_layer(&l);
}

/* ----------------------------------------------------------------------------------------------------------------- tests */

static int open_fixture(void **state)
{
    static fixture f;
    json_error_t problem;
    f.json = json_load_file(TR_EXPECTED, 0, &problem);
    if (!f.json) {
        print_error("%s: %s\n", TR_EXPECTED, problem.text);
        return 1;
    }
    f.cases = json_object_get(f.json, "cases");
    f.samples = (size_t)integer(f.json, "samples");
    f.stride = (size_t)integer(f.json, "stride");
    *state = &f;
    return 0;
}

static int close_fixture(void **state)
{
    json_decref(((fixture *)*state)->json);
    return 0;
}

static void check_all(const fixture *f, bool layers)
{
    size_t checked = 0, index;
    const json_t *object;
    json_array_foreach(f->cases, index, object)
    {
        if ((json_object_get(object, "layer") != NULL) != layers)
            continue;
        (layers ? check_layer : check_heads)(f, object);
        checked++;
    }
    assert_true(checked > (layers ? 8 : 100));
}

static void heads_match_pytorch(void **state)
{
    check_all(*state, false);
}

static void layers_match_pytorch(void **state)
{
    check_all(*state, true);
}

static void random_cases_follow_the_formulas(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        trial t = random_trial(seed);
        expect_reference(&t, tolerance);
        free_trial(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_match_pytorch),
        cmocka_unit_test(layers_match_pytorch),
        cmocka_unit_test(random_cases_follow_the_formulas),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
