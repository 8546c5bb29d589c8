/* Rows quantised by a given number, each by its own scale, and together, at every level, as products use them: int8 sums are
 * exact, so each output is known to the bit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

enum { OUTPUTS = 37 };

static float greatest_of(const float *x, int n)
{
    float most = 0;
    for (int i = 0; i < n; i++)
        most = fmaxf(most, fabsf(x[i]));
    return most;
}

/* An output by the definition: whole numbers, and two roundings. */
static float output_of(const product *p, const float *x, int o, float factor, float scale)
{
    int32_t sum = 0;
    for (int i = 0; i < p->matrix.inputs; i++)
        sum += (int)rintf(fminf(fmaxf(x[i] * factor, -127), 127)) * integer_of(&p->matrix, o, i);
    return fmaf((float)sum, scale * p->matrix.scale[o], p->bias[o]);
}

static void check_rows(const tr_kernels *level, int rows, int inputs, float alpha, bool together)
{
    product p = make_product(rows, inputs, OUTPUTS, TR_TYPE_I8, true, false, 1);
    const size_t stride = p.op.x_stride;
    p.x[0] = 2.5f / (alpha != 0 ? alpha : 1); /* half to even */
    p.x[inputs / 2] = -1e30f * (alpha != 0);  /* clipped */
    p.x[inputs - 1] = 0.4999f / (alpha != 0 ? alpha : 1);
    float all = 0;
    for (int r = 0; r < rows; r++)
        all = fmaxf(all, greatest_of(p.x + (size_t)r * stride, inputs));
    tr_quantised q = make_quantised(rows, inputs);
    level->quantise(&(tr_quantise){rows, inputs, p.x, stride, &q, alpha, together});
    p.op.weight = &p.matrix;
    p.op.x = NULL;
    p.op.q = &q;
    level->matmul(&p.op, 0, OUTPUTS, p.scratch);
    for (int r = 0; r < rows; r++) {
        const float *x = p.x + (size_t)r * stride, most = together ? all : greatest_of(x, inputs);
        const float factor = alpha != 0 ? alpha : 127 / most, scale = alpha != 0 ? 1 / alpha : most / 127;
        float wanted[OUTPUTS];
        for (int o = 0; o < OUTPUTS; o++)
            wanted[o] = output_of(&p, x, o, factor, scale);
        expect_same(level, "rows", p.y + (size_t)r * p.op.y_stride, wanted, OUTPUTS, 0);
    }
    free(q.rows), free(q.scale);
    free_product(&p);
}

/* NaN or infinity make their row NaN, or all rows if they share a scale. */
static void check_poison(const tr_kernels *level, float alpha, bool together)
{
    enum { ROWS = 3, INPUTS = 40 };
    const float bad[] = {NAN, INFINITY};
    for (int i = 0; i < 2; i++) {
        product p = make_product(ROWS, INPUTS, OUTPUTS, TR_TYPE_I8, true, false, 1);
        tr_quantised q = make_quantised(ROWS, INPUTS);
        p.x[p.op.x_stride + 17] = bad[i];
        level->quantise(&(tr_quantise){ROWS, INPUTS, p.x, p.op.x_stride, &q, alpha, together});
        assert_false(isfinite(q.scale[1]));
        assert_int_equal(isfinite(q.scale[0]) != 0, !together || alpha != 0);
        assert_int_equal(isfinite(q.scale[2]) != 0, !together || alpha != 0);
        free(q.rows), free(q.scale);
        free_product(&p);
    }
}

static void rows_of_level(const tr_kernels *level)
{
    static const int inputs[] = {1, 4, 15, 16, 17, 64, 100, 256}, rows[] = {1, 2, 3, 7, 20};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            check_rows(level, rows[r], inputs[i], 33.25f, false);
            check_rows(level, rows[r], inputs[i], 410.7f, true);
            check_rows(level, rows[r], inputs[i], 0, false);
            check_rows(level, rows[r], inputs[i], 0, true);
        }
    check_poison(level, 40, false);
    check_poison(level, 0, false);
    check_poison(level, 0, true);
}

static void test_rows(void **unused)
{
    (void)unused;
    each_level(rows_of_level);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
