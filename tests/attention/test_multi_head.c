/* Layers of multi-head attention: the shapes of textbooks, with and without biases and masks, in f32 and bf16; and masked
 * keys, which must have no effect. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/numbers.h"
#include "layer.h"

static const double tolerance = 1e-5;
static const float edge_value = -12345.5f;

/* Output and weights have the right sizes, and nothing after them is written. */
static void expect_sizes(const layer_trial *l, size_t out_count, size_t weights_count)
{
    float *out = reserve(out_count + 16, sizeof *out), *weights = reserve(weights_count + 16, sizeof *weights);
    for (size_t i = 0; i < 16; i++)
        out[out_count + i] = weights[weights_count + i] = edge_value;
    for (size_t i = 0; i < out_count; i++)
        out[i] = NAN;
    for (size_t i = 0; i < weights_count; i++)
        weights[i] = NAN;
    attend_layer(l, out, weights);
    for (size_t i = 0; i < out_count; i++)
        assert_false(isnan(out[i]));
    for (size_t i = 0; i < weights_count; i++)
        assert_true(weights[i] >= 0 && weights[i] <= 1);
    for (size_t i = 0; i < 16; i++)
        assert_true(out[out_count + i] == edge_value && weights[weights_count + i] == edge_value);
    free(out), free(weights);
}

static void five_heads_of_a_hundred(void **state)
{
    (void)state;
    for (int biases = 0; biases < 2; biases++) {
        layer_trial l = make_layer(2, 4, 6, (layer_sizes){100, 100, 100, 100, 5}, biases, TR_ELEMENT_F32, TR_ELEMENT_F32, 1);
        limit(&l.inner, (const int64_t[]){3, 2}, false);
        expect_sizes(&l, 2 * 4 * 100, 2 * 5 * 4 * 6);
        expect_layer_reference(&l, tolerance);
        free_layer(&l);
    }
}

/* A float as an element of the type that the layer reads. */
static void overwrite(tr_element element, void *x, int64_t index, float value)
{
    if (element == TR_ELEMENT_F32)
        ((float *)x)[index] = value;
    else
        ((uint16_t *)x)[index] = tr_bf16_from_f32(value);
}

/* The values of masked keys and values do not change a bit of the result. */
static void check_masked(tr_attention_kind kind, tr_element element)
{
    static const float instead[] = {1e30f, NAN, INFINITY, -INFINITY};
    layer_trial l = make_layer(2, 4, 6, (layer_sizes){100, 100, 100, 100, 5}, true, TR_ELEMENT_F32, element, 2);
    static const int64_t lengths[] = {3, 2};
    l.inner.options = (tr_attention_options){.kind = kind, .window = 2, .block = 2, .local_blocks = 1};
    l.inner.options.pool = kind == TR_ATTENTION_LOW_RANK ? 2 : 0;
    limit(&l.inner, lengths, false);
    const size_t n = layer_out_size(&l), m = weights_size(&l.inner);
    float *before = reserve(n, sizeof *before), *after = reserve(n, sizeof *after);
    float *weights_before = reserve(m, sizeof *weights_before), *weights_after = reserve(m, sizeof *weights_after);
    attend_layer(&l, before, weights_before);
    for (size_t v = 0; v < sizeof instead / sizeof *instead; v++) {
        for (int64_t b = 0; b < 2; b++)
            for (int64_t at = (b * 6 + lengths[b]) * 100; at < (b + 1) * 600; at++) {
                overwrite(element, l.inner.k, at, instead[v]);
                overwrite(element, l.inner.v, at, instead[v]);
            }
        attend_layer(&l, after, weights_after);
        expect_bits(kind_name(kind), after, before, n);
        expect_bits(kind_name(kind), weights_after, weights_before, m);
    }
    free(before), free(after), free(weights_before), free(weights_after);
    free_layer(&l);
}

static void masked_keys_have_no_influence(void **state)
{
    (void)state;
    for (tr_attention_kind kind = TR_ATTENTION_EXACT; kind <= TR_ATTENTION_LOW_RANK; kind++) {
        check_masked(kind, TR_ELEMENT_F32);
        check_masked(kind, TR_ELEMENT_BF16);
    }
}

static void sixty_tokens_of_512(void **state)
{
    (void)state;
    layer_trial l = make_layer(1, 60, 60, (layer_sizes){512, 512, 512, 512, 8}, false, TR_ELEMENT_F32, TR_ELEMENT_F32, 3);
    expect_sizes(&l, 60 * 512, 8 * 60 * 60);
    free_layer(&l);
}

static void five_tokens_over_ten(void **state)
{
    (void)state;
    layer_trial l = make_layer(2, 5, 10, (layer_sizes){512, 512, 512, 512, 8}, true, TR_ELEMENT_F32, TR_ELEMENT_F32, 4);
    expect_sizes(&l, 2 * 5 * 512, 2 * 8 * 5 * 10);
    float *out = reserve(2 * 5 * 512, sizeof *out), *weights = reserve(2 * 8 * 5 * 10, sizeof *weights);
    attend_layer(&l, out, weights);
    for (int row = 0; row < 2 * 8 * 5; row++) {
        double sum = 0;
        for (int j = 0; j < 10; j++)
            sum += (double)weights[10 * row + j];
        assert_true(fabs(sum - 1) < 1e-6);
    }
    free(out), free(weights);
    free_layer(&l);
}

static void sizes_differ(void **state)
{
    (void)state;
    static const layer_sizes sizes[] = {{7, 24, 37, 30, 3}, {64, 1, 100, 16, 16}, {1, 1, 1, 1, 1}, {33, 20, 8, 65, 5}};
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int ways = 0; ways < 8; ways++, seed++) {
            layer_trial l =
                make_layer(2, 3 + 5 * ways, 35 - 3 * ways, sizes[i], ways & 1, ways & 2 ? TR_ELEMENT_BF16 : TR_ELEMENT_F32,
                           ways & 4 ? TR_ELEMENT_BF16 : TR_ELEMENT_F32, seed);
            expect_layer_reference(&l, tolerance);
            allow_some(&l.inner, "bhq");
            l.inner.mask.causal = true;
            l.inner.mask.position = 4;
            expect_layer_reference(&l, tolerance);
            free_layer(&l);
        }
}

/* A layer with one bias and not the others; output biases reach the rows that attend to nothing, too. */
static void biases_one_by_one(void **state)
{
    (void)state;
    for (int kept = 0; kept < 4; kept++) {
        layer_trial l = make_layer(1, 4, 6, (layer_sizes){8, 8, 8, 8, 2}, true, TR_ELEMENT_F32, TR_ELEMENT_F32, 40);
        const void **const biases[] = {&l.layer.query_bias, &l.layer.key_bias, &l.layer.value_bias, &l.layer.output_bias};
        for (int i = 0; i < 4; i++)
            if (i != kept) {
                free((void *)*biases[i]);
                *biases[i] = NULL;
            }
        allow_some(&l.inner, "q");
        expect_layer_reference(&l, tolerance);
        free_layer(&l);
    }
}

static void every_kind(void **state)
{
    (void)state;
    static const tr_attention_options ways[] = {
        {.kind = TR_ATTENTION_LOCAL, .window = 3},
        {.kind = TR_ATTENTION_BLOCK_SPARSE,
         .block = 4,
         .local_blocks = 1,
         .random_blocks = 1,
         .global_tokens = 2,
         .seed = 9},
        {.kind = TR_ATTENTION_LINEAR},
        {.kind = TR_ATTENTION_LOW_RANK, .pool = 3},
        {.kind = TR_ATTENTION_EXACT, .scale = 0.5f, .threads = 2, .tile = 3},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        layer_trial l =
            make_layer(2, 21, 37, (layer_sizes){24, 20, 28, 36, 3}, true, TR_ELEMENT_F32, TR_ELEMENT_F32, 50 + i);
        l.inner.options = ways[i];
        limit(&l.inner, (const int64_t[]){37, 11}, false);
        expect_layer_reference(&l, tolerance);
        free_layer(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_heads_of_a_hundred),
        cmocka_unit_test(masked_keys_have_no_influence),
        cmocka_unit_test(sixty_tokens_of_512),
        cmocka_unit_test(five_tokens_over_ten),
        cmocka_unit_test(sizes_differ),
        cmocka_unit_test(biases_one_by_one),
        cmocka_unit_test(every_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
