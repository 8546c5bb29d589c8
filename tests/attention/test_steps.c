/* The steps of multi-head attention alone, on examples that can be computed by hand: splitting and joining heads, and the
 * softmax with each mask. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static const float near = 1e-6f;

/* ----------------------------------------------------------------------------------------------------------------- heads */

static void split(tr_element element, int64_t batch, int64_t length, int64_t d_model, int64_t heads, const void *x,
                  void *out)
{
    tr_error error;
    if (tr_attention_split_heads(element, batch, length, d_model, heads, x, out, &error))
        fail_msg("%s", error.message);
}

static void join(tr_element element, int64_t batch, int64_t length, int64_t d_model, int64_t heads, const void *x, void *out)
{
    tr_error error;
    if (tr_attention_join_heads(element, batch, length, d_model, heads, x, out, &error))
        fail_msg("%s", error.message);
}

static void two_heads_by_hand(void **state)
{
    (void)state;
    static const float x[2][2][4] = {{{10, 11, 12, 13}, {14, 15, 16, 17}}, {{20, 21, 22, 23}, {24, 25, 26, 27}}};
    static const float wanted[2][2][2][2] = {{{{10, 11}, {14, 15}}, {{12, 13}, {16, 17}}},
                                             {{{20, 21}, {24, 25}}, {{22, 23}, {26, 27}}}};
    float heads[2][2][2][2], back[2][2][4];
    split(TR_ELEMENT_F32, 2, 2, 4, 2, x, heads);
    assert_memory_equal(heads, wanted, sizeof wanted);
    join(TR_ELEMENT_F32, 2, 2, 4, 2, heads, back);
    assert_memory_equal(back, x, sizeof x);
}

/* [batch, length, heads x size] as [batch x heads, length, size]: element by element, and back. */
static void check_split(int64_t batch, int64_t length, int64_t d_model, int64_t heads)
{
    const int64_t size = d_model / heads;
    const size_t n = (size_t)(batch * length * d_model);
    float *x = numbers(1, STREAM_Q, n, 1), *out = reserve(n, sizeof *out), *back = reserve(n, sizeof *back);
    split(TR_ELEMENT_F32, batch, length, d_model, heads, x, out);
    for (int64_t r = 0; r < batch * heads; r++)
        for (int64_t l = 0; l < length; l++)
            for (int64_t e = 0; e < size; e++)
                assert_float_equal(out[(r * length + l) * size + e],
                                   x[(r / heads * length + l) * d_model + r % heads * size + e], 0);
    join(TR_ELEMENT_F32, batch, length, d_model, heads, out, back);
    expect_bits("joined", back, x, n);

    uint16_t *halves = as_element(TR_ELEMENT_BF16, x, n), *half_out = reserve(n, sizeof *half_out);
    uint16_t *half_back = reserve(n, sizeof *half_back), *wanted = as_element(TR_ELEMENT_BF16, out, n);
    split(TR_ELEMENT_BF16, batch, length, d_model, heads, halves, half_out);
    assert_memory_equal(half_out, wanted, n * sizeof *wanted);
    join(TR_ELEMENT_BF16, batch, length, d_model, heads, half_out, half_back);
    assert_memory_equal(half_back, halves, n * sizeof *halves);
    free(x), free(out), free(back), free(halves), free(half_out), free(half_back), free(wanted);
}

static void batch_times_heads(void **state)
{
    (void)state;
    check_split(2, 10, 100, 5); /* (2, 10, 100) -> (10, 10, 20) */
    check_split(2, 3, 4, 2);    /* (2, 3, 4) -> (4, 3, 2) */
    check_split(1, 1, 1, 1);
    check_split(3, 33, 96, 96);
    check_split(2, 65, 48, 1);
    check_split(1, 300, 64, 8);
}

/* --------------------------------------------------------------------------------------------------------------- softmax */

static void softmax(const tr_attention_shape *shape, const tr_attention_mask *mask, const float *scores, float *weights)
{
    tr_error error;
    if (tr_attention_masked_softmax(shape, mask, scores, weights, &error))
        fail_msg("%s", error.message);
}

static void expect_weights(const float *got, const float *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (wanted[i] == 0)
            assert_memory_equal(&got[i], &wanted[i], sizeof *got);
        assert_float_equal(got[i], wanted[i], near);
    }
}

/* The softmax of these is 1/10, 2/10, 3/10, 4/10. */
static void fill_logarithms(float *scores, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < 4; j++)
            scores[4 * r + j] = logf((float)(j + 1));
}

static const float of_four[] = {0.1f, 0.2f, 0.3f, 0.4f}, of_three[] = {1.f / 6, 2.f / 6, 3.f / 6, 0},
                   of_two[] = {1.f / 3, 2.f / 3, 0, 0}, of_one[] = {1, 0, 0, 0}, of_none[] = {0, 0, 0, 0};

static void without_a_mask(void **state)
{
    (void)state;
    const tr_attention_shape shape = {.batch = 1, .heads = 1, .queries = 2, .keys = 4};
    float scores[8], weights[8];
    fill_logarithms(scores, 2);
    softmax(&shape, NULL, scores, weights);
    expect_weights(weights, of_four, 4);
    expect_weights(weights + 4, of_four, 4);
    for (int j = 0; j < 8; j++)
        scores[j] += 1000; /* a softmax does not change if a constant is added to all scores */
    softmax(&shape, &(tr_attention_mask){0}, scores, scores);
    for (int j = 0; j < 8; j++)
        assert_float_equal(scores[j], weights[j], 1e-4); /* 1000 removes the last bits of the scores */
}

static void lengths_of_a_batch(void **state)
{
    (void)state;
    const tr_attention_shape shape = {.batch = 3, .heads = 2, .queries = 2, .keys = 4};
    static const int64_t lengths[] = {2, 3, 0};
    static const float *const wanted[] = {of_two, of_three, of_none};
    float scores[48], weights[48];
    fill_logarithms(scores, 12);
    softmax(&shape, &(tr_attention_mask){.lengths = lengths}, scores, weights);
    for (int row = 0; row < 12; row++)
        expect_weights(weights + 4 * row, wanted[row / 4], 4);
}

static void lengths_of_each_row(void **state)
{
    (void)state;
    const tr_attention_shape shape = {.batch = 2, .heads = 2, .queries = 2, .keys = 4};
    static const int64_t lengths[] = {1, 3, 2, 4}; /* [batch, queries] */
    static const float *const wanted[] = {of_one, of_three, of_one, of_three, of_two, of_four, of_two, of_four};
    float scores[32], weights[32];
    fill_logarithms(scores, 8);
    softmax(&shape, &(tr_attention_mask){.lengths = lengths, .lengths_by_query = true}, scores, weights);
    for (int row = 0; row < 8; row++)
        expect_weights(weights + 4 * row, wanted[row], 4);
}

static void causal(void **state)
{
    (void)state;
    const tr_attention_shape shape = {.batch = 1, .heads = 1, .queries = 4, .keys = 4};
    static const float *const wanted[] = {of_one, of_two, of_three, of_four, of_four, of_four};
    float scores[16], weights[16];
    fill_logarithms(scores, 4);
    for (int position = 0; position < 3; position++) {
        softmax(&shape, &(tr_attention_mask){.causal = true, .position = position}, scores, weights);
        for (int row = 0; row < 4; row++)
            expect_weights(weights + 4 * row, wanted[row + position], 4);
    }
}

static void what_is_added(void **state)
{
    (void)state;
    const tr_attention_shape shape = {.batch = 1, .heads = 2, .queries = 2, .keys = 4};
    /* scores of zero; additive for each query, the same for all heads; prior for each head, the same for all queries */
    float scores[16] = {0}, weights[16], additive[8];
    fill_logarithms(additive, 2);
    additive[7] = -INFINITY;
    softmax(&shape, &(tr_attention_mask){.additive = additive, .additive_stride = {0, 0, 4}}, scores, weights);
    for (int head = 0; head < 2; head++) {
        expect_weights(weights + 8 * head, of_four, 4);
        expect_weights(weights + 8 * head + 4, of_three, 4);
    }
    const float prior[8] = {0, 0, 0, 0, logf(4), logf(2), 0, -INFINITY};
    static const float wanted[] = {4.f / 11, 4.f / 11, 3.f / 11, 0};
    softmax(
        &shape,
        &(tr_attention_mask){.additive = additive, .additive_stride = {0, 0, 4}, .prior = prior, .prior_stride = {0, 4, 0}},
        scores, weights);
    expect_weights(weights, of_four, 4);
    expect_weights(weights + 4, of_three, 4);
    expect_weights(weights + 8, wanted, 4);
    expect_weights(weights + 12, wanted, 4);
}

/* All masks that are given apply together. */
static void masks_together(void **state)
{
    (void)state;
    const tr_attention_shape shape = {.batch = 1, .heads = 1, .queries = 3, .keys = 4};
    static const bool allowed[] = {true, false, true, true};
    static const int64_t lengths[] = {3};
    static const float wanted[][4] = {{1, 0, 0, 0}, {1, 0, 0, 0}, {0.25f, 0, 0.75f, 0}};
    float scores[12], weights[12];
    fill_logarithms(scores, 3);
    softmax(&shape, &(tr_attention_mask){.allowed = allowed, .lengths = lengths, .causal = true}, scores, weights);
    expect_weights(weights, wanted[0], 12);
}

/* What the target "You are welcome PAD" attends to among six source tokens, whose last two are padding, too. The row of the
 * target's padding is zero; adding -1e9 in place of masking would give it the mean of all values. */
static void you_are_welcome(void **state)
{
    (void)state;
    const tr_attention_shape shape = {.batch = 1, .heads = 1, .queries = 4, .keys = 6};
    static const bool allowed[4][6] = {{true, true, true, true, false, false},
                                       {true, true, true, true, false, false},
                                       {true, true, true, true, false, false},
                                       {false, false, false, false, false, false}};
    const float ln2 = logf(2), ln3 = logf(3);
    const float scores[4][6] = {
        {ln2, 0, 0, 0, 9, 9}, {0, ln3, 0, 0, -9, 0}, {0, ln2, ln2, 0, NAN, INFINITY}, {1, 2, 3, 4, 5, NAN}};
    static const float wanted[4][6] = {{2 / 5.f, 1 / 5.f, 1 / 5.f, 1 / 5.f, 0, 0},
                                       {1 / 6.f, 3 / 6.f, 1 / 6.f, 1 / 6.f, 0, 0},
                                       {1 / 6.f, 2 / 6.f, 2 / 6.f, 1 / 6.f, 0, 0},
                                       {0, 0, 0, 0, 0, 0}};
    float weights[4][6];
    softmax(&shape, &(tr_attention_mask){.allowed = allowed[0], .allowed_stride = {0, 0, 6}}, scores[0], weights[0]);
    expect_weights(weights[0], wanted[0], 24);
}

/* Random scores and all kinds of masks: rows sum to 1, or are zero if nothing is allowed; computing in place gives the
 * same. */
static void rows_sum_to_one(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        trial t = random_trial(seed);
        const int64_t keys = t.shape.keys, rows = t.shape.batch * t.shape.heads * t.shape.queries;
        const size_t n = (size_t)(rows * keys);
        float *scores = numbers(seed, STREAM_Q, n, 30), *weights = reserve(n, sizeof *weights);
        softmax(&t.shape, &t.mask, scores, weights);
        for (int64_t r = 0; r < rows; r++) {
            double sum = 0;
            for (int64_t j = 0; j < keys; j++) {
                assert_true(weights[r * keys + j] >= 0);
                sum += (double)weights[r * keys + j];
            }
            if (sum != 0 && fabs(sum - 1) > 1e-6)
                fail_msg("%s: a row sums to %.9g", describe_trial(&t), sum);
        }
        softmax(&t.shape, &t.mask, scores, scores);
        expect_bits("in place", scores, weights, n);
        free(scores), free(weights);
        free_trial(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_heads_by_hand),  cmocka_unit_test(batch_times_heads),   cmocka_unit_test(without_a_mask),
        cmocka_unit_test(lengths_of_a_batch), cmocka_unit_test(lengths_of_each_row), cmocka_unit_test(causal),
        cmocka_unit_test(what_is_added),      cmocka_unit_test(masks_together),      cmocka_unit_test(you_are_welcome),
        cmocka_unit_test(rows_sum_to_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
