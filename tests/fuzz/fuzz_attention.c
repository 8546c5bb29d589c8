/* libFuzzer target: calls of tr_attention_forward, tr_attention_masked_softmax, tr_attention_memory and
 * tr_attention_pattern. The bytes are sizes, options, masks and numbers. Valid calls get buffers of exactly their size and
 * must give what the formulas in double precision give, NaN where a row saw one; others must be refused. Seeds:
 * seeds_of_attention in fuzz.py. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../attention/reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SMALL = 1 << 12 }; /* maximum numbers of a tensor for which a call is made */

typedef struct input {
    const uint8_t *at, *end;
} input;

static uint8_t next(input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* From 0 to `most`, or an invalid number. */
static int64_t next_number(input *in, int64_t most)
{
    static const int64_t odd[] = {
        -1, INT64_MIN, INT64_MAX, (int64_t)1 << 30, (int64_t)1 << 31, (int64_t)1 << 40, (int64_t)1 << 62, 1025};
    const uint8_t byte = next(in);
    return byte < 248 ? byte % (most + 1) : odd[byte - 248];
}

/* -4 to 4; sometimes NaN if wild. */
static float next_float(input *in, bool wild)
{
    const uint8_t byte = next(in);
    return wild && byte == 255 ? NAN : (float)(byte - 128) / 32;
}

static void *next_elements(input *in, tr_element element, size_t n, float scale)
{
    float *x = reserve(n, sizeof *x);
    const bool wild = next(in) % 4 == 0;
    for (size_t i = 0; i < n; i++)
        x[i] = scale * next_float(in, wild);
    void *stored = as_element(element, x, n);
    free(x);
    return stored;
}

/* The product of sizes that are 1 .. SMALL, if it is that as well; else 0. */
static size_t small_product(const int64_t *sizes, int count)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++) {
        if (sizes[i] < 1 || sizes[i] > SMALL || product * sizes[i] > SMALL)
            return 0;
        product *= sizes[i];
    }
    return (size_t)product;
}

/* The strides of a mask that is dense along some axes; returns its size in numbers. */
static size_t next_strides(input *in, const tr_attention_shape *s, int64_t stride[3])
{
    const int64_t sizes[] = {s->batch, s->heads, s->queries};
    const uint8_t along = next(in);
    int64_t rows = 1;
    for (int axis = 2; axis >= 0; axis--) {
        const bool differs = along >> axis & 1;
        stride[axis] = differs ? rows * s->keys : 0;
        rows *= differs ? sizes[axis] : 1;
    }
    if (along >= 250) /* must be refused, or has no effect as that axis has length 1 */
        stride[along % 3] = along % 2 ? -1 : INT64_MAX;
    return (size_t)(rows * s->keys);
}

static float *next_added(input *in, size_t n)
{
    float *added = reserve(n, sizeof *added);
    for (size_t i = 0; i < n; i++) {
        const uint8_t byte = next(in);
        added[i] = byte >= 200 ? -INFINITY : (float)(byte % 64) / 16 - 2;
    }
    return added;
}

static void next_mask(input *in, trial *t)
{
    tr_attention_mask *m = &t->mask;
    const uint8_t what = next(in);
    if (what & 1) {
        const size_t n = next_strides(in, &t->shape, m->allowed_stride);
        bool *allowed = reserve(n, sizeof *allowed);
        for (size_t i = 0; i < n; i++)
            allowed[i] = next(in) % 4 != 1;
        m->allowed = allowed;
    }
    if (what & 2)
        m->additive = next_added(in, next_strides(in, &t->shape, m->additive_stride));
    if (what & 4)
        m->prior = next_added(in, next_strides(in, &t->shape, m->prior_stride));
    if (what & 8) {
        m->lengths_by_query = what & 16;
        const size_t n = (size_t)(t->shape.batch * (m->lengths_by_query ? t->shape.queries : 1));
        int64_t *lengths = reserve(n, sizeof *lengths);
        for (size_t i = 0; i < n; i++)
            lengths[i] = next_number(in, t->shape.keys);
        m->lengths = lengths;
    }
    m->causal = what & 32;
    m->position = what & 64 ? next_number(in, 100) : 0;
}

static tr_attention_options next_options(input *in)
{
    tr_attention_options o = {0};
    o.kind = (tr_attention_kind)(next(in) % 6); /* one more than there are kinds */
    o.tile = next_number(in, 50);
    const uint8_t threads = next(in) % 16;
    o.threads = threads < 4 ? threads : 1; /* more threads are slow */
    o.scale = next_float(in, true);
    o.window = next_number(in, 50);
    o.block = next_number(in, 40);
    o.local_blocks = next_number(in, 4);
    o.random_blocks = next_number(in, 5);
    o.global_tokens = next_number(in, 30);
    o.seed = next(in);
    const uint8_t which = next(in);
    o.rank = which & 1 ? next_number(in, 40) : 0;
    o.pool = which & 2 ? next_number(in, 40) : 0;
    return o;
}

/* ---------------------------------------------------------------------------------------------------------------- checks */

static void stop_if(bool wrong, const trial *t, const char *what)
{
    if (!wrong)
        return;
    fprintf(stderr, "%s: %s\n", describe_trial(t), what);
    abort();
}

/* Compares rows: equal numbers where the formulas give only numbers; NaN where they give NaN. Sums may be large. */
static void check_rows(const trial *t, const float *got, const double *wanted, size_t rows, size_t width)
{
    for (size_t r = 0; r < rows; r++) {
        bool seen = false;
        for (size_t c = 0; c < width; c++)
            seen = seen || isnan(wanted[r * width + c]);
        for (size_t c = 0; c < width; c++) {
            const double a = (double)got[r * width + c], b = wanted[r * width + c];
            stop_if(seen ? isnan(b) && !isnan(a) : !(fabs(a - b) <= 2e-3 * (1 + fabs(b))), t,
                    "a row is not what the formulas say");
        }
    }
}

static void check_result(const trial *t, const float *out, const float *weights)
{
    double *wanted = reserve(out_size(t), sizeof *wanted),
           *wanted_weights = reserve(weights_size(t), sizeof *wanted_weights);
    reference_attention(t, wanted, wanted_weights);
    check_rows(t, out, wanted, out_size(t) / (size_t)t->shape.d_v, (size_t)t->shape.d_v);
    check_rows(t, weights, wanted_weights, weights_size(t) / (size_t)columns_of(t), (size_t)columns_of(t));
    free(wanted), free(wanted_weights);
}

static void try_softmax(const trial *t, tr_status of_attention)
{
    const size_t n = (size_t)(t->shape.batch * t->shape.heads * t->shape.queries * t->shape.keys);
    float *scores = numbers(1, STREAM_Q, n, 4);
    tr_error error;
    const tr_status status = tr_attention_masked_softmax(&t->shape, &t->mask, scores, scores, &error);
    stop_if(of_attention == TR_OK && status != TR_OK, t, "the softmax refuses the mask");
    for (size_t i = 0; status == TR_OK && i < n; i++)
        stop_if(!(scores[i] >= 0 && scores[i] <= 1.0001f), t, "a weight is not between 0 and 1");
    free(scores);
}

static void try_call(const trial *t)
{
    const int64_t columns = columns_of(t);
    const size_t n = out_size(t), m = columns ? weights_size(t) : 1;
    float *out = reserve(n, sizeof *out), *weights = reserve(m, sizeof *weights);
    tr_error error;
    int64_t bytes;
    const tr_status known = tr_attention_memory(&t->shape, &t->options, &t->mask, &bytes, &error);
    const tr_status status =
        tr_attention_forward(&t->shape, &t->options, &t->mask, t->element, t->q, t->k, t->v, out, weights, &error);
    stop_if(status == TR_OK && (known || !columns || bytes > 1 << 28), t, "it ran, and should not be valid");
    stop_if(status != TR_OK && (status != TR_ERROR_ARGUMENT || !strstr(error.message, ": ")), t, "no error of an argument");
    if (status == TR_OK)
        check_result(t, out, weights);
    try_softmax(t, status);
    free(out), free(weights);
}

static void give_projections(input *in, trial *t)
{
    const int64_t sizes[] = {t->options.rank, t->shape.keys};
    const size_t n = small_product(sizes, 2);
    t->options.key_projection = n ? next_elements(in, TR_ELEMENT_F32, n, 1 / 64.f) : reserve(1, sizeof(float));
    t->options.value_projection = n ? next_elements(in, TR_ELEMENT_F32, n, 1 / 64.f) : reserve(1, sizeof(float));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, data + size};
    trial t = {.element = (tr_element)(next(&in) % 2)};
    t.options = next_options(&in);
    int64_t *const sizes[] = {&t.shape.batch, &t.shape.heads, &t.shape.queries, &t.shape.keys, &t.shape.d_k, &t.shape.d_v};
    static const int64_t most[] = {2, 2, 20, 50, 16, 20};
    for (int i = 0; i < 6; i++)
        *sizes[i] = next_number(&in, most[i]);
    const tr_attention_shape *s = &t.shape;
    const int64_t all[] = {s->batch, s->heads, s->queries, s->keys};
    const size_t of_q = small_product((const int64_t[]){s->batch, s->heads, s->queries, s->d_k}, 4);
    const size_t of_k = small_product((const int64_t[]){s->batch, s->heads, s->keys, s->d_k}, 4);
    const size_t of_v = small_product((const int64_t[]){s->batch, s->heads, s->keys, s->d_v}, 4);
    const int64_t of_projection[] = {t.options.rank, s->keys};
    if (!of_q || !of_k || !of_v || !small_product(all, 4) || t.options.rank > SMALL / (s->batch * s->heads * s->queries) ||
        (t.options.rank > 0 && !small_product(of_projection, 2))) {
        int64_t bytes;
        tr_error error;
        if (tr_attention_memory(s, &t.options, NULL, &bytes, &error) == TR_OK)
            stop_if(bytes < 0 || columns_of(&t) < 1, &t, "no memory, no columns");
        return 0;
    }
    next_mask(&in, &t);
    give_projections(&in, &t);
    t.q = next_elements(&in, t.element, of_q, 1);
    t.k = next_elements(&in, t.element, of_k, 1);
    t.v = next_elements(&in, t.element, of_v, 1);
    try_call(&t);
    free_trial(&t);
    return 0;
}
