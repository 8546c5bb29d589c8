#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------------ who sees whom */

static int64_t distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

static bool sees(const tr_attention_options *o, int64_t at, int64_t j)
{
    if (o->kind == TR_ATTENTION_LOCAL)
        return distance(at, j) <= o->window;
    if (o->kind == TR_ATTENTION_BLOCK_SPARSE)
        return distance(at / o->block, j / o->block) <= o->local_blocks || at < o->global_tokens || j < o->global_tokens;
    return true;
}

bool *reference_pattern(const trial *t)
{
    const tr_attention_shape *s = &t->shape;
    bool *pattern = reserve((size_t)(s->heads * s->queries * s->keys), sizeof *pattern);
    for (int64_t h = 0; h < s->heads; h++) {
        bool *of_head = pattern + h * s->queries * s->keys;
        tr_error error;
        if (t->options.kind == TR_ATTENTION_BLOCK_SPARSE && t->options.random_blocks > 0) {
            if (tr_attention_pattern(s, &t->options, t->mask.position, h, of_head, &error))
                fail_msg("%s: %s", describe_trial(t), error.message);
            continue;
        }
        for (int64_t i = 0; i < s->queries; i++)
            for (int64_t j = 0; j < s->keys; j++)
                of_head[i * s->keys + j] = sees(&t->options, t->mask.position + i, j);
    }
    return pattern;
}

static int64_t at(const int64_t stride[3], int64_t b, int64_t h, int64_t i, int64_t j)
{
    return b * stride[0] + h * stride[1] + i * stride[2] + j;
}

double reference_bias(const tr_attention_mask *m, int64_t b, int64_t h, int64_t i, int64_t j)
{
    return (m->additive ? (double)m->additive[at(m->additive_stride, b, h, i, j)] : 0) +
           (m->prior ? (double)m->prior[at(m->prior_stride, b, h, i, j)] : 0);
}

bool reference_allows(const trial *t, const bool *pattern, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const tr_attention_mask *m = &t->mask;
    if (!pattern[(h * t->shape.queries + i) * t->shape.keys + j])
        return false;
    if (m->allowed && !m->allowed[at(m->allowed_stride, b, h, i, j)])
        return false;
    if (m->lengths && j >= m->lengths[m->lengths_by_query ? b * t->shape.queries + i : b])
        return false;
    if (m->causal && j > m->position + i)
        return false;
    return reference_bias(m, b, h, i, j) != -INFINITY;
}

/* ---------------------------------------------------------------------------------------------------- one row of weights */

/* weights[n] = softmax of the scores whose counts[] is true; zeros if there are none. */
static void softmax(double *weights, const double *scores, const bool *counts, int64_t n)
{
    double greatest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++)
        if (counts[j] && !(scores[j] <= greatest)) /* a NaN, too */
            greatest = scores[j];
    for (int64_t j = 0; j < n; j++) {
        weights[j] = counts[j] ? exp(scores[j] - greatest) : 0;
        sum += weights[j];
    }
    for (int64_t j = 0; j < n; j++)
        weights[j] = counts[j] ? weights[j] / sum : 0;
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double feature(double x)
{
    return x > 0 ? x + 1 : exp(x);
}

/* Without a softmax: see TR_ATTENTION_LINEAR. */
static void linear_weights(double *weights, const double *q, const double *k, const bool *counts, int64_t keys, int64_t size)
{
    double sum = 0;
    for (int64_t j = 0; j < keys; j++) {
        weights[j] = 0;
        for (int64_t e = 0; counts[j] && e < size; e++)
            weights[j] += feature(q[e]) * feature(k[j * size + e]);
        sum += weights[j];
    }
    for (int64_t j = 0; j < keys; j++)
        weights[j] = counts[j] ? weights[j] / sum : 0;
}

/* out[width] = sum of w[j] v[j] over the j whose counts[j] is true. */
static void weigh(double *out, const double *weights, const bool *counts, const double *v, int64_t n, int64_t width)
{
    for (int64_t c = 0; c < width; c++) {
        out[c] = 0;
        for (int64_t j = 0; j < n; j++)
            if (counts[j])
                out[c] += weights[j] * v[j * width + c];
    }
}

/* -------------------------------------------------------------------------------------------------------------- one head */

typedef struct head {
    const trial *t;
    const bool *pattern;
    int64_t b, h;
    const double *q, *k, *v; /* [queries, d_k], [keys, d_k], [keys, d_v] */
    double *out, *weights;
} head;

static double scale_of(const trial *t)
{
    return t->options.scale != 0 ? (double)t->options.scale : 1 / sqrt((double)t->shape.d_k);
}

static void attend_head(const head *a)
{
    const tr_attention_shape *s = &a->t->shape;
    bool *counts = reserve((size_t)s->keys, sizeof *counts);
    double *scores = reserve((size_t)s->keys, sizeof *scores);
    for (int64_t i = 0; i < s->queries; i++) {
        const double *q = a->q + i * s->d_k;
        double *weights = a->weights + i * s->keys;
        for (int64_t j = 0; j < s->keys; j++) {
            counts[j] = reference_allows(a->t, a->pattern, a->b, a->h, i, j);
            scores[j] = scale_of(a->t) * dot(q, a->k + j * s->d_k, s->d_k) + reference_bias(&a->t->mask, a->b, a->h, i, j);
        }
        if (a->t->options.kind == TR_ATTENTION_LINEAR)
            linear_weights(weights, q, a->k, counts, s->keys, s->d_k);
        else
            softmax(weights, scores, counts, s->keys);
        weigh(a->out + i * s->d_v, weights, counts, a->v, s->keys, s->d_v);
    }
    free(counts);
    free(scores);
}

/* summaries[columns, width] of x [keys, width]: projections or means of the keys that count. */
static void summarise(double *summaries, const head *a, const double *x, int64_t width, const float *projection)
{
    const int64_t keys = a->t->shape.keys, pool = a->t->options.pool;
    for (int64_t r = 0; r < columns_of(a->t); r++)
        for (int64_t c = 0; c < width; c++) {
            double sum = 0;
            int64_t count = 0;
            for (int64_t j = 0; j < keys; j++) {
                if (!reference_allows(a->t, a->pattern, a->b, a->h, 0, j) || (pool && j / pool != r))
                    continue;
                sum += pool ? x[j * width + c] : (double)projection[r * keys + j] * x[j * width + c];
                count++;
            }
            summaries[r * width + c] = pool && count ? sum / (double)count : sum;
        }
}

/* Whether summary r is valid: a mean needs a key that counts, a projection needs one anywhere. */
static bool stands(const head *a, int64_t r)
{
    const int64_t pool = a->t->options.pool;
    for (int64_t j = 0; j < a->t->shape.keys; j++)
        if (reference_allows(a->t, a->pattern, a->b, a->h, 0, j) && (!pool || j / pool == r))
            return true;
    return false;
}

static void attend_summaries(const head *a)
{
    const tr_attention_shape *s = &a->t->shape;
    const int64_t columns = columns_of(a->t);
    double *k = reserve((size_t)(columns * s->d_k), sizeof *k), *v = reserve((size_t)(columns * s->d_v), sizeof *v);
    double *scores = reserve((size_t)columns, sizeof *scores);
    bool *counts = reserve((size_t)columns, sizeof *counts);
    summarise(k, a, a->k, s->d_k, a->t->options.key_projection);
    summarise(v, a, a->v, s->d_v, a->t->options.value_projection);
    for (int64_t r = 0; r < columns; r++)
        counts[r] = stands(a, r);
    for (int64_t i = 0; i < s->queries; i++) {
        for (int64_t r = 0; r < columns; r++)
            scores[r] = scale_of(a->t) * dot(a->q + i * s->d_k, k + r * s->d_k, s->d_k);
        softmax(a->weights + i * columns, scores, counts, columns);
        weigh(a->out + i * s->d_v, a->weights + i * columns, counts, v, columns, s->d_v);
    }
    free(k);
    free(v);
    free(scores);
    free(counts);
}

/* ------------------------------------------------------------------------------------------------------------- all heads */

double *widened_all(tr_element element, const void *x, size_t n)
{
    double *wide = reserve(n, sizeof *wide);
    for (size_t i = 0; i < n; i++)
        wide[i] = widened(element, x, (int64_t)i);
    return wide;
}

void reference_of(const trial *t, const double *q, const double *k, const double *v, double *out, double *weights)
{
    const tr_attention_shape *s = &t->shape;
    bool *pattern = reference_pattern(t);
    for (int64_t n = 0; n < s->batch * s->heads; n++) {
        const head a = {.t = t,
                        .pattern = pattern,
                        .b = n / s->heads,
                        .h = n % s->heads,
                        .q = q + n * s->queries * s->d_k,
                        .k = k + n * s->keys * s->d_k,
                        .v = v + n * s->keys * s->d_v,
                        .out = out + n * s->queries * s->d_v,
                        .weights = weights + n * s->queries * columns_of(t)};
        (t->options.kind == TR_ATTENTION_LOW_RANK ? attend_summaries : attend_head)(&a);
    }
    free(pattern);
}

void reference_attention(const trial *t, double *out, double *weights)
{
    const tr_attention_shape *s = &t->shape;
    const size_t heads = (size_t)(s->batch * s->heads);
    double *q = widened_all(t->element, t->q, heads * (size_t)(s->queries * s->d_k));
    double *k = widened_all(t->element, t->k, heads * (size_t)(s->keys * s->d_k));
    double *v = widened_all(t->element, t->v, heads * (size_t)(s->keys * s->d_v));
    reference_of(t, q, k, v, out, weights);
    free(q), free(k), free(v);
}

void expect_reference(const trial *t, double tolerance)
{
    const size_t n = out_size(t), m = weights_size(t);
    double *wanted_out = reserve(n, sizeof *wanted_out), *wanted_weights = reserve(m, sizeof *wanted_weights);
    float *out = reserve(n, sizeof *out), *weights = reserve(m, sizeof *weights), *alone = attended(t);
    reference_attention(t, wanted_out, wanted_weights);
    attend(t, out, weights);
    expect_near(describe_trial(t), out, wanted_out, n, tolerance);
    expect_near(describe_trial(t), weights, wanted_weights, m, tolerance);
    expect_bits(describe_trial(t), alone, out, n); /* the same result without weights */
    free(wanted_out), free(wanted_weights), free(out), free(weights), free(alone);
}
