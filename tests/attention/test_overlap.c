/* What a call writes must not overlap anything else that it reads or writes; adjacent memory is allowed. */
#include <stdlib.h>
#include <string.h>

#include "layer.h"

enum { OUT, WEIGHTS, WRITTEN, Q = WRITTEN, K, V, ALLOWED, ADDITIVE, PRIOR, LENGTHS, TENSORS };

static const char *const names[TENSORS] = {"out", "weights", "q", "k", "v", "allowed", "additive", "prior", "lengths"};
static const tr_attention_shape shape = {.batch = 2, .heads = 2, .queries = 4, .keys = 8, .d_k = 4, .d_v = 2};
static const size_t sizes[TENSORS] = {128, 512, 256, 512, 256,
                                      128, 512, 512, 64}; /* bytes of each, all masks dense, lengths by query */

/* Tensors next to each other in memory. */
typedef struct block {
    char *memory, *at[TENSORS];
} block;

static block make_block(void)
{
    size_t used = 0;
    block b = {.memory = aligned_alloc(64, 4096)};
    assert_non_null(b.memory);
    memset(b.memory, 0, 4096); /* numbers, lengths and permissions of zero are valid */
    for (int i = 0; i < TENSORS; i++) {
        b.at[i] = b.memory + used;
        used += sizes[i];
    }
    return b;
}

static tr_status run(const block *b, tr_error *error)
{
    const tr_attention_mask mask = {.allowed = (bool *)(void *)b->at[ALLOWED],
                                    .allowed_stride = {64, 32, 8},
                                    .additive = (float *)(void *)b->at[ADDITIVE],
                                    .additive_stride = {64, 32, 8},
                                    .prior = (float *)(void *)b->at[PRIOR],
                                    .prior_stride = {64, 32, 8},
                                    .lengths = (int64_t *)(void *)b->at[LENGTHS],
                                    .lengths_by_query = true};
    return tr_attention_forward(&shape, NULL, &mask, TR_ELEMENT_F32, b->at[Q], b->at[K], b->at[V],
                                (float *)(void *)b->at[OUT], (float *)(void *)b->at[WEIGHTS], error);
}

static void expect_overlap(tr_status status, const tr_error *error, const char *a, const char *b)
{
    if (status != TR_ERROR_ARGUMENT || !strstr(error->message, a) || !strstr(error->message, b) ||
        !strstr(error->message, "overlap"))
        fail_msg("%s over %s: status %d, \"%s\"", a, b, (int)status, status ? error->message : "");
}

static void adjacent_memory_is_allowed(void **state)
{
    (void)state;
    block b = make_block();
    tr_error error;
    assert_int_equal(run(&b, &error), TR_OK);
    free(b.memory);
}

/* Each written tensor moved over each other one: its first bytes over the end of it, all of it inside, its end over the
 * beginning. */
static void each_pair_is_refused(void **state)
{
    (void)state;
    for (int written = 0; written < WRITTEN; written++)
        for (int other = 0; other < TENSORS; other++) {
            if (other == written)
                continue;
            block b = make_block();
            tr_error error;
            char *const end = b.memory + 3072 + sizes[written]; /* free memory, away from all others */
            const size_t length = sizes[other] < sizes[written] ? sizes[other] : sizes[written];
            b.at[other] = end - sizes[other];
            const ptrdiff_t shifts[] = {-(ptrdiff_t)(sizes[written] - 8), 0, 8, (ptrdiff_t)(length - 8),
                                        (ptrdiff_t)sizes[other] - 8};
            for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
                b.at[written] = b.at[other] + shifts[i];
                expect_overlap(run(&b, &error), &error, names[written], names[other]);
            }
            free(b.memory);
        }
}

/* Projections are read, too. */
static void projections(void **state)
{
    (void)state;
    trial t = make_trial(shape, (tr_attention_options){.kind = TR_ATTENTION_LOW_RANK, .rank = 16}, TR_ELEMENT_F32, 1, 1);
    tr_error error;
    for (int i = 0; i < 2; i++) {
        float *const out = (float *)(i ? t.options.value_projection : t.options.key_projection) + 3;
        expect_overlap(tr_attention_forward(&shape, &t.options, NULL, TR_ELEMENT_F32, t.q, t.k, t.v, out, NULL, &error),
                       &error, "out", i ? "value_projection" : "key_projection");
    }
    free_trial(&t);
}

/* Inputs may be one and the same, as in self-attention. */
static void inputs_may_be_one(void **state)
{
    (void)state;
    const tr_attention_shape square = {.batch = 1, .heads = 2, .queries = 6, .keys = 6, .d_k = 4, .d_v = 4};
    trial t = make_trial(square, (tr_attention_options){0}, TR_ELEMENT_F32, 1, 1);
    trial same = t;
    same.k = same.v = t.q;
    expect_reference(&same, 1e-5);
    free_trial(&t);
}

static void steps(void **state)
{
    (void)state;
    static float x[64];
    static const ptrdiff_t shifts[] = {0, 1, 15, -15};
    tr_error error;
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
        float *const from = x + 24, *const to = from + shifts[i];
        expect_overlap(tr_attention_split_heads(TR_ELEMENT_F32, 2, 2, 4, 2, from, to, &error), &error, "out", "x");
        expect_overlap(tr_attention_join_heads(TR_ELEMENT_F32, 2, 2, 4, 2, from, to, &error), &error, "out", "x");
    }
    assert_int_equal(tr_attention_split_heads(TR_ELEMENT_F32, 2, 2, 4, 2, x, x + 16, &error), TR_OK);
    assert_int_equal(tr_attention_join_heads(TR_ELEMENT_F32, 2, 2, 4, 2, x + 16, x, &error), TR_OK);
    assert_int_equal(tr_attention_split_heads(TR_ELEMENT_BF16, 2, 2, 4, 2, x, x + 8, &error), TR_OK);

    const tr_attention_shape lengths = {.batch = 1, .heads = 1, .queries = 4, .keys = 4};
    const tr_attention_mask mask = {.additive = x + 40, .additive_stride = {0, 0, 4}};
    assert_int_equal(tr_attention_masked_softmax(&lengths, &mask, x, x, &error),
                     TR_OK); /* this one may be computed in place */
    assert_int_equal(tr_attention_masked_softmax(&lengths, &mask, x, x + 16, &error), TR_OK);
    expect_overlap(tr_attention_masked_softmax(&lengths, &mask, x, x + 4, &error), &error, "weights", "scores");
    expect_overlap(tr_attention_masked_softmax(&lengths, &mask, x, x + 30, &error), &error, "weights", "additive");
    expect_overlap(tr_attention_masked_softmax(&lengths, &mask, x + 40, x + 40, &error), &error, "weights", "additive");
}

/* Each tensor of a layer in the middle of a block of zeros, with a result that overlaps it. */
static void layers(void **state)
{
    (void)state;
    layer_trial good = make_layer(2, 4, 4, (layer_sizes){8, 8, 8, 8, 2}, true, TR_ELEMENT_F32, TR_ELEMENT_F32, 1), l = good;
    const struct {
        const void **at;
        const char *name;
    } read[] = {
        {(const void **)&l.inner.q, "q"},      {(const void **)&l.inner.k, "k"},
        {(const void **)&l.inner.v, "v"},      {&l.layer.query_weight, "query_weight"},
        {&l.layer.query_bias, "query_bias"},   {&l.layer.key_weight, "key_weight"},
        {&l.layer.key_bias, "key_bias"},       {&l.layer.value_weight, "value_weight"},
        {&l.layer.value_bias, "value_bias"},   {&l.layer.output_weight, "output_weight"},
        {&l.layer.output_bias, "output_bias"},
    };
    static float zeros[256];
    float out[64], weights[64];
    tr_error error;
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        l = good;
        *read[i].at = zeros + 96;
        for (int shift = -63; shift < 8; shift += 10) {
            expect_overlap(run_layer(&l, zeros + 96 + shift, weights, &error), &error, "out", read[i].name);
            expect_overlap(run_layer(&l, out, zeros + 96 + shift, &error), &error, "weights", read[i].name);
        }
    }
    expect_overlap(run_layer(&good, out, out + 63, &error), &error, "weights", "out");
    assert_int_equal(run_layer(&good, out, weights, &error), TR_OK);
    free_layer(&good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adjacent_memory_is_allowed),
        cmocka_unit_test(each_pair_is_refused),
        cmocka_unit_test(projections),
        cmocka_unit_test(inputs_may_be_one),
        cmocka_unit_test(steps),
        cmocka_unit_test(layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
