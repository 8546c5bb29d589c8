/* Attention of single queries over blocks of keys and values, at every level, against a reference.
 * The reference is the portable source compiled with fmaf(): every level must equal it bit by bit (but f32 products of a
 * level that does not fuse, which must be close), and it must be close to sums in double precision. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#include "model/weights.h"

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
    const int growth =
        length >= queries && head_size % 3 ? 1 : 0; /* as in forced decoding, which computes all tokens at once */
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
        level->kv_store(&(tr_kv_store){head_size, position % TR_BLOCK, k + (size_t)(p * head_size),
                                       v + (size_t)(p * head_size), type, block, block + half});
    }
    tr_attn_decode op = {.heads = heads,
                         .queries = queries,
                         .head_size = head_size,
                         .length = length - growth * (queries - 1),
                         .causal = growth,
                         .scale = 1 / sqrtf((float)head_size),
                         .q = q,
                         .q_stride = (size_t)width,
                         .type = type,
                         .blocks = table,
                         .value_offset = half,
                         .head_offset = head_offset,
                         .prefetch = length % 5 ? pool : NULL,
                         .bias = bias,
                         .bias_step = -1,
                         .bias_head = bias_head,
                         .out = out,
                         .out_stride = (size_t)width};
    level->attn_decode(&op);
    op.out = wanted;
    tr_kernels_reference.attn_decode(&op);
    char what[64];
    snprintf(what, sizeof what, "attention %d queries, %d heads of %d over %d", queries, heads, head_size, length);
    expect_same(level, what, out, wanted, (size_t)(queries * width), 0);
    op.weights_stride = weights_stride;
    op.weights_head = weights_head;
    op.only_head = only_head;
    op.weights = wanted_weights;
    tr_kernels_reference.attn_decode(&op);
    op.weights = weights;
    op.out = out;
    level->attn_decode(&op);
    expect_same(level, what, out, wanted, (size_t)(queries * width), 0);
    /* numbers between and after the rows must not change */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
