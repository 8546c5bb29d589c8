/* Every kernel of every level against a reference on random shapes, 1 and odd sizes among them.
 * The reference is the portable source compiled with fmaf(): every level must equal it bit by bit (but f32 products of a
 * level that does not fuse, which must be close), and it must be close to sums in double precision. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#include "kernels/half.h"
#include "model/config.h"
#include "model/pack.h"
#include "model/weights.h"
#include "util/clock.h"

/* op by the reference, but the gate and the residual behind it apart: rounded after each, as a level does it. */
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
    memcpy(wanted, p.y, size * sizeof *wanted); /* what lies between the rows must stay */

    tr_matmul reference = p.op;
    reference.y = wanted;
    if (inputs % 3 == 0) { /* what y holds is the gate */
        p.op.gate = p.y;
        reference.gate = wanted;
    }
    p.matrix.rounds_x &= random_int(0, 3) > 0;
    const bool rounding = level->pairs && p.matrix.rounds_x;
    float *rounded = rounding ? rounded_rows(&p.op, inputs) : NULL;
    if (rounding)
        reference.x = rounded;
    reference_product(&reference, outputs, p.scratch);
    free(rounded);
    const bool exact = type == TR_TYPE_I8 || (level->fused && !rounding);
    /* the outputs in two shares, as two threads would */
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

    /* rows do not see each other */
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
    for (int n = 0; n < 60; n++) /* what tiles of 16 rows and 64 inputs take */
        check_product(level, random_int(1, 64), 64 * random_int(1, 4), random_int(1, 150), TR_TYPE_I8,
                      (tr_activation)(n % 5));
}

static void test_matmul(void **unused)
{
    (void)unused;
    each_level(matmul_of_level);
}

/* Integers in a packed matrix, or in a row (see dot_portable.h), times their scale. */
static double weight_of(const tr_matrix *m, int o, int i)
{
    const int8_t *data = m->data;
    return (double)m->scale[o] *
           data[(size_t)(o / 16) * tr_panel_bytes(m->inputs) + (size_t)(i / 4 * 64 + o % 16 * 4 + i % 4)];
}

/* int8: the product of what the weights and the rows were rounded to; and rounding is off by half a step at most. */
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

/* The greatest sums there can be, of either sign, and rows of zeros, of NaN and of infinity. */
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
            q[(size_t)o * (size_t)m->inputs + (size_t)i] =
                ((const int8_t *)
                     m->data)[(size_t)(o / 16) * tr_panel_bytes(m->inputs) + (size_t)(i / 4 * 64 + o % 16 * 4 + i % 4)];
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

/* Screening finds what the full product finds, ties, forbidden tokens and equal rows included. */
static void screen_case(const tr_kernels *level, int rows, int inputs, int outputs, tr_type type, float spread)
{
    product p = make_product(rows, inputs, outputs, type, true, false, 2);
    for (int o = 1; o < outputs; o += 1 + outputs / 7) /* equal rows: ties */
        memcpy(p.weights + (size_t)o * (size_t)inputs, p.weights, (size_t)inputs * sizeof *p.weights);
    store_weights(&p, type);
    if (rows > 1 || inputs % 2) /* the last row stands near an output: few can be the greatest */
        for (int i = 0; i < inputs; i++)
            p.x[(size_t)(rows - 1) * p.op.x_stride + (size_t)i] += 9 * p.weights[(outputs / 2) * inputs + i];
    for (int o = 0; o < outputs; o++)
        p.bias[o] = o % 5 == 3 ? -INFINITY : o % 3 ? p.bias[o] * spread : 0;
    if (inputs == 31)
        memset(p.x, 0, (size_t)rows * p.op.x_stride * sizeof *p.x);
    if (type == TR_TYPE_I8)
        p.matrix.alpha = outputs % 3 ? 0 : outputs % 5 ? 50 : 1000; /* the latter cuts */
    p.matrix.shifted = type == TR_TYPE_I8 && outputs % 2;
    p.op.weight = &p.matrix;
    tr_best wanted[TR_SCREEN_ROWS], got[TR_SCREEN_ROWS];
    for (int r = 0; r < rows; r++)
        wanted[r] = got[r] = (tr_best){-INFINITY, -1, false};
    p.op.best = wanted;
    multiply(level, &p.op, 0, outputs, p.scratch);
    tr_quantised q = make_quantised(rows, inputs);
    level->quantise(&(tr_quantise){rows, inputs, p.x, p.op.x_stride, &q, p.matrix.alpha, false});

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
                      .upper = upper,
                      .upper_stride = (size_t)tr_pad16(outputs),
                      .best = got};
    const int middle = tr_pad16(outputs) / 32 * 16;
    op.least = least[0]; /* in two shares, as two threads would */
    level->screen_bounds(&op, 0, middle, p.scratch);
    op.least = least[1];
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
    /* damaged weights are still found */
    p.x[0] = NAN;
    level->quantise(&(tr_quantise){rows, inputs, p.x, p.op.x_stride, &q, p.matrix.alpha, false});
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

/* Attention in double precision over keys and values in plain rows; bias may be NULL. */
static void exact_attention(int head_size, int length, double scale, const float *bias, const float *q, const float *k,
                            const float *v, double *s, double *out)
{
    double top = -INFINITY, total = 0;
    for (int p = 0; p < length; p++) {
        s[p] = bias ? bias[p] : 0;
        for (int d = 0; d < head_size; d++)
            s[p] += scale * q[d] * k[p * head_size + d];
        top = fmax(top, s[p]);
    }
    for (int p = 0; p < length; p++)
        total += s[p] = exp(s[p] - top);
    for (int p = 0; p < length; p++)
        s[p] /= total;
    for (int d = 0; d < head_size; d++) {
        out[d] = 0;
        for (int p = 0; p < length; p++)
            out[d] += s[p] * v[p * head_size + d];
    }
}

/* length: of the last query */
static void attention_case(const tr_kernels *level, int head_size, int length, int queries, int heads, tr_type type)
{
    const int growth = length >= queries && head_size % 3 ? 1 : 0; /* as when forced decoding sees all tokens at once */
    const int blocks = (length + TR_BLOCK - 1) / TR_BLOCK, padded = tr_pad16(head_size), width = heads * head_size;
    const size_t half = (size_t)TR_BLOCK * (size_t)padded * tr_type_size(type) / sizeof(float);
    const size_t head_offset = 2 * half, block_size = (size_t)heads * head_offset;
    float *q = random_floats((size_t)(queries * width), 3), *k = random_floats((size_t)(length * width), 1);
    float *v = random_floats((size_t)(length * width), 1), *pool = random_floats((size_t)blocks * block_size, 100);
    float *out = random_floats((size_t)(queries * width), 1), *wanted = random_floats((size_t)(queries * width), 1);
    /* each query's bias begins one number earlier */
    const ptrdiff_t bias_head = length + queries;
    float *distances = random_floats((size_t)(heads * (length + queries)), 3);
    const float *bias = length % 3 ? distances + queries - 1 : NULL;
    const float **table = malloc((size_t)blocks * sizeof *table);
    const size_t weights_stride = (size_t)length + 3, weights_head = (size_t)queries * weights_stride + 1;
    const size_t weights_count = (size_t)heads * weights_head;
    const int only_head = length % 2 ? random_int(0, heads - 1) : -1;
    float *weights = random_floats(weights_count, 1), *wanted_weights = malloc(weights_count * sizeof *weights);
    memcpy(wanted_weights, weights, weights_count * sizeof *weights);
    for (int b = 0; b < blocks; b++)
        table[b] = pool + (size_t)b * block_size;
    for (int p = 0; p < length * heads; p++) {
        const int position = p / heads;
        float *block = pool + (size_t)(position / TR_BLOCK) * block_size + (size_t)(p % heads) * head_offset;
        level->kv_put(&(tr_kv_row){head_size, position % TR_BLOCK, k + (size_t)(p * head_size), v + (size_t)(p * head_size),
                                   type, block, block + half});
    }
    tr_attend op = {.heads = heads,
                    .queries = queries,
                    .head_size = head_size,
                    .length = length - growth * (queries - 1),
                    .growth = growth,
                    .scale = 1 / sqrtf((float)head_size),
                    .q = q,
                    .q_stride = (size_t)width,
                    .type = type,
                    .blocks = table,
                    .value_offset = half,
                    .head_offset = head_offset,
                    .ahead = length % 5 ? pool : NULL,
                    .bias = bias,
                    .bias_step = -1,
                    .bias_head = bias_head,
                    .out = out,
                    .out_stride = (size_t)width};
    level->attend(&op);
    op.out = wanted;
    tr_kernels_reference.attend(&op);
    char what[64];
    snprintf(what, sizeof what, "attention %d queries, %d heads of %d over %d", queries, heads, head_size, length);
    expect_same(level, what, out, wanted, (size_t)(queries * width), 0);
    op.weights_stride = weights_stride;
    op.weights_head = weights_head;
    op.only_head = only_head;
    op.weights = wanted_weights;
    tr_kernels_reference.attend(&op);
    op.weights = weights;
    op.out = out;
    level->attend(&op);
    expect_same(level, what, out, wanted, (size_t)(queries * width), 0);
    /* what lies between and behind the rows is left alone */
    expect_same(level, "attention weights", weights, wanted_weights, weights_count, 0);
    double *exact = malloc((size_t)head_size * sizeof *exact), *softmax = malloc((size_t)length * sizeof *softmax);
    float *head_k = malloc((size_t)(length * head_size) * sizeof *head_k),
          *head_v = malloc((size_t)(length * head_size) * sizeof *head_v);
    const double allowed = type == TR_TYPE_F16 ? 3e-3 : 2e-5;
    for (int h = 0; h < heads; h++) {
        for (int p = 0; p < length; p++) {
            memcpy(head_k + p * head_size, k + (p * heads + h) * head_size, (size_t)head_size * sizeof *k);
            memcpy(head_v + p * head_size, v + (p * heads + h) * head_size, (size_t)head_size * sizeof *v);
        }
        for (int i = 0; i < queries; i++) {
            const int seen = op.length + i * growth, at = i * width + h * head_size;
            const float *row = weights + (only_head < 0 ? (size_t)h * weights_head : 0) + (size_t)i * weights_stride;
            exact_attention(head_size, seen, op.scale, bias ? bias + h * bias_head - i : NULL, q + at, head_k, head_v,
                            softmax, exact);
            for (int d = 0; d < head_size; d++)
                assert_true(fabs(exact[d] - out[at + d]) < allowed);
            for (int p = 0; p < seen && (only_head < 0 || only_head == h); p++)
                assert_true(fabs(softmax[p] - row[p]) < allowed);
        }
    }
    free(exact), free(q), free(k), free(v), free(pool), free(out), free(wanted), free(table), free(distances);
    free(softmax), free(weights), free(wanted_weights), free(head_k), free(head_v);
}

static void attention_of_level(const tr_kernels *level)
{
    static const int sizes[] = {1, 3, 8, 16, 20, 32, 64, 80, 128, 200},
                     lengths[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 97, 300};
    for (size_t h = 0; h < sizeof sizes / sizeof *sizes; h++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            attention_case(level, sizes[h], lengths[l], random_int(1, 12), random_int(1, 5), TR_TYPE_F32);
            attention_case(level, sizes[h], lengths[l], random_int(1, 5), random_int(1, 12), TR_TYPE_F16);
        }
}

static void test_attention(void **unused)
{
    (void)unused;
    each_level(attention_of_level);
}

/* --------------------------------------------------------------------------------------------------------------- rows */

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
        op.q = &q; /* LayerNorm and quantising in one */
        level->layernorm(&op);
        level->quantise(&(tr_quantise){rows, width, wanted, (size_t)width, &alone, 0, false});
        for (int r = 0; r < rows; r++)
            assert_memory_equal((char *)q.rows + (size_t)r * q.stride, (char *)alone.rows + (size_t)r * q.stride,
                                (size_t)width);
        expect_same(level, "scale", q.scale, alone.scale, (size_t)rows, 0);
        free(q.rows), free(q.scale), free(alone.rows), free(alone.scale);
        product packed = make_product(1, width, 20, TR_TYPE_I8, false, false, 0);
        level->embed(y, &packed.matrix, 18, 3.5f, beta);
        tr_kernels_reference.embed(wanted, &packed.matrix, 18, 3.5f, beta);
        expect_same(level, "embed int8", y, wanted, (size_t)width, 0);
        for (int i = 0; i < width; i++)
            assert_true(fabs(3.5 * weight_of(&packed.matrix, 18, i) + beta[i] - y[i]) < 1e-5);
        free_product(&packed);
        const tr_type type = (tr_type)(n % 3);
        void *table = as_type(type, x, size);
        const tr_matrix matrix = {.type = type, .outputs = rows, .inputs = width, .data = table};
        level->embed(y, &matrix, rows - 1, 3.5f, n % 2 ? beta : NULL);
        tr_kernels_reference.embed(wanted, &matrix, rows - 1, 3.5f, n % 2 ? beta : NULL);
        expect_same(level, "embed", y, wanted, (size_t)width, 0);
        free(x), free(gamma), free(beta), free(y), free(wanted), free(table);
    }
}

static void test_rows(void **unused)
{
    (void)unused;
    each_level(rows_of_level);
}

/* The states of decoders without keys and values, over several steps. */
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
            level->recur(&(tr_recur){width, x, forget, state, out});
            tr_kernels_reference.recur(&(tr_recur){width, x, forget, wanted, wanted_out});
            expect_same(level, "recur", state, wanted, size, 0);
            expect_same(level, "recur's output", out, wanted_out, size, 0);
            for (int i = 0; i < width; i++) {
                const double exact = (double)forget[i] * before[i] + (1 - (double)forget[i]) * x[i];
                assert_true(fabs(state[i] - exact) < 1e-5 && out[i] == fmaxf(state[i], 0));
            }
            memcpy(before, state, size * sizeof *state);
            level->average(state, x, step, width);
            tr_kernels_reference.average(wanted, x, step, width);
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

/* Softmax's sums over any number of logits, of -inf and NaN. */
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

/* The greatest of numbers that come in parts, many of them equal: a stable sort tells them another way. */
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
        level->embed(out, &matrix, 0, 1, NULL);
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

/* Limits can be measured, nothing of them is folded away: no CPU does a million multiply-adds in a hundred nanoseconds. */
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
        cmocka_unit_test(test_matmul),       cmocka_unit_test(test_int8_exact),  cmocka_unit_test(test_int8_extremes),
        cmocka_unit_test(test_matmul_exact), cmocka_unit_test(test_argmax_nan),  cmocka_unit_test(test_argmax_ties),
        cmocka_unit_test(test_screen),       cmocka_unit_test(test_activations), cmocka_unit_test(test_attention),
        cmocka_unit_test(test_rows),         cmocka_unit_test(test_states),      cmocka_unit_test(test_exp_sums),
        cmocka_unit_test(test_tops),         cmocka_unit_test(test_halves),      cmocka_unit_test(test_select),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
