#include "layer.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS = 4 }; /* query, key, value and output */

static const void **weight_of(tr_attention_multi_head *layer, int part)
{
    const void **const weights[PARTS] = {&layer->query_weight, &layer->key_weight, &layer->value_weight,
                                         &layer->output_weight};
    return weights[part];
}

static const void **bias_of(tr_attention_multi_head *layer, int part)
{
    const void **const biases[PARTS] = {&layer->query_bias, &layer->key_bias, &layer->value_bias, &layer->output_bias};
    return biases[part];
}

static void *made(tr_element element, uint64_t seed, int stream, int64_t n, float scale)
{
    float *x = numbers(seed, (enum stream)stream, (size_t)n, scale);
    void *stored = as_element(element, x, (size_t)n);
    free(x);
    return stored;
}

layer_trial make_layer(int64_t batch, int64_t queries, int64_t keys, layer_sizes sizes, bool biases, tr_element of_layer,
                       tr_element of_inputs, uint64_t seed)
{
    const int64_t inputs[PARTS] = {sizes.query, sizes.key, sizes.value, sizes.hiddens}, size = sizes.hiddens / sizes.heads;
    layer_trial l = {.layer = {.query_width = sizes.query,
                               .key_width = sizes.key,
                               .value_width = sizes.value,
                               .d_model = sizes.hiddens,
                               .num_heads = sizes.heads,
                               .element = of_layer}};
    l.inner = (trial){.shape = {batch, sizes.heads, queries, keys, size, size}, .element = of_inputs, .seed = seed};
    l.inner.q = made(of_inputs, seed, STREAM_Q, batch * queries * sizes.query, 1);
    l.inner.k = made(of_inputs, seed, STREAM_K, batch * keys * sizes.key, 1);
    l.inner.v = made(of_inputs, seed, STREAM_V, batch * keys * sizes.value, 1);
    for (int part = 0; part < PARTS; part++) {
        const int stream = STREAM_LAYER + 2 * part;
        *weight_of(&l.layer, part) = made(of_layer, seed, stream, sizes.hiddens * inputs[part], 0.25f);
        *bias_of(&l.layer, part) = biases ? made(of_layer, seed, stream + 1, sizes.hiddens, 1) : NULL;
    }
    return l;
}

void free_layer(layer_trial *l)
{
    for (int part = 0; part < PARTS; part++) {
        free((void *)*weight_of(&l->layer, part));
        free((void *)*bias_of(&l->layer, part));
    }
    free_trial(&l->inner);
}

size_t layer_out_size(const layer_trial *l)
{
    return (size_t)(l->inner.shape.batch * l->inner.shape.queries * l->layer.d_model);
}

tr_status run_layer(const layer_trial *l, float *out, float *weights, tr_error *error)
{
    const trial *t = &l->inner;
    return tr_attention_multi_head_forward(&l->layer, &t->options, &t->mask, t->shape.batch, t->shape.queries, t->shape.keys,
                                           t->element, t->q, t->k, t->v, out, weights, error);
}

void attend_layer(const layer_trial *l, float *out, float *weights)
{
    tr_error error;
    if (run_layer(l, out, weights, &error))
        fail_msg("%s: %s", describe_trial(&l->inner), error.message);
}

/* --------------------------------------------------------------------------------------------------- in double precision */

/* y[rows, outputs] = W x + b of x [rows, inputs]. */
static void linear(const tr_attention_multi_head *layer, int part, const double *x, int64_t rows, int64_t inputs, double *y)
{
    tr_attention_multi_head copy = *layer;
    const void *weight = *weight_of(&copy, part), *bias = *bias_of(&copy, part);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t o = 0; o < layer->d_model; o++) {
            double sum = bias ? widened(layer->element, bias, o) : 0;
            for (int64_t i = 0; i < inputs; i++)
                sum += widened(layer->element, weight, o * inputs + i) * x[r * inputs + i];
            y[r * layer->d_model + o] = sum;
        }
}

/* [batch, length, heads, size] to [batch, heads, length, size]; with heads and length exchanged, the inverse. */
static void exchange(const double *x, int64_t batch, int64_t length, int64_t heads, int64_t size, double *y)
{
    for (int64_t b = 0; b < batch; b++)
        for (int64_t l = 0; l < length; l++)
            for (int64_t h = 0; h < heads; h++)
                memcpy(y + ((b * heads + h) * length + l) * size, x + ((b * length + l) * heads + h) * size,
                       (size_t)size * sizeof *x);
}

static double *projected(const layer_trial *l, int part, const void *x, int64_t length, int64_t inputs)
{
    const tr_attention_shape *s = &l->inner.shape;
    const size_t n = (size_t)(s->batch * length * l->layer.d_model);
    double *wide = widened_all(l->inner.element, x, (size_t)(s->batch * length * inputs));
    double *y = reserve(n, sizeof *y), *split = reserve(n, sizeof *split);
    linear(&l->layer, part, wide, s->batch * length, inputs, y);
    exchange(y, s->batch, length, s->heads, s->d_k, split);
    free(wide), free(y);
    return split;
}

void reference_layer(const layer_trial *l, double *out, double *weights)
{
    const tr_attention_shape *s = &l->inner.shape;
    double *q = projected(l, 0, l->inner.q, s->queries, l->layer.query_width);
    double *k = projected(l, 1, l->inner.k, s->keys, l->layer.key_width);
    double *v = projected(l, 2, l->inner.v, s->keys, l->layer.value_width);
    double *split = reserve(layer_out_size(l), sizeof *split), *joined = reserve(layer_out_size(l), sizeof *joined);
    reference_of(&l->inner, q, k, v, split, weights);
    exchange(split, s->batch, s->heads, s->queries, s->d_v, joined);
    linear(&l->layer, 3, joined, s->batch * s->queries, l->layer.d_model, out);
    free(q), free(k), free(v), free(split), free(joined);
}

void expect_layer_reference(const layer_trial *l, double tolerance)
{
    const size_t n = layer_out_size(l), m = weights_size(&l->inner);
    double *wanted_out = reserve(n, sizeof *wanted_out), *wanted_weights = reserve(m, sizeof *wanted_weights);
    float *out = reserve(n, sizeof *out), *weights = reserve(m, sizeof *weights);
    reference_layer(l, wanted_out, wanted_weights);
    attend_layer(l, out, weights);
    expect_near(describe_trial(&l->inner), out, wanted_out, n, tolerance);
    expect_near(describe_trial(&l->inner), weights, wanted_weights, m, tolerance);
    free(wanted_out), free(wanted_weights), free(out), free(weights);
}
