/* Attention of many queries of one head, and the products it is made of, at every level: the same bits as the reference
 * level, and close to sums in double precision. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#include "util/numbers.h"

typedef struct a_case {
    tr_attn_prefill op;
    float *q, *k, *v, *pool, *bias, *out, *weights;
    const float **blocks;
    bool *nonfinite;
    tr_attn_part parts[64];
    int32_t *limits;
    size_t outs, weight_count;
} a_case;

/* Blocks in any order in memory. */
static void pack_blocks(const tr_kernels *level, a_case *c, tr_type from)
{
    const tr_attn_prefill *op = &c->op;
    const int count = (op->keys + TR_BLOCK - 1) / TR_BLOCK, padded = tr_pad16(op->head_size),
              width = tr_pad16(op->value_size);
    const size_t size = (size_t)TR_BLOCK * (size_t)(padded + width);
    void *k = as_type(from, c->k, (size_t)(op->keys * op->head_size)),
         *v = as_type(from, c->v, (size_t)(op->keys * op->value_size));
    c->pool = random_floats(size * (size_t)count, 1);
    c->blocks = malloc((size_t)count * sizeof *c->blocks);
    c->nonfinite = calloc((size_t)count, sizeof *c->nonfinite);
    for (int b = 0; b < count; b++) {
        float *block = c->pool + (size_t)(count - 1 - b) * size;
        const int n = op->keys - b * TR_BLOCK < TR_BLOCK ? op->keys - b * TR_BLOCK : TR_BLOCK;
        const size_t bytes = tr_type_size(from);
        c->blocks[b] = block;
        c->nonfinite[b] =
            level->attn_pack(&(tr_attn_pack){.n = n,
                                             .head_size = op->head_size,
                                             .value_size = op->value_size,
                                             .from = from,
                                             .keys = (char *)k + (size_t)(b * TR_BLOCK * op->head_size) * bytes,
                                             .values = (char *)v + (size_t)(b * TR_BLOCK * op->value_size) * bytes,
                                             .key_stride = (size_t)op->head_size,
                                             .value_stride = (size_t)op->value_size,
                                             .packed_keys = block,
                                             .packed_values = block + TR_BLOCK * padded});
    }
    free(k), free(v);
}

static a_case make_case(const tr_kernels *level, int head_size, int value_size, int queries, int keys, tr_type from)
{
    a_case c = {.outs = (size_t)(queries * (value_size + 3)), .weight_count = (size_t)(queries * (keys + 1))};
    c.q = random_floats((size_t)(queries * head_size), 2);
    c.k = random_floats((size_t)(keys * head_size), 2);
    c.v = random_floats((size_t)(keys * value_size), 2);
    c.out = random_floats(c.outs, 1);
    c.weights = calloc(c.weight_count, sizeof *c.weights);
    c.op = (tr_attn_prefill){.queries = queries,
                             .keys = keys,
                             .head_size = head_size,
                             .value_size = value_size,
                             .scale = 1 / sqrtf((float)head_size),
                             .q = c.q,
                             .q_stride = (size_t)head_size,
                             .value_offset = (size_t)(TR_BLOCK * tr_pad16(head_size)),
                             .back = TR_ATTN_ALL,
                             .on = TR_ATTN_ALL,
                             .out = c.out,
                             .out_stride = (size_t)(value_size + 3),
                             .weights_stride = (size_t)keys + 1};
    pack_blocks(level, &c, from);
    c.op.blocks = c.blocks;
    return c;
}

static void free_case(a_case *c)
{
    free(c->q), free(c->k), free(c->v), free(c->pool), free(c->bias), free(c->out), free(c->weights), free(c->blocks);
    free(c->nonfinite), free(c->limits);
}

/* Any combination of masks, at random. */
static void mask_case(a_case *c)
{
    tr_attn_prefill *op = &c->op;
    op->position = random_int(0, 1) ? random_int(0, op->keys) : 0;
    op->back = random_int(0, 1) ? random_int(0, 70) : TR_ATTN_ALL;
    op->on = random_int(0, 1) ? random_int(0, 70) : TR_ATTN_ALL;
    if (random_int(0, 2) == 0) {
        c->limits = malloc((size_t)op->queries * sizeof *c->limits);
        for (int i = 0; i < op->queries; i++)
            c->limits[i] = random_int(0, op->keys);
        op->limits = c->limits;
    }
    if (random_int(0, 2) == 0) {
        op->bias_step = op->keys + 2;
        c->bias = random_floats((size_t)(op->queries * op->bias_step), 2);
        for (size_t i = 0; i < (size_t)(op->queries * op->bias_step); i++)
            if (random_int(0, 3) == 0)
                c->bias[i] = -INFINITY;
        op->bias = c->bias;
    }
    if (random_int(0, 2) == 0) {
        op->parts = c->parts;
        for (int b = 0; b < (op->keys + TR_BLOCK - 1) / TR_BLOCK; b++)
            if (random_int(0, 1))
                c->parts[op->part_count++] = (tr_attn_part){
                    b, random_int(0, 1) ? UINT32_MAX : (uint32_t)random_int(0, 1 << 30) << 2 | (uint32_t)random_int(0, 3)};
    }
}

static bool attends(const tr_attn_prefill *op, int i, int j)
{
    const int64_t at = (int64_t)op->position + i;
    bool part = !op->parts;
    for (int n = 0; n < op->part_count; n++)
        part = part || (op->parts[n].block == j / TR_BLOCK && op->parts[n].positions >> j % TR_BLOCK & 1);
    return part && j >= at - op->back && j <= at + op->on && (!op->limits || j < op->limits[i]) &&
           !(op->bias && op->bias[i * op->bias_step + j] == -INFINITY);
}

/* Softmax and result of a query in double precision. */
static void exact_row(const a_case *c, int i, double *weights, double *out)
{
    const tr_attn_prefill *op = &c->op;
    double greatest = -INFINITY, total = 0;
    for (int j = 0; j < op->keys; j++) {
        double dot = 0;
        for (int d = 0; d < op->head_size; d++)
            dot += (double)c->q[i * op->head_size + d] * c->k[j * op->head_size + d];
        weights[j] = attends(op, i, j) ? dot * op->scale + (op->bias ? op->bias[i * op->bias_step + j] : 0) : -INFINITY;
        greatest = fmax(greatest, weights[j]);
    }
    for (int j = 0; j < op->keys; j++)
        total += weights[j] = weights[j] > -INFINITY ? exp(weights[j] - greatest) : 0;
    for (int d = 0; d < op->value_size; d++)
        out[d] = 0;
    for (int j = 0; j < op->keys; j++) {
        weights[j] = total > 0 ? weights[j] / total : 0;
        for (int d = 0; d < op->value_size && weights[j] > 0; d++)
            out[d] += weights[j] * c->v[j * op->value_size + d];
    }
}

static void check_exact(const a_case *c, double allowed)
{
    const tr_attn_prefill *op = &c->op;
    double *weights = malloc((size_t)op->keys * sizeof *weights), *out = malloc((size_t)op->value_size * sizeof *out);
    for (int i = 0; i < op->queries; i++) {
        exact_row(c, i, weights, out);
        for (int d = 0; d < op->value_size; d++)
            assert_true(fabs(out[d] - op->out[(size_t)i * op->out_stride + (size_t)d]) < allowed);
        for (int j = 0; j < op->keys; j++)
            assert_true(fabs(weights[j] - c->weights[(size_t)i * op->weights_stride + (size_t)j]) < allowed);
    }
    free(weights), free(out);
}

/* Queries one by one: the bits of a row depend on that row only. */
static void check_alone(const tr_kernels *level, const a_case *c)
{
    for (int i = 0; i < c->op.queries; i++) {
        tr_attn_prefill op = c->op;
        float *out = random_floats((size_t)op.value_size, 1);
        op.queries = 1;
        op.q += (size_t)i * op.q_stride;
        op.position += i;
        op.limits = op.limits ? op.limits + i : NULL;
        op.bias = op.bias ? op.bias + i * op.bias_step : NULL;
        op.out = out;
        op.weights = NULL;
        level->attn_prefill(&op);
        assert_memory_equal(out, c->op.out + (size_t)i * op.out_stride, (size_t)op.value_size * sizeof *out);
        free(out);
    }
}

static void attend_case(const tr_kernels *level, int head_size, int value_size, int queries, int keys, tr_type from)
{
    a_case c = make_case(level, head_size, value_size, queries, keys, from);
    mask_case(&c);
    float *wanted = malloc(c.outs * sizeof *wanted), *wanted_weights = calloc(c.weight_count, sizeof *wanted_weights);
    memcpy(wanted, c.out, c.outs * sizeof *wanted); /* numbers between the rows must not change */
    tr_attn_prefill reference = c.op;
    reference.out = wanted;
    reference.weights = wanted_weights;
    tr_kernels_reference.attn_prefill(&reference);
    c.op.weights = c.weights;
    level->attn_prefill(&c.op);
    char what[96];
    snprintf(what, sizeof what, "%d queries over %d keys of %d, values of %d", queries, keys, head_size, value_size);
    expect_same(level, what, c.out, wanted, c.outs, 0);
    expect_same(level, what, c.weights, wanted_weights, c.weight_count, 0);
    check_exact(&c, from == TR_TYPE_BF16 ? 4e-2 : 1e-5);
    check_alone(level, &c);
    free(wanted), free(wanted_weights);
    free_case(&c);
}

static void attend_of_level(const tr_kernels *level)
{
    static const int sizes[] = {1, 3, 16, 20, 64, 80, 128, 600}, lengths[] = {1, 2, 15, 16, 17, 32, 33, 97, 300};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            attend_case(level, sizes[s], sizes[(s + l) % 8], random_int(1, 40), lengths[l], TR_TYPE_F32);
            attend_case(level, sizes[s], sizes[s], random_int(1, 30), lengths[l], TR_TYPE_BF16);
        }
}

static void test_attend(void **unused)
{
    (void)unused;
    each_level(attend_of_level);
}

/* NaN and infinity reach the rows that attend to them, and no other. */
static void wild_of_level(const tr_kernels *level)
{
    for (int n = 0; n < 60; n++) {
        const int queries = random_int(1, 40), keys = random_int(2, 120), size = random_int(1, 70);
        a_case c = make_case(level, size, size, queries, keys, TR_TYPE_F32);
        mask_case(&c);
        level->attn_prefill(&c.op);
        float *before = malloc(c.outs * sizeof *before);
        memcpy(before, c.out, c.outs * sizeof *before);
        const int bad = random_int(0, keys - 1);
        float *held = n % 2 ? c.k : c.v;
        held[bad * size + random_int(0, size - 1)] = n % 3 ? NAN : n % 2 ? NAN : INFINITY;
        free(c.pool), free(c.blocks), free(c.nonfinite);
        pack_blocks(level, &c, TR_TYPE_F32);
        c.op.blocks = c.blocks;
        c.op.nonfinite = c.nonfinite;
        assert_int_equal(c.nonfinite[bad / TR_BLOCK], n % 2 == 0);
        level->attn_prefill(&c.op);
        for (int i = 0; i < queries; i++) {
            const float *row = c.out + (size_t)i * c.op.out_stride, *was = before + (size_t)i * c.op.out_stride;
            bool finite = true;
            for (int d = 0; d < size; d++)
                finite = finite && isfinite(row[d]);
            assert_int_equal(finite, !attends(&c.op, i, bad));
            for (int d = 0; d < size && finite; d++)
                assert_true(fabsf(row[d] - was[d]) <= 1e-5f);
        }
        free(before);
        free_case(&c);
    }
}

static void test_wild(void **unused)
{
    (void)unused;
    each_level(wild_of_level);
}

static void mix_of_level(const tr_kernels *level)
{
    for (int n = 0; n < 200; n++) {
        const int rows = random_int(1, 20), inner = random_int(1, 60), width = n < 70 ? n + 1 : random_int(1, 200);
        float *a = random_floats((size_t)(rows * (inner + 1)), 1), *b = random_floats((size_t)(inner * (width + 2)), 1);
        const size_t size = (size_t)(rows * (width + 3));
        float *y = random_floats(size, 1), *wanted = malloc(size * sizeof *wanted), *before = malloc(size * sizeof *before);
        memcpy(wanted, y, size * sizeof *y);
        memcpy(before, y, size * sizeof *y);
        tr_gemm_nn op = {rows, inner, width, a, (size_t)inner + 1, b, (size_t)width + 2, n % 2, y, (size_t)width + 3};
        level->gemm_nn(&op);
        op.y = wanted;
        tr_kernels_reference.gemm_nn(&op);
        expect_same(level, "mix", y, wanted, size, 0);
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < width; c++) {
                double sum = n % 2 ? before[r * (width + 3) + c] : 0;
                for (int p = 0; p < inner; p++)
                    sum += (double)a[r * (inner + 1) + p] * b[p * (width + 2) + c];
                assert_true(fabs(sum - y[r * (width + 3) + c]) < 1e-5);
            }
        free(a), free(b), free(y), free(wanted), free(before);
    }
}

static void test_mix(void **unused)
{
    (void)unused;
    each_level(mix_of_level);
}

static void maps_of_level(const tr_kernels *level)
{
    for (int n = 1; n < 120; n++) {
        float *x = random_floats((size_t)n, 30), *y = malloc((size_t)n * sizeof *y),
              *wanted = malloc((size_t)n * sizeof *wanted);
        level->elu_plus_1(y, x, n);
        tr_kernels_reference.elu_plus_1(wanted, x, n);
        expect_same(level, "elu + 1", y, wanted, (size_t)n, 0);
        double greatest = -INFINITY, total = 0;
        for (int i = 0; i < n; i++) {
            const double exact = x[i] > 0 ? x[i] + 1. : exp(x[i]);
            assert_true(fabs(y[i] - exact) <= 1e-6 * exact);
            if (random_int(0, 3) == 0)
                x[i] = -INFINITY;
            greatest = fmax(greatest, x[i]);
        }
        level->softmax(y, x, n);
        tr_kernels_reference.softmax(wanted, x, n);
        expect_same(level, "softmax", y, wanted, (size_t)n, 0);
        for (int i = 0; i < n; i++)
            total += exp(x[i] - greatest);
        for (int i = 0; i < n; i++)
            assert_true(x[i] == -INFINITY ? y[i] == 0 : fabs(y[i] - exp(x[i] - greatest) / total) < 1e-6);
        level->softmax(x, x, n); /* in place */
        assert_memory_equal(x, y, (size_t)n * sizeof *x);
        free(x), free(y), free(wanted);
    }
    float nothing[20], nan[] = {1, NAN, 2};
    for (int i = 0; i < 20; i++)
        nothing[i] = -INFINITY;
    level->softmax(nothing, nothing, 20);
    for (int i = 0; i < 20; i++)
        assert_true(nothing[i] == 0);
    level->softmax(nan, nan, 3);
    assert_true(isnan(nan[0]) && isnan(nan[1]) && isnan(nan[2]));
}

static void test_maps(void **unused)
{
    (void)unused;
    each_level(maps_of_level);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_attend), cmocka_unit_test(test_wild),
                                       cmocka_unit_test(test_mix), cmocka_unit_test(test_maps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
