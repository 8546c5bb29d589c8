/* Results are the same bits with any number of threads, any tile, other batches and heads beside them, and other callers at
 * the same time. Only CPU levels with and without fused multiply-add may differ, and then by rounding alone. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/dispatch.h"
#include "kinds.h"
#include "layer.h"

/* Odd or prime lengths, so that the last tile is partial; smaller under ThreadSanitizer and in emulators. */
#if defined(__SANITIZE_THREAD__) || defined(TR_EMULATED)
static const tr_attention_shape shape = {2, 2, 61, 83, 12, 20};
#else
static const tr_attention_shape shape = {2, 3, 131, 187, 24, 40};
#endif

typedef struct result {
    float *out, *weights;
} result;

static result computed(const trial *t)
{
    const result r = {reserve(out_size(t), sizeof(float)), reserve(weights_size(t), sizeof(float))};
    attend(t, r.out, r.weights);
    return r;
}

static void free_result(result r)
{
    free(r.out), free(r.weights);
}

static void expect_result(const trial *t, result wanted)
{
    const result got = computed(t);
    expect_bits(describe_trial(t), got.out, wanted.out, out_size(t));
    expect_bits(describe_trial(t), got.weights, wanted.weights, weights_size(t));
    free_result(got);
}

/* Kind n with all masks, or with none. */
static trial trial_of(int n, bool masked)
{
    trial t = make_trial(shape, some_of_each_kind[n], n % 2 ? TR_ELEMENT_BF16 : TR_ELEMENT_F32, 100 + (uint64_t)n, 2);
    if (masked)
        give_all_masks(&t);
    return t;
}

static void check_threads_and_tiles(trial *t)
{
    static const int threads[] = {1, 2, 3, 8};
    static const int64_t tiles[] = {1, 5, 32, 100, 4096};
    t->options.threads = 1;
    const result wanted = computed(t);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        t->options.threads = threads[i];
        for (size_t j = 0; j < sizeof tiles / sizeof *tiles; j++) {
            t->options.tile = tiles[j];
            expect_result(t, wanted);
        }
        t->options.tile = 0;
        expect_result(t, wanted);
        t->options.backend = i % 2 ? "posix" : "openmp";
        expect_result(t, wanted);
        t->options.backend = NULL;
    }
    t->options.threads = 0;
    expect_result(t, wanted);
    free_result(wanted);
}

static void threads_and_tiles(void **state)
{
    (void)state;
    for (int n = 0; n < SOME_KINDS; n++)
        for (int masked = 0; masked < 2; masked++) {
            trial t = trial_of(n, masked);
            check_threads_and_tiles(&t);
            free_trial(&t);
        }
}

/* ------------------------------------------------------------------------------------------------------------ neighbours */

/* The given number of batches and heads, from the b-th and h-th on, as a separate call. The random blocks of a head depend
 * on its number, so with random blocks a batch must have all its heads. */
static trial cut(const trial *t, int64_t b, int64_t h, int64_t batches, int64_t heads)
{
    const size_t size = t->element == TR_ELEMENT_F32 ? sizeof(float) : sizeof(uint16_t);
    const int64_t head = b * t->shape.heads + h;
    trial part = *t;
    part.shape.batch = batches;
    part.shape.heads = heads;
    part.q = (char *)t->q + (size_t)(head * shape.queries * shape.d_k) * size;
    part.k = (char *)t->k + (size_t)(head * shape.keys * shape.d_k) * size;
    part.v = (char *)t->v + (size_t)(head * shape.keys * shape.d_v) * size;
    if (t->mask.allowed)
        part.mask.allowed += b * t->mask.allowed_stride[0] + h * t->mask.allowed_stride[1];
    if (t->mask.additive)
        part.mask.additive += b * t->mask.additive_stride[0] + h * t->mask.additive_stride[1];
    if (t->mask.prior)
        part.mask.prior += b * t->mask.prior_stride[0] + h * t->mask.prior_stride[1];
    if (t->mask.lengths)
        part.mask.lengths += b;
    return part;
}

static void expect_part(const trial *t, result whole, int64_t b, int64_t h, int64_t batches, int64_t heads)
{
    const trial part = cut(t, b, h, batches, heads);
    const int64_t head = b * t->shape.heads + h, rows = head * shape.queries;
    expect_result(&part, (result){whole.out + rows * shape.d_v, whole.weights + rows * columns_of(t)});
}

static void neighbours(void **state)
{
    (void)state;
    for (int n = 0; n < SOME_KINDS; n++) {
        trial t = trial_of(n, true);
        t.options.threads = 2;
        const result whole = computed(&t);
        for (int64_t b = 0; b < shape.batch; b++) {
            expect_part(&t, whole, b, 0, 1, shape.heads);
            for (int64_t h = 0; h < (t.options.random_blocks ? 0 : shape.heads); h++)
                expect_part(&t, whole, b, h, 1, 1);
        }
        free_result(whole);
        free_trial(&t);
    }
}

/* Heads whose keys and values do not fit into the memory of a call are computed in rounds; more threads need fewer
 * rounds. */
static void rounds_of_heads(void **state)
{
    (void)state;
    const tr_attention_shape many = {5, 8, 40, 3000, 32, 32};
    trial t = make_trial(many, (tr_attention_options){.threads = 1}, TR_ELEMENT_F32, 300, 1);
    const size_t n = out_size(&t), each = n / 40;
    float *wanted = attended(&t);
    for (int threads = 2; threads <= 3; threads++) {
        t.options.threads = threads;
        float *got = attended(&t);
        expect_bits(describe_trial(&t), got, wanted, n);
        free(got);
    }
    trial last = t;
    last.shape.batch = last.shape.heads = 1;
    last.q = (float *)t.q + (ptrdiff_t)39 * 40 * 32;
    last.k = (float *)t.k + (ptrdiff_t)39 * 3000 * 32;
    last.v = (float *)t.v + (ptrdiff_t)39 * 3000 * 32;
    float *alone = attended(&last);
    expect_bits("the last head", alone, wanted + 39 * each, each);
    free(alone), free(wanted);
    free_trial(&t);
}

/* ---------------------------------------------------------------------------------------------------------------- levels */

static void check_levels(trial *t)
{
    const tr_kernels *levels[TR_LEVELS];
    const int count = tr_kernels_available(levels);
    const size_t n = out_size(t);
    float *wanted = NULL;
    for (int i = 0; i < count; i++) {
        t->options.cpu = levels[i]->level;
        if (!levels[i]->fused) {
            expect_reference(t, 1e-5);
            continue;
        }
        float *got = attended(t);
        if (wanted)
            expect_bits(levels[i]->level, got, wanted, n);
        else
            expect_reference(t, 1e-5);
        free(wanted);
        wanted = got;
    }
    free(wanted);
}

static void levels_agree(void **state)
{
    (void)state;
    for (int n = 0; n < SOME_KINDS; n++)
        for (int masked = 0; masked < 2; masked++) {
            trial t = trial_of(n, masked);
            check_levels(&t);
            free_trial(&t);
        }
}

/* ---------------------------------------------------------------------------------------------------------------- layers */

static void layers(void **state)
{
    (void)state;
    layer_trial l = make_layer(3, 45, 70, (layer_sizes){36, 20, 28, 48, 4}, true, TR_ELEMENT_F32, TR_ELEMENT_F32, 7);
    allow_some(&l.inner, "bhq");
    const size_t n = layer_out_size(&l), m = weights_size(&l.inner);
    float *wanted = reserve(n, sizeof *wanted), *got = reserve(n, sizeof *got);
    float *wanted_weights = reserve(m, sizeof *wanted_weights), *weights = reserve(m, sizeof *weights);
    l.inner.options.threads = 1;
    attend_layer(&l, wanted, wanted_weights);
    for (int threads = 1; threads <= 8; threads += threads == 3 ? 5 : 1)
        for (int64_t tile = 0; tile <= 64; tile = 2 * tile + 1) {
            l.inner.options.threads = threads;
            l.inner.options.tile = tile;
            attend_layer(&l, got, weights);
            expect_bits("layer", got, wanted, n);
            expect_bits("layer's weights", weights, wanted_weights, m);
        }
    free(wanted), free(got), free(wanted_weights), free(weights);
    free_layer(&l);
}

/* -------------------------------------------------------------------------------------------------- callers side by side */

enum { CALLERS = 3 };

typedef struct caller {
    pthread_t thread;
    trial t; /* inputs are shared */
    tr_status status;
    float *out;
} caller;

static void *call(void *argument)
{
    caller *c = argument;
    for (int round = 0; round < 3 && !c->status; round++)
        c->status = tr_attention_forward(&c->t.shape, &c->t.options, &c->t.mask, c->t.element, c->t.q, c->t.k, c->t.v,
                                         c->out, NULL, NULL);
    return NULL;
}

static void callers_side_by_side(void **state)
{
    (void)state;
    for (int n = 0; n < SOME_KINDS; n++) {
        trial t = trial_of(n, true);
        t.options.threads = 1;
        float *wanted = attended(&t);
        caller callers[CALLERS];
        for (int i = 0; i < CALLERS; i++) {
            callers[i] = (caller){.t = t, .out = reserve(out_size(&t), sizeof(float))};
            callers[i].t.options.threads = i + 1;
            assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
        }
        for (int i = 0; i < CALLERS; i++) {
            assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
            assert_int_equal(callers[i].status, TR_OK);
            expect_bits(kind_name(t.options.kind), callers[i].out, wanted, out_size(&t));
            free(callers[i].out);
        }
        free(wanted);
        free_trial(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_tiles),    cmocka_unit_test(neighbours),
        cmocka_unit_test(levels_agree),         cmocka_unit_test(layers),
        cmocka_unit_test(callers_side_by_side), cmocka_unit_test(rounds_of_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
