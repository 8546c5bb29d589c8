/* Products of every level against a reference on random shapes, 1 and odd sizes included: all types of weights, the argmax,
 * and screening. The reference is the portable source compiled with fmaf(): every level must equal it bit for bit (except
 * f32 products of a level that does not fuse, which must be close), and it must be close to sums in double precision. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#include "util/numbers.h"
#include "model/config.h"
#include "model/pack.h"
#include "model/weights.h"

/* op by the reference, but gate and residual are applied to its result, rounded after each, as the levels do. */
static void reference_product(const tr_matmul *op, int outputs, float *scratch)
{
    const size_t size = (size_t)op->rows * op->y_stride;
    float *plain = random_floats(size, 1);
    tr_matmul bare = *op;
    bare.y = plain;
    bare.gate = bare.residual = NULL;
    multiply(&tr_kernels_reference, &bare, 0, outputs, scratch);
    for (int r = 0; r < op->rows; r++)
        for (int o = 0; o < outputs; o++) {
            const size_t at = (size_t)r * op->y_stride + (size_t)o;
            float y = plain[at];
            if (op->gate)
                y *= op->gate[at];
            op->y[at] = op->residual ? y + op->residual[(size_t)r * op->residual_stride + (size_t)o] : y;
        }
    free(plain);
}

/* The rows of a product, rounded to BF16, with the same stride. */
static float *rounded_rows(const tr_matmul *op, int inputs)
{
    float *rounded = random_floats((size_t)op->rows * op->x_stride, 1);
    for (int r = 0; r < op->rows; r++)
        for (int i = 0; i < inputs; i++) {
            const size_t at = (size_t)r * op->x_stride + (size_t)i;
            rounded[at] = tr_bf16_to_f32(tr_bf16_from_f32(op->x[at]));
        }
    return rounded;
}

static void check_product(const tr_kernels *level, int rows, int inputs, int outputs, tr_type type, tr_activation activation)
{
    product p = make_product(rows, inputs, outputs, type, rows % 2, outputs % 2, 1);
    const size_t size = (size_t)rows * p.op.y_stride;
    p.op.weight = &p.matrix;
    p.op.activation = activation;
    float *wanted = random_floats(size, 1);
    memcpy(wanted, p.y, size * sizeof *wanted); /* numbers between the rows must not change */

    tr_matmul reference = p.op;
    reference.y = wanted;
    if (inputs % 3 == 0) { /* the values in y are the gate */
        p.op.gate = p.y;
        reference.gate = wanted;
    }
    p.matrix.bf16_activations &= random_int(0, 3) > 0;
    const bool rounding = level->bf16_pairs && p.matrix.bf16_activations;
    float *rounded = rounding ? rounded_rows(&p.op, inputs) : NULL;
    if (rounding)
        reference.x = rounded;
    reference_product(&reference, outputs, p.scratch);
    free(rounded);
    const bool exact = type == TR_TYPE_I8 || (level->fused && !rounding);
    /* the outputs in two shares, as with two threads */
    const int middle = tr_pad16(outputs) / 32 * 16;
    multiply(level, &p.op, 0, middle, p.scratch);
    multiply(level, &p.op, middle, outputs, p.scratch);
    char what[128];
    snprintf(what, sizeof what, "matmul %d x %d x %d %s %s", rows, inputs, outputs, tr_type_name(type),
             tr_activation_name(activation));
    expect_same(level, what, p.y, wanted, size, exact ? 0 : 1e-5f * (float)inputs);

    /* argmax over the shares equals the argmax of the logits */
    tr_best best[64];
    tr_matmul argmax = p.op;
    argmax.gate = argmax.residual = NULL;
    argmax.activation = TR_ACTIVATION_NONE;
    argmax.best = best;
    for (int r = 0; r < rows; r++)
        best[r] = (tr_best){-INFINITY, -1, false};
    multiply(level, &argmax, 0, outputs, p.scratch);
    argmax.best = NULL;
    multiply(level, &argmax, 0, outputs, p.scratch);
    for (int r = 0; r < rows; r++) {
        const float *y = p.y + (size_t)r * p.op.y_stride;
        int top = 0;
        for (int o = 1; o < outputs; o++)
            if (y[o] > y[top])
                top = o;
        assert_int_equal(best[r].id, top);
        assert_memory_equal(&best[r].value, &y[top], sizeof(float));
        assert_false(best[r].nan);
    }

    /* rows are independent */
    for (int r = 0; r < rows; r++) {
        tr_matmul single = argmax;
        single.rows = 1;
        single.x = p.x + (size_t)r * p.op.x_stride;
        single.y = wanted;
        multiply(level, &single, 0, outputs, p.scratch);
        assert_memory_equal(wanted, p.y + (size_t)r * p.op.y_stride, (size_t)outputs * sizeof(float));
    }
    free(wanted);
    free_product(&p);
}

static void matmul_of_level(const tr_kernels *level)
{
    static const int sizes[] = {1, 2, 3, 15, 16, 17, 31, 33, 40, 64, 65};
    static const tr_type types[] = {TR_TYPE_F32, TR_TYPE_F16, TR_TYPE_I8, TR_TYPE_BF16, TR_TYPE_I8};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t o = 0; o < sizeof sizes / sizeof *sizes; o++)
            check_product(level, random_int(1, 9), sizes[i], sizes[o], types[(i + o) % 5], (tr_activation)((i + 2 * o) % 5));
    for (int n = 0; n < 100; n++)
        check_product(level, random_int(1, 40), random_int(1, 300), random_int(1, 200), types[n % 5],
                      (tr_activation)(n / 5 % 5));
    for (int n = 0; n < 60; n++) /* shapes for tiles of 16 rows and 64 inputs */
        check_product(level, random_int(1, 64), 64 * random_int(1, 4), random_int(1, 150), TR_TYPE_I8,
                      (tr_activation)(n % 5));
}

static void test_matmul(void **unused)
{
    (void)unused;
    each_level(matmul_of_level);
}

/* int8: the result is the product of the rounded weights and rows; and rounding is off by half a step at most. */
static void test_int8_exact(void **unused)
{
    (void)unused;
    enum { ROWS = 7, INPUTS = 102, OUTPUTS = 50 };
    product p = make_product(ROWS, INPUTS, OUTPUTS, TR_TYPE_I8, true, true, 1);
    p.op.weight = &p.matrix;
    multiply(&tr_kernels_reference, &p.op, 0, OUTPUTS, p.scratch);
    for (int o = 0; o < OUTPUTS; o++) {
        double sum = 0;
        for (int i = 0; i < INPUTS; i++) {
            assert_true(fabs(weight_of(&p.matrix, o, i) - p.weights[o * INPUTS + i]) <= 0.5001 * p.scale[o]);
            sum += weight_of(&p.matrix, o, i) / p.scale[o];
        }
        assert_int_equal((int)lround(sum), p.colsum[o]);
        float row[INPUTS];
        tr_unpack_output(&p.matrix, o, row);
        for (int i = 0; i < INPUTS; i++)
            assert_true(fabs(row[i] - weight_of(&p.matrix, o, i)) < 1e-6);
    }
    for (int r = 0; r < ROWS; r++) {
        const float *x = p.x + (size_t)r * p.op.x_stride;
        double most = 0;
        for (int i = 0; i < INPUTS; i++)
            most = fabs(x[i]) > most ? fabs(x[i]) : most;
        for (int o = 0; o < OUTPUTS; o++) {
            double sum = (double)p.bias[o] + p.residual[(size_t)r * p.op.y_stride + (size_t)o];
            for (int i = 0; i < INPUTS; i++)
                sum += most / 127 * nearbyint(x[i] * 127 / most) * weight_of(&p.matrix, o, i);
            assert_true(fabs(sum - p.y[(size_t)r * p.op.y_stride + (size_t)o]) < 1e-5);
        }
    }
    free_product(&p);
}

/* The greatest possible sums, of either sign, and rows of zeros, of NaN and of infinity. */
static void int8_extremes_of_level(const tr_kernels *level)
{
    enum { INPUTS = 4096, ROWS = 9 };
    product p = make_product(ROWS, INPUTS, 40, TR_TYPE_F32, false, false, 0);
    for (int i = 0; i < INPUTS; i++) {
        for (int o = 0; o < 40; o++)
            p.weights[o * INPUTS + i] = o % 2 ? -1 : 1;
        for (int r = 0; r < ROWS; r++)
            p.x[(size_t)r * p.op.x_stride + (size_t)i] = r == 2 ? 0 : r % 2 ? -3 : 3;
    }
    store_weights(&p, TR_TYPE_I8);
    p.op.weight = &p.matrix;
    p.x[4 * p.op.x_stride + 5] = NAN;
    p.x[5 * p.op.x_stride + 100] = -INFINITY;
    for (int rows = ROWS; rows >= 1; rows -= 8) {
        p.op.rows = rows;
        multiply(level, &p.op, 0, 40, p.scratch);
        for (int r = 0; r < rows; r++)
            for (int o = 0; o < 40; o++) {
                const float y = p.y[(size_t)r * p.op.y_stride + (size_t)o];
                const float wanted = r == 2 ? 0 : (float)INPUTS * 3 * (r % 2 == o % 2 ? 1 : -1);
                if (r == 4 || r == 5)
                    assert_false(isfinite(y));
                else
                    assert_true(fabsf(y - wanted) <= 1e-3f);
            }
    }
    free_product(&p);
}

static void test_int8_extremes(void **unused)
{
    (void)unused;
    each_level(int8_extremes_of_level);
}

/* The reference itself against double precision. */
static void test_matmul_exact(void **unused)
{
    (void)unused;
    product p = make_product(7, 100, 50, TR_TYPE_F32, true, true, 1);
    p.op.weight = &p.matrix;
    tr_kernels_reference.matmul(&p.op, 0, 50, p.scratch);
    for (int r = 0; r < 7; r++)
        for (int o = 0; o < 50; o++) {
            double sum = (double)p.bias[o] + p.residual[(size_t)r * p.op.y_stride + (size_t)o];
            for (int i = 0; i < 100; i++)
                sum += (double)p.weights[o * 100 + i] * p.x[(size_t)r * p.op.x_stride + (size_t)i];
            assert_true(fabs(sum - p.y[(size_t)r * p.op.y_stride + (size_t)o]) < 1e-5);
        }
    free_product(&p);
}

static void nan_of_level(const tr_kernels *level)
{
    product p = make_product(3, 20, 40, TR_TYPE_F32, true, false, 1);
    p.op.weight = &p.matrix;
    tr_best best[3];
    p.op.best = best;
    for (int r = 0; r < 3; r++)
        best[r] = (tr_best){-INFINITY, -1, false};
    p.x[p.op.x_stride + 5] = NAN;
    p.bias[7] = -INFINITY; /* a forbidden token never wins and is no NaN */
    level->matmul(&p.op, 0, 40, p.scratch);
    assert_true(best[1].nan);
    assert_false(best[0].nan || best[2].nan);
    assert_int_not_equal(best[0].id, 7);
    free_product(&p);
}

static void test_argmax_nan(void **unused)
{
    (void)unused;
    each_level(nan_of_level);
}

static void ties_of_level(const tr_kernels *level)
{
    product p = make_product(1, 8, 40, TR_TYPE_F32, true, false, 1);
    p.op.weight = &p.matrix;
    memset(p.x, 0, 8 * sizeof *p.x);
    for (int o = 0; o < 40; o++)
        p.bias[o] = o == 11 || o == 12 || o == 33 ? 2 : 1;
    tr_best best = {-INFINITY, -1, false};
    p.op.best = &best;
    level->matmul(&p.op, 0, 40, p.scratch);
    assert_int_equal(best.id, 11);
    free_product(&p);
}

static void test_argmax_ties(void **unused)
{
    (void)unused;
    each_level(ties_of_level);
}

/* The integers of an int8 matrix, row by row. */
static int8_t *integers_of(const tr_matrix *m)
{
    int8_t *q = malloc((size_t)m->outputs * (size_t)m->inputs);
    for (int o = 0; o < m->outputs; o++)
        for (int i = 0; i < m->inputs; i++)
            q[(size_t)o * (size_t)m->inputs + (size_t)i] = (int8_t)integer_of(m, o, i);
    return q;
}

static void make_screen(const tr_kernels *level, const tr_screen *screen, void *coarse)
{
    const tr_matrix *m = screen->exact;
    const size_t panel = m->type == TR_TYPE_I8 ? (size_t)tr_screen_lines(m->inputs) * TR_LINE : 0;
    if (!panel)
        level->screen_build(m, coarse, (float *)screen->scale, (float *)screen->radius, 0, m->outputs);
    for (int o = 0; panel && o < m->outputs; o += 16)
        level->screen_pack(m, o, (uint8_t *)coarse + (size_t)(o / 16) * panel);
}

/* Screening and the full product have the same argmax, with ties, forbidden tokens and equal rows. */
static void screen_case(const tr_kernels *level, int rows, int inputs, int outputs, tr_type type, float spread)
{
    product p = make_product(rows, inputs, outputs, type, true, false, 2);
    for (int o = 1; o < outputs; o += 1 + outputs / 7) /* equal rows: ties */
        memcpy(p.weights + (size_t)o * (size_t)inputs, p.weights, (size_t)inputs * sizeof *p.weights);
    store_weights(&p, type);
    if (rows > 1 || inputs % 2) /* the last row is near an output, so few others can be the argmax */
        for (int i = 0; i < inputs; i++)
            p.x[(size_t)(rows - 1) * p.op.x_stride + (size_t)i] += 9 * p.weights[(outputs / 2) * inputs + i];
    for (int o = 0; o < outputs; o++)
        p.bias[o] = o % 5 == 3 ? -INFINITY : o % 3 ? p.bias[o] * spread : 0;
    if (inputs == 31)
        memset(p.x, 0, (size_t)rows * p.op.x_stride * sizeof *p.x);
    if (type == TR_TYPE_I8)
        p.matrix.act_scale = outputs % 3 ? 0 : outputs % 5 ? 50 : 1000; /* the latter clips */
    p.matrix.marian_u8_compat = type == TR_TYPE_I8 && outputs % 2;
    p.op.weight = &p.matrix;
    tr_best wanted[TR_SCREEN_ROWS], got[TR_SCREEN_ROWS];
    for (int r = 0; r < rows; r++)
        wanted[r] = got[r] = (tr_best){-INFINITY, -1, false};
    p.op.best = wanted;
    multiply(level, &p.op, 0, outputs, p.scratch);
    tr_quantised q = make_quantised(rows, inputs);
    level->quantise(&(tr_quantise){rows, inputs, p.x, p.op.x_stride, &q, p.matrix.act_scale, false});

    float *scale = random_floats((size_t)outputs, 1), *radius = random_floats((size_t)outputs, 1);
    float *upper = random_floats((size_t)(tr_pad16(outputs) * rows), 1);
    int8_t *coarse = malloc(tr_screen_bytes(outputs, inputs) + (size_t)outputs * (size_t)inputs);
    int8_t *by_rows = type == TR_TYPE_I8 && outputs % 4 < 2 ? integers_of(&p.matrix) : NULL;
    const tr_screen screen = {&p.matrix, coarse, scale, radius, by_rows};
    make_screen(level, &screen, coarse);
    float least[2][TR_SCREEN_ROWS];
    tr_screened op = {.screen = &screen,
                      .bias = p.bias,
                      .slack = spread * 0x1p-22f,
                      .rows = rows,
                      .x = p.x,
                      .x_stride = p.op.x_stride,
                      .q = &q,
                      .upper_bounds = upper,
                      .upper_bounds_stride = (size_t)tr_pad16(outputs),
                      .best = got};
    const int middle = tr_pad16(outputs) / 32 * 16;
    op.lower_bound = least[0]; /* in two shares, as with two threads */
    level->screen_bounds(&op, 0, middle, p.scratch);
    op.lower_bound = least[1];
    level->screen_bounds(&op, middle, outputs, p.scratch);
    for (int r = 0; r < rows; r++)
        least[1][r] = fmaxf(least[0][r], least[1][r]);
    level->screened_best(&op, 0, middle, p.scratch);
    level->screened_best(&op, middle, outputs, p.scratch);
    for (int r = 0; r < rows; r++) {
        assert_int_equal(got[r].id, wanted[r].id);
        assert_memory_equal(&got[r].value, &wanted[r].value, sizeof(float));
        assert_false(got[r].nan);
    }
    /* a NaN in the row is still reported */
    p.x[0] = NAN;
    level->quantise(&(tr_quantise){rows, inputs, p.x, p.op.x_stride, &q, p.matrix.act_scale, false});
    level->screen_bounds(&op, 0, outputs, p.scratch);
    level->screened_best(&op, 0, outputs, p.scratch);
    assert_true(got[0].nan);
    free(q.rows), free(q.scale), free(scale), free(radius), free(upper), free(coarse), free(by_rows);
    free_product(&p);
}

static void screen_of_level(const tr_kernels *level)
{
    for (int n = 0; n < 150; n++)
        screen_case(level, random_int(1, TR_SCREEN_ROWS), n % 10 ? random_int(1, 200) : 31, random_int(1, 400),
                    (tr_type)(n % 3), n % 4 ? 1.0f : 1e6f);
    for (int n = 0; n < 150; n++)
        screen_case(level, random_int(1, TR_SCREEN_I8_ROWS),
                    n % 3 == 0 ? 64 * random_int(1, 4)
                    : n % 10   ? random_int(1, 300)
                               : 31,
                    random_int(1, 700), TR_TYPE_I8, n % 4 ? 1.0f : 1e6f);
}

static void test_screen(void **unused)
{
    (void)unused;
    each_level(screen_of_level);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),       cmocka_unit_test(test_int8_exact), cmocka_unit_test(test_int8_extremes),
        cmocka_unit_test(test_matmul_exact), cmocka_unit_test(test_argmax_nan), cmocka_unit_test(test_argmax_ties),
        cmocka_unit_test(test_screen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
