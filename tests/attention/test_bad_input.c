/* Errors of callers: each gives TR_ERROR_ARGUMENT with one line that names the field, and nothing is written. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kinds.h"
#include "layer.h"

static const tr_attention_shape shape = {.batch = 2, .heads = 2, .queries = 5, .keys = 7, .d_k = 4, .d_v = 3};
static const float untouched = -12345.5f;

static const tr_attention_options local = {.kind = TR_ATTENTION_LOCAL, .window = 2},
                                  sparse = {.kind = TR_ATTENTION_BLOCK_SPARSE,
                                            .block = 2,
                                            .local_blocks = 1,
                                            .random_blocks = 1},
                                  linear = {.kind = TR_ATTENTION_LINEAR},
                                  ranked = {.kind = TR_ATTENTION_LOW_RANK, .rank = 3},
                                  pooled = {.kind = TR_ATTENTION_LOW_RANK, .pool = 2}, exact = {.kind = TR_ATTENTION_EXACT};

/* ----------------------------------------------------------------------------------------------------------------- calls */

/* The memory must still have the bytes that it was filled with. */
static float *fill(size_t n)
{
    float *x = reserve(n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = untouched;
    return x;
}

static void expect_untouched(const char *what, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != untouched)
            fail_msg("%s: it was refused, and has written", what);
}

/* "WHAT: WHY", one line that names the field. */
static void expect_message(tr_status status, const tr_error *error, const char *field)
{
    if (status != TR_ERROR_ARGUMENT || error->status != status)
        fail_msg("%s: status %d, error %d", field, (int)status, (int)error->status);
    const size_t length = strlen(error->message);
    if (!strstr(error->message, field) || !strstr(error->message, ": ") || strchr(error->message, '\n') ||
        error->message[length - 1] == '.')
        fail_msg("%s: \"%s\"", field, error->message);
}

enum { ROOM = 4096 }; /* floats that no valid call of these tests exceeds */

static void expect_refused(const trial *t, const char *field)
{
    float *out = fill(ROOM), *weights = fill(ROOM);
    tr_error error = {0};
    const tr_status status =
        tr_attention_forward(&t->shape, &t->options, &t->mask, t->element, t->q, t->k, t->v, out, weights, &error);
    expect_message(status, &error, field);
    assert_int_equal(
        tr_attention_forward(&t->shape, &t->options, &t->mask, t->element, t->q, t->k, t->v, out, weights, NULL), status);
    expect_untouched(field, out, ROOM);
    expect_untouched(field, weights, ROOM);
    free(out), free(weights);
}

/* --------------------------------------------------------------------------------------------------------------- numbers */

typedef struct bad_number {
    const tr_attention_options *options;
    size_t offset; /* offset of an int64_t in a trial */
    const char *field;
    int64_t values[6];
    int count;
} bad_number;

#define LARGE                            (int64_t)1 << 41, (int64_t)1 << 62, INT64_MAX
#define SIZE(field)                      &exact, offsetof(trial, shape.field), #field, {0, -1, INT64_MIN, LARGE}, 6
#define OPTION(given, field, count, ...) given, offsetof(trial, options.field), #field, {__VA_ARGS__}, count

static const bad_number bad_numbers[] = {
    {SIZE(batch)},
    {SIZE(heads)},
    {SIZE(queries)},
    {SIZE(keys)},
    {SIZE(d_k)},
    {SIZE(d_v)},
    {&exact, offsetof(trial, shape.d_k), "d_k", {1025}, 1},
    {&exact, offsetof(trial, shape.d_v), "d_v", {1025}, 1},
    {&exact, offsetof(trial, mask.position), "position", {-1, INT64_MIN, INT64_MAX}, 3},
    {OPTION(&local, window, 2, -1, INT64_MIN)},
    {OPTION(&sparse, block, 3, 0, -1, INT64_MIN)},
    {OPTION(&sparse, local_blocks, 2, -1, INT64_MIN)},
    {OPTION(&sparse, random_blocks, 2, -1, INT64_MIN)},
    {OPTION(&sparse, global_tokens, 2, -1, INT64_MIN)},
    {OPTION(&ranked, rank, 4, 0, -1, INT64_MIN, INT64_MAX)},
    {OPTION(&ranked, pool, 2, 1, 5)}, /* rank and pool at once */
    {OPTION(&pooled, pool, 3, 0, -1, INT64_MIN)},
    {OPTION(&pooled, rank, 2, 1, 5)},
    {OPTION(&exact, tile, 2, -1, INT64_MIN)},
};

static void numbers_out_of_range(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_numbers / sizeof *bad_numbers; i++) {
        const bad_number *bad = &bad_numbers[i];
        for (int j = 0; j < bad->count; j++) {
            trial t = make_trial(shape, *bad->options, TR_ELEMENT_F32, 1, 1);
            memcpy((char *)&t + bad->offset, &bad->values[j], sizeof bad->values[j]);
            const bool neither =
                bad->options == &pooled && bad->values[j] == 0; /* then the message says that the rank is missing */
            expect_refused(&t, neither ? "rank" : bad->field);
            free_trial(&t);
        }
    }
}

/* Sizes that are valid alone, but whose product overflows. */
static void products_overflow(void **state)
{
    (void)state;
    static const tr_attention_shape shapes[] = {
        {(int64_t)1 << 30, (int64_t)1 << 30, 1, 1, 4, 4},
        {(int64_t)1 << 30, 1, (int64_t)1 << 30, 1, 4, 4},
        {1, (int64_t)1 << 30, 1, (int64_t)1 << 30, 4, 4},
        {1 << 20, 1 << 20, 1 << 20, 1, 1, 1},
        {1 << 30, 1 << 29, 1, 1, 1, 1},
    };
    float few[4] = {0}, out[4] = {0}, weights[4] = {0};
    tr_error error;
    int64_t bytes;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        assert_int_equal(tr_attention_forward(&shapes[i], NULL, NULL, TR_ELEMENT_F32, few, few, few, out, weights, &error),
                         TR_ERROR_ARGUMENT);
        tr_attention_memory(&shapes[i], NULL, NULL, &bytes, &error); /* any status will do, if it returns */
    }
    const int64_t half = (int64_t)1 << 30, over[][4] = {{half, half, 64, 8}, {half, 1, half * 64, 64}, {1, half, half, 1}};
    for (size_t i = 0; i < sizeof over / sizeof *over; i++) {
        assert_int_equal(
            tr_attention_split_heads(TR_ELEMENT_F32, over[i][0], over[i][1], over[i][2], over[i][3], few, out, &error),
            TR_ERROR_ARGUMENT);
        assert_int_equal(
            tr_attention_join_heads(TR_ELEMENT_F32, over[i][0], over[i][1], over[i][2], over[i][3], few, out, &error),
            TR_ERROR_ARGUMENT);
    }
}

/* --------------------------------------------------------------------------------------------------------------- options */

static void invalid_options(void **state)
{
    (void)state;
    static const struct {
        int kind, threads;
        const char *cpu, *field;
        float scale;
    } bad[] = {
        {99, 0, NULL, "kind", 0},      {-1, 0, NULL, "kind", 0},           {0, -1, NULL, "threads", 0},
        {0, 1025, NULL, "threads", 0}, {0, INT32_MIN, NULL, "threads", 0}, {0, 0, "z80", "z80", 0},
        {0, 0, NULL, "scale", NAN},    {0, 0, NULL, "scale", INFINITY},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        trial t = make_trial(shape, exact, TR_ELEMENT_F32, 1, 1);
        t.options.kind = (tr_attention_kind)bad[i].kind;
        t.options.threads = bad[i].threads;
        t.options.cpu = bad[i].cpu;
        t.options.scale = bad[i].scale;
        expect_refused(&t, bad[i].field);
        free_trial(&t);
    }
    trial t = make_trial(shape, exact, TR_ELEMENT_F32, 1, 1);
    t.options.backend = "tbb";
    expect_refused(&t, "backend");
    t.options.backend = NULL;
    t.mask.reserved[0] = t.options.reserved[7] = 1;
    expect_refused(&t, "options: reserved");
    t.options.reserved[7] = 0;
    expect_refused(&t, "mask: reserved");
    t.mask.reserved[0] = 0;
    t.element = (tr_element)2;
    expect_refused(&t, "element");
    free_trial(&t);
}

static void projections_are_needed(void **state)
{
    (void)state;
    for (int missing = 1; missing < 4; missing++) {
        trial t = make_trial(shape, ranked, TR_ELEMENT_F32, 1, 1);
        const float *key = t.options.key_projection, *value = t.options.value_projection;
        t.options.key_projection = missing & 1 ? NULL : key;
        t.options.value_projection = missing & 2 ? NULL : value;
        expect_refused(&t, missing & 1 ? "key_projection" : "value_projection");
        free((void *)key), free((void *)value);
        t.options.key_projection = t.options.value_projection = NULL;
        free_trial(&t);
    }
    trial t = make_trial(shape, ranked, TR_ELEMENT_F32, 1, 1); /* one mask for both is valid */
    free((void *)t.options.value_projection);
    t.options.value_projection = t.options.key_projection;
    expect_reference(&t, 1e-5);
    t.options.value_projection = NULL;
    free_trial(&t);
}

/* ----------------------------------------------------------------------------------------------------------------- masks */

static void lengths_beyond_the_keys(void **state)
{
    (void)state;
    static const int64_t bad[] = {8, -1, INT64_MAX, INT64_MIN, (int64_t)1 << 32};
    for (int kind = 0; kind < 2 * SOME_KINDS; kind++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            trial t = make_trial(shape, some_of_each_kind[kind / 2], TR_ELEMENT_F32, 1, 1);
            const bool by_query = kind % 2 && masks_by_query(t.options.kind);
            int64_t lengths[10] = {7, 0, 7, 0, 7, 0, 7, 0, 7, 0};
            lengths[by_query ? 9 : 1] = bad[i];
            limit(&t, lengths, by_query);
            expect_refused(&t, "lengths");
            float scores[140] = {0}, *weights = fill(140);
            tr_error error;
            expect_message(tr_attention_masked_softmax(&t.shape, &t.mask, scores, weights, &error), &error, "lengths");
            expect_untouched("softmax", weights, 140);
            free(weights);
            free_trial(&t);
        }
}

static void masks_that_a_kind_cannot_take(void **state)
{
    (void)state;
    static const tr_attention_options *const kinds[] = {&linear, &ranked, &pooled};
    static const int64_t lengths[10] = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        trial t = make_trial(shape, *kinds[i], TR_ELEMENT_F32, 1, 1);
        add_some(&t, "");
        expect_refused(&t, "additive");
        free_trial(&t);
        t = make_trial(shape, *kinds[i], TR_ELEMENT_F32, 1, 1);
        add_prior(&t, "h");
        expect_refused(&t, "prior");
        free_trial(&t);
        t = make_trial(shape, *kinds[i], TR_ELEMENT_F32, 1, 1);
        allow_some(&t, "q");
        expect_refused(&t, "allowed");
        free_trial(&t);
        t = make_trial(shape, *kinds[i], TR_ELEMENT_F32, 1, 1);
        limit(&t, lengths, true);
        expect_refused(&t, "lengths_by_query");
        free_trial(&t);
        if (kinds[i] == &linear)
            continue;
        t = make_trial(shape, *kinds[i], TR_ELEMENT_F32, 1, 1);
        t.mask.causal = true;
        expect_refused(&t, "causal");
        free_trial(&t);
    }
}

static void strides_out_of_range(void **state)
{
    (void)state;
    static const int64_t bad[] = {-1, INT64_MIN, INT64_MAX, (int64_t)1 << 61};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int axis = 0; axis < 3; axis++) {
            trial t = make_trial(shape, exact, TR_ELEMENT_F32, 1, 1);
            allow_some(&t, "bhq"), add_some(&t, "bhq"), add_prior(&t, "bhq");
            const tr_attention_mask good = t.mask;
            t.mask.allowed_stride[axis] = bad[i];
            if (i < 3 || axis < 0) /* bytes: 2^61 of them can be addressed */
                expect_refused(&t, "allowed");
            t.mask = good;
            t.mask.additive_stride[axis] = bad[i];
            expect_refused(&t, "additive");
            t.mask = good;
            t.mask.prior_stride[axis] = bad[i];
            expect_refused(&t, "prior");
            t.mask = good;
            free_trial(&t);
        }
}

/* ------------------------------------------------------------------------------------------------------------------ NULL */

static void nothing_given(void **state)
{
    (void)state;
    const trial good = make_trial(shape, exact, TR_ELEMENT_F32, 1, 1);
    tr_error error;
    void **const operands[] = {(void **)&((trial *)&good)->q, (void **)&((trial *)&good)->k, (void **)&((trial *)&good)->v};
    static const char *const names[] = {"q", "k", "v"};
    float *out = fill(ROOM);
    for (int i = 0; i < 3; i++) {
        void *const kept = *operands[i];
        *operands[i] = NULL;
        expect_refused(&good, names[i]);
        *operands[i] = kept;
    }
    expect_message(tr_attention_forward(&shape, NULL, NULL, TR_ELEMENT_F32, good.q, good.k, good.v, NULL, NULL, &error),
                   &error, "out");
    expect_message(tr_attention_forward(NULL, NULL, NULL, TR_ELEMENT_F32, good.q, good.k, good.v, out, NULL, &error), &error,
                   "shape");
    expect_message(tr_attention_memory(&shape, NULL, NULL, NULL, &error), &error, "bytes");
    expect_message(tr_attention_masked_softmax(NULL, NULL, out, out, &error), &error, "shape");
    expect_message(tr_attention_masked_softmax(&shape, NULL, NULL, out, &error), &error, "scores");
    expect_message(tr_attention_masked_softmax(&shape, NULL, out, NULL, &error), &error, "weights");
    expect_message(tr_attention_split_heads(TR_ELEMENT_F32, 1, 1, 1, 1, NULL, out, &error), &error, "x");
    expect_message(tr_attention_split_heads(TR_ELEMENT_F32, 1, 1, 1, 1, out, NULL, &error), &error, "out");
    expect_message(tr_attention_join_heads(TR_ELEMENT_F32, 1, 1, 1, 1, NULL, out, &error), &error, "x");
    expect_message(tr_attention_join_heads(TR_ELEMENT_F32, 1, 1, 1, 1, out, NULL, &error), &error, "out");
    expect_untouched("NULL", out, ROOM);
    free(out);
    free_trial((trial *)&good);
}

static void columns_of_what_is_not_valid(void **state)
{
    (void)state;
    assert_int_equal(tr_attention_columns(&shape, NULL), 7);
    assert_int_equal(tr_attention_columns(&shape, &ranked), 3);
    assert_int_equal(tr_attention_columns(&shape, &pooled), 4);
    assert_int_equal(tr_attention_columns(NULL, NULL), 0);
    for (size_t i = 0; i < sizeof bad_numbers / sizeof *bad_numbers; i++)
        for (int j = 0; j < bad_numbers[i].count; j++) {
            if (bad_numbers[i].offset >= offsetof(trial, mask))
                continue;
            trial t = {.shape = shape, .options = *bad_numbers[i].options};
            memcpy((char *)&t + bad_numbers[i].offset, &bad_numbers[i].values[j], sizeof(int64_t));
            int64_t bytes;
            tr_error error;
            assert_int_equal(tr_attention_columns(&t.shape, &t.options), 0);
            assert_int_equal(tr_attention_memory(&t.shape, &t.options, NULL, &bytes, &error), TR_ERROR_ARGUMENT);
        }
}

/* ------------------------------------------------------------------------------------------------------ steps and layers */

static void heads_that_do_not_divide(void **state)
{
    (void)state;
    static const struct {
        int64_t sizes[4]; /* batch, length, d_model, heads */
        const char *field;
    } bad[] = {
        {{2, 3, 10, 3}, "d_model"},
        {{2, 3, 4, 8}, "d_model"},
        {{0, 3, 4, 2}, "batch"},
        {{-1, 3, 4, 2}, "batch"},
        {{2, 0, 4, 2}, "length"},
        {{2, -3, 4, 2}, "length"},
        {{2, 3, 0, 2}, "d_model"},
        {{2, 3, -4, 2}, "d_model"},
        {{2, 3, 4, 0}, "heads"},
        {{2, 3, 4, -2}, "heads"},
        {{INT64_MAX, 3, 4, 2}, "batch"},
        {{2, INT64_MAX, 4, 2}, "length"},
        {{2, 3, INT64_MAX - 1, 2}, "d_model"},
        {{2, 3, 4, INT64_MAX}, "heads"},
    };
    const float x[64] = {0};
    float *out = fill(64);
    tr_error error;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int64_t *s = bad[i].sizes;
        expect_message(tr_attention_split_heads(TR_ELEMENT_F32, s[0], s[1], s[2], s[3], x, out, &error), &error,
                       bad[i].field);
        expect_message(tr_attention_join_heads(TR_ELEMENT_F32, s[0], s[1], s[2], s[3], x, out, &error), &error,
                       bad[i].field);
    }
    expect_message(tr_attention_split_heads((tr_element)9, 1, 2, 4, 2, x, out, &error), &error, "element");
    expect_message(tr_attention_join_heads((tr_element)9, 1, 2, 4, 2, x, out, &error), &error, "element");
    expect_untouched("heads", out, 64);
    free(out);
}

/* A softmax ignores the head size. */
static void softmax_without_sizes(void **state)
{
    (void)state;
    const tr_attention_shape lengths = {.batch = 1, .heads = 1, .queries = 1, .keys = 2, .d_k = -3, .d_v = INT64_MAX};
    tr_attention_shape bad;
    const float scores[2] = {0, 0};
    float weights[2] = {untouched, untouched};
    tr_error error;
    assert_int_equal(tr_attention_masked_softmax(&lengths, NULL, scores, weights, &error), TR_OK);
    assert_float_equal(weights[0], 0.5f, 0);
    bad = lengths, bad.keys = 0;
    expect_message(tr_attention_masked_softmax(&bad, NULL, scores, weights, &error), &error, "keys");
    bad = lengths, bad.queries = -1;
    expect_message(tr_attention_masked_softmax(&bad, NULL, scores, weights, &error), &error, "queries");
    bad = lengths, bad.heads = INT64_MAX;
    expect_message(tr_attention_masked_softmax(&bad, NULL, scores, weights, &error), &error, "heads");
    bad = lengths, bad.batch = 0;
    expect_message(tr_attention_masked_softmax(&bad, NULL, scores, weights, &error), &error, "batch");
    expect_message(tr_attention_masked_softmax(&lengths, &(tr_attention_mask){.position = -1}, scores, weights, &error),
                   &error, "position");
}

static void expect_layer_refused(const layer_trial *l, const char *field)
{
    float *out = fill(ROOM), *weights = fill(ROOM);
    tr_error error = {0};
    expect_message(run_layer(l, out, weights, &error), &error, field);
    expect_untouched(field, out, ROOM);
    expect_untouched(field, weights, ROOM);
    free(out), free(weights);
}

static void layers_that_cannot_be(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        const char *field;
        int64_t value;
    } bad[] = {
        {offsetof(layer_trial, layer.num_heads), "num_heads", 5},
        {offsetof(layer_trial, layer.num_heads), "num_heads", 0},
        {offsetof(layer_trial, layer.num_heads), "num_heads", -2},
        {offsetof(layer_trial, layer.num_heads), "num_heads", INT64_MAX},
        {offsetof(layer_trial, layer.d_model), "d_model", 0},
        {offsetof(layer_trial, layer.d_model), "d_model", -8},
        {offsetof(layer_trial, layer.d_model), "d_model", INT64_MAX - 1},
        {offsetof(layer_trial, layer.d_model), "d_model", 2052}, /* 1026 for each head */
        {offsetof(layer_trial, layer.query_width), "query_width", 0},
        {offsetof(layer_trial, layer.query_width), "query_width", INT64_MAX},
        {offsetof(layer_trial, layer.key_width), "key_width", -1},
        {offsetof(layer_trial, layer.key_width), "key_width", (int64_t)1 << 62},
        {offsetof(layer_trial, layer.value_width), "value_width", 0},
        {offsetof(layer_trial, layer.value_width), "value_width", INT64_MAX},
        {offsetof(layer_trial, layer.query_weight), "query_weight", 0},
        {offsetof(layer_trial, layer.key_weight), "key_weight", 0},
        {offsetof(layer_trial, layer.value_weight), "value_weight", 0},
        {offsetof(layer_trial, layer.output_weight), "output_weight", 0},
        {offsetof(layer_trial, inner.shape.batch), "batch", 0},
        {offsetof(layer_trial, inner.shape.queries), "queries", -1},
        {offsetof(layer_trial, inner.shape.keys), "keys", INT64_MAX},
        {offsetof(layer_trial, inner.q), "q", 0},
        {offsetof(layer_trial, inner.k), "k", 0},
        {offsetof(layer_trial, inner.v), "v", 0},
        {offsetof(layer_trial, inner.options.tile), "tile", -1},
        {offsetof(layer_trial, inner.mask.position), "position", -1},
    };
    const layer_trial good = make_layer(2, 3, 4, (layer_sizes){8, 8, 8, 8, 2}, true, TR_ELEMENT_F32, TR_ELEMENT_F32, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        layer_trial l = good;
        const intptr_t value = (intptr_t)bad[i].value;
        memcpy((char *)&l + bad[i].offset, &value, sizeof value);
        expect_layer_refused(&l, bad[i].field);
    }
    layer_trial l = good;
    l.layer.element = (tr_element)3;
    expect_layer_refused(&l, "element");
    l = good;
    l.inner.element = (tr_element)3;
    expect_layer_refused(&l, "element");
    float out[64];
    tr_error error;
    expect_message(tr_attention_multi_head_forward(NULL, NULL, NULL, 2, 3, 4, TR_ELEMENT_F32, good.inner.q, good.inner.k,
                                                   good.inner.v, out, NULL, &error),
                   &error, "layer");
    expect_message(run_layer(&good, NULL, NULL, &error), &error, "out");
    l = good;
    free_layer(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_out_of_range),
        cmocka_unit_test(products_overflow),
        cmocka_unit_test(invalid_options),
        cmocka_unit_test(projections_are_needed),
        cmocka_unit_test(lengths_beyond_the_keys),
        cmocka_unit_test(masks_that_a_kind_cannot_take),
        cmocka_unit_test(strides_out_of_range),
        cmocka_unit_test(nothing_given),
        cmocka_unit_test(columns_of_what_is_not_valid),
        cmocka_unit_test(heads_that_do_not_divide),
        cmocka_unit_test(softmax_without_sizes),
        cmocka_unit_test(layers_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
