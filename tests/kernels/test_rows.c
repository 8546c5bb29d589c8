/* Row operations (norms, activations, softmax, argmax, half precision) at every level, against a reference on random shapes,
 * 1 and odd sizes included; which level is chosen; and its limits. The reference is the portable source compiled with
 * fmaf(): every level must equal it bit for bit (except f32 products of a level that does not fuse, which must be close),
 * and it must be close to sums in double precision. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "kernels/dispatch.h"

#include "model/config.h"
#include "model/weights.h"
#include "util/clock.h"

static void check_activation(const tr_kernels *level, tr_activation activation, double (*exact)(double))
{
    /* y = activation(1 * x) */
    const float one = 1;
    const tr_matrix identity = {.type = TR_TYPE_F32, .outputs = 1, .inputs = 1, .data = &one};
    float scratch[TR_PANEL * 16], x[401], y[401];
    for (int i = 0; i < 401; i++)
        x[i] = (float)(i - 200) * 0.5f;
    x[0] = -INFINITY, x[400] = 3e38f, x[1] = -3e38f;
    const tr_matmul op = {
        .weight = &identity, .rows = 401, .x = x, .x_stride = 1, .y = y, .y_stride = 1, .activation = activation};
    level->matmul(&op, 0, 1, scratch);
    for (int i = 1; i < 400; i++)
        if (fabs(y[i] - exact(x[i])) > 4e-6 + 1e-6 * fabs(exact(x[i])))
            fail_msg("%s: %s(%g) is %.9g, not %.9g", level->level, tr_activation_name(activation), x[i], y[i], exact(x[i]));
}

static double exact_swish(double x)
{
    return x < -700 ? 0 : x / (1 + exp(-x));
}

static double exact_sigmoid(double x)
{
    return x < -700 ? 0 : 1 / (1 + exp(-x));
}

static double exact_gelu(double x)
{
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

static double exact_gelu_tanh(double x)
{
    return fabs(x) > 1e6 ? (x > 0 ? x : 0)
                         : 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

static void activations_of_level(const tr_kernels *level)
{
    check_activation(level, TR_ACTIVATION_SWISH, exact_swish);
    check_activation(level, TR_ACTIVATION_SIGMOID, exact_sigmoid);
    check_activation(level, TR_ACTIVATION_GELU, exact_gelu);
    check_activation(level, TR_ACTIVATION_GELU_TANH, exact_gelu_tanh);
}

static void test_activations(void **unused)
{
    (void)unused;
    each_level(activations_of_level);
}

static void rows_of_level(const tr_kernels *level)
{
    for (int n = 0; n < 100; n++) {
        const int rows = random_int(1, 4), width = n < 40 ? n + 1 : random_int(1, 600);
        const size_t size = (size_t)(rows * width);
        float *x = random_floats(size, 5), *gamma = random_floats((size_t)width, 1), *beta = random_floats((size_t)width, 1);
        float *y = random_floats(size, 1), *wanted = random_floats(size, 1);
        const bool rms = n % 3 == 0;
        tr_layernorm op = {rows, width, 1e-5f, gamma, rms ? NULL : beta, x, (size_t)width, y, (size_t)width, NULL};
        level->layernorm(&op);
        op.y = wanted;
        tr_kernels_reference.layernorm(&op);
        expect_same(level, "layernorm", y, wanted, size, 0);
        for (int r = 0; r < rows; r++) {
            double mean = 0, variance = 0;
            for (int i = 0; i < width && !rms; i++)
                mean += x[r * width + i] / (double)width;
            for (int i = 0; i < width; i++)
                variance += (x[r * width + i] - mean) * (x[r * width + i] - mean) / width;
            for (int i = 0; i < width; i++)
                assert_true(fabs((x[r * width + i] - mean) / sqrt(variance + 1e-5) * gamma[i] + (rms ? 0 : beta[i]) -
                                 wanted[r * width + i]) < 1e-4);
        }
        const tr_quantised q = make_quantised(rows, width), alone = make_quantised(rows, width);
        op.y = y;
        op.q = &q; /* LayerNorm and quantisation in one pass */
        level->layernorm(&op);
        level->quantise(&(tr_quantise){rows, width, wanted, (size_t)width, &alone, 0, false});
        for (int r = 0; r < rows; r++)
            assert_memory_equal((char *)q.rows + (size_t)r * q.stride, (char *)alone.rows + (size_t)r * q.stride,
                                (size_t)width);
        expect_same(level, "scale", q.scale, alone.scale, (size_t)rows, 0);
        free(q.rows), free(q.scale), free(alone.rows), free(alone.scale);
        product packed = make_product(1, width, 20, TR_TYPE_I8, false, false, 0);
        level->embed_row(y, &packed.matrix, 18, 3.5f, beta);
        tr_kernels_reference.embed_row(wanted, &packed.matrix, 18, 3.5f, beta);
        expect_same(level, "embed int8", y, wanted, (size_t)width, 0);
        for (int i = 0; i < width; i++)
            assert_true(fabs(3.5 * weight_of(&packed.matrix, 18, i) + beta[i] - y[i]) < 1e-5);
        free_product(&packed);
        const tr_type type = (tr_type)(n % 3);
        void *table = as_type(type, x, size);
        const tr_matrix matrix = {.type = type, .outputs = rows, .inputs = width, .data = table};
        level->embed_row(y, &matrix, rows - 1, 3.5f, n % 2 ? beta : NULL);
        tr_kernels_reference.embed_row(wanted, &matrix, rows - 1, 3.5f, n % 2 ? beta : NULL);
        expect_same(level, "embed", y, wanted, (size_t)width, 0);
        free(x), free(gamma), free(beta), free(y), free(wanted), free(table);
    }
}

static void test_rows(void **unused)
{
    (void)unused;
    each_level(rows_of_level);
}

/* The recurrent states of SSRU and AAN, over several steps. */
static void states_of_level(const tr_kernels *level)
{
    for (int n = 0; n < 60; n++) {
        const int width = n < 40 ? n + 1 : random_int(1, 600);
        const size_t size = (size_t)width;
        float *state = random_floats(size, 1), *wanted = random_floats(size, 1), *out = random_floats(size, 1),
              *wanted_out = random_floats(size, 1);
        memcpy(wanted, state, size * sizeof *state);
        for (int step = 0; step < 4; step++) {
            float *x = random_floats(size, 3), *forget = random_floats(size, 1), *before = random_floats(size, 1);
            for (int i = 0; i < width; i++)
                forget[i] = fabsf(forget[i]);
            memcpy(before, state, size * sizeof *state);
            level->ssru_step(&(tr_ssru_step){width, x, forget, state, out});
            tr_kernels_reference.ssru_step(&(tr_ssru_step){width, x, forget, wanted, wanted_out});
            expect_same(level, "recur", state, wanted, size, 0);
            expect_same(level, "recur's output", out, wanted_out, size, 0);
            for (int i = 0; i < width; i++) {
                const double exact = (double)forget[i] * before[i] + (1 - (double)forget[i]) * x[i];
                assert_true(fabs(state[i] - exact) < 1e-5 && out[i] == fmaxf(state[i], 0));
            }
            memcpy(before, state, size * sizeof *state);
            level->aan_step(state, x, step, width);
            tr_kernels_reference.aan_step(wanted, x, step, width);
            expect_same(level, "average", state, wanted, size, 0);
            for (int i = 0; i < width; i++)
                assert_true(fabs(state[i] - ((double)before[i] * step + x[i]) / (step + 1)) < 1e-5);
            level->add(out, state, x, width);
            for (int i = 0; i < width; i++)
                assert_true(out[i] == state[i] + x[i]);
            free(x), free(forget), free(before);
        }
        free(state), free(wanted), free(out), free(wanted_out);
    }
}

static void test_states(void **unused)
{
    (void)unused;
    each_level(states_of_level);
}

/* The softmax's sums over any number of logits, with -inf and NaN. */
static void exp_sums_of_level(const tr_kernels *level)
{
    static const int sizes[] = {1, 3, 16, 17, 100, 1024, 1031};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const int n = sizes[k];
        float *x = random_floats((size_t)n, 9);
        x[n / 2] = n > 1 ? -INFINITY : x[0];
        const tr_exp_sum got = level->exp_sum(x, n), wanted = tr_kernels_reference.exp_sum(x, n);
        assert_true(got.max == wanted.max && got.sum == wanted.sum);
        float most = -INFINITY;
        double sum = 0;
        for (int i = 0; i < n; i++)
            most = x[i] > most ? x[i] : most;
        for (int i = 0; i < n; i++)
            sum += exp((double)x[i] - most);
        assert_true(got.max == most && fabs(got.sum - sum) < 1e-5 * sum);
        x[n - 1] = NAN;
        assert_true(isnan(level->exp_sum(x, n).sum));
        for (int i = 0; i < n; i++)
            x[i] = -INFINITY;
        const tr_exp_sum nothing = level->exp_sum(x, n);
        assert_true(nothing.max == -INFINITY && nothing.sum == 0);
        free(x);
    }
    assert_true(level->exp_sum(NULL, 0).sum == 0);
}

static void test_exp_sums(void **unused)
{
    (void)unused;
    each_level(exp_sums_of_level);
}

/* The greatest of numbers that come in parts, many of them equal, compared with a stable sort. */
static void tops_of_level(const tr_kernels *level)
{
    enum { N = 203, MOST = 40 };
    static const int mosts[] = {1, 2, 7, MOST}, parts[] = {203, 16, 33, 1};
    for (size_t k = 0; k < 4; k++)
        for (size_t p = 0; p < 4; p++) {
            float *x = random_floats(N, 9), values[MOST];
            int32_t ids[MOST];
            bool taken[N] = {false};
            for (int i = 0; i < N; i++)
                x[i] = i % 5 ? roundf(x[i] * 4) : -INFINITY;
            tr_top top = {mosts[k], 0, false, values, ids};
            for (int i = 0; i < N; i += parts[p])
                level->top(&top, x + i, N - i < parts[p] ? N - i : parts[p], i);
            assert_true(top.count == mosts[k] && !top.nan);
            for (int t = 0; t < top.count; t++) {
                int best = -1;
                for (int i = 0; i < N; i++)
                    if (!taken[i] && x[i] > (best < 0 ? -INFINITY : x[best]))
                        best = i;
                assert_true(ids[t] == best && values[t] == x[best]);
                taken[best] = true;
            }
            x[100] = NAN;
            level->top(&top, x, N, N);
            assert_true(top.nan);
            free(x);
        }
    const float nothing[3] = {-INFINITY, -INFINITY, -INFINITY};
    float value;
    int32_t id;
    tr_top top = {1, 0, false, &value, &id};
    level->top(&top, nothing, 3, 0);
    assert_true(top.count == 0);
}

static void test_tops(void **unused)
{
    (void)unused;
    each_level(tops_of_level);
}

/* Every half-precision number widens to the same f32 at every level. */
static void halves_of_level(const tr_kernels *level)
{
    uint16_t *all = malloc(65536 * sizeof *all);
    float *out = malloc(65536 * sizeof *out), *wanted = malloc(65536 * sizeof *wanted);
    for (int i = 0; i < 65536; i++)
        all[i] = (uint16_t)i;
    for (tr_type type = TR_TYPE_F16; type <= TR_TYPE_BF16; type++) {
        const tr_matrix matrix = {.type = type, .outputs = 1, .inputs = 65536, .data = all};
        tr_tensor tensor = {.type = type, .rank = 1, .shape = {65536}, .data = all, .bytes = 131072};
        level->embed_row(out, &matrix, 0, 1, NULL);
        tr_tensor_to_f32(&tensor, 0, 65536, wanted);
        for (int i = 0; i < 65536; i++)
            assert_true(out[i] == wanted[i] || (isnan(out[i]) && isnan(wanted[i])));
    }
    free(all), free(out), free(wanted);
}

static void test_halves(void **unused)
{
    (void)unused;
    each_level(halves_of_level);
}

static void test_select(void **unused)
{
    (void)unused;
    const tr_kernels *kernels;
    tr_error error;
    assert_int_equal(tr_kernels_select("portable", &kernels, &error), TR_OK);
    assert_string_equal(kernels->level, "portable");
    assert_int_equal(tr_kernels_select("sse9", &kernels, &error), TR_ERROR_ARGUMENT);
    assert_null(kernels);
    assert_non_null(strstr(error.message, "sse9"));
    assert_non_null(strstr(error.message, "portable"));
}

/* Limits can be measured, and the compiler removes none of their loops: no CPU does a million multiply-adds in a hundred
 * nanoseconds. */
static void limits_of_level(const tr_kernels *level)
{
    static const tr_type types[] = {TR_TYPE_F32, TR_TYPE_F16, TR_TYPE_BF16, TR_TYPE_I8};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const int64_t turns = 1 << 17;
        const uint64_t start = tr_nanoseconds();
        const double macs = level->peak(types[t], turns), taken = (double)(tr_nanoseconds() - start) * 1e-9;
        assert_true(macs >= (double)turns * 16);
        assert_true(macs / taken < 1e13);
        assert_true(fabs(level->peak(types[t], 2 * turns) - 2 * macs) < 1);
    }
    char memory[1024 + 64] = {0};
    for (size_t bytes = 0; bytes <= 1024; bytes += 64)
        level->read_memory(memory + 1, bytes, bytes % 128 ? 2048 : 0);
}

static void test_limits(void **unused)
{
    (void)unused;
    each_level(limits_of_level);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activations), cmocka_unit_test(test_rows),   cmocka_unit_test(test_states),
        cmocka_unit_test(test_exp_sums),    cmocka_unit_test(test_tops),   cmocka_unit_test(test_halves),
        cmocka_unit_test(test_select),      cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
