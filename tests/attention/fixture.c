#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/numbers.h"

/* The finalizer of SplitMix64 (Steele et al., 2014). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t bits_of(uint64_t seed, enum stream stream, uint64_t index)
{
    return mix(mix(seed * STREAMS + stream + 0x9e3779b97f4a7c15u) + index);
}

float number(uint64_t seed, enum stream stream, uint64_t index)
{
    return (float)(bits_of(seed, stream, index) >> 40) * 0x1p-23f - 1;
}

int64_t whole(uint64_t seed, uint64_t index, int64_t low, int64_t high)
{
    return low + (int64_t)(bits_of(seed, STREAM_SHAPE, index) % (uint64_t)(high - low + 1));
}

void *reserve(size_t n, size_t size)
{
    void *memory = malloc(n * size);
    assert_non_null(memory);
    return memory;
}

float *numbers(uint64_t seed, enum stream stream, size_t n, float scale)
{
    float *x = reserve(n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = scale * number(seed, stream, i);
    return x;
}

void *as_element(tr_element element, const float *x, size_t n)
{
    if (element == TR_ELEMENT_F32)
        return memcpy(reserve(n, sizeof *x), x, n * sizeof *x);
    uint16_t *halves = reserve(n, sizeof *halves);
    for (size_t i = 0; i < n; i++)
        halves[i] = tr_bf16_from_f32(x[i]);
    return halves;
}

double widened(tr_element element, const void *x, int64_t index)
{
    return element == TR_ELEMENT_F32 ? (double)((const float *)x)[index]
                                     : (double)tr_bf16_to_f32(((const uint16_t *)x)[index]);
}

/* --------------------------------------------------------------------------------------------------------------- trials */

static void *elements(const trial *t, enum stream stream, int64_t length, int64_t width, float scale)
{
    const size_t n = (size_t)(t->shape.batch * t->shape.heads * length * width);
    float *x = numbers(t->seed, stream, n, scale);
    void *stored = as_element(t->element, x, n);
    free(x);
    return stored;
}

trial make_trial(tr_attention_shape shape, tr_attention_options options, tr_element element, uint64_t seed, float scale)
{
    trial t = {.shape = shape, .options = options, .element = element, .seed = seed};
    const size_t projection = (size_t)(options.rank * shape.keys);
    t.q = elements(&t, STREAM_Q, shape.queries, shape.d_k, scale);
    t.k = elements(&t, STREAM_K, shape.keys, shape.d_k, 1);
    t.v = elements(&t, STREAM_V, shape.keys, shape.d_v, 1);
    if (options.kind == TR_ATTENTION_LOW_RANK && options.rank > 0) {
        t.options.key_projection = numbers(seed, STREAM_KEY_PROJECTION, projection, 0.5f);
        t.options.value_projection = numbers(seed, STREAM_VALUE_PROJECTION, projection, 0.5f);
    }
    return t;
}

void free_trial(trial *t)
{
    void *const owned[] = {t->q,
                           t->k,
                           t->v,
                           (void *)t->options.key_projection,
                           (void *)t->options.value_projection,
                           (void *)t->mask.allowed,
                           (void *)t->mask.additive,
                           (void *)t->mask.prior,
                           (void *)t->mask.lengths};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    *t = (trial){0};
}

/* Sets the strides of a dense mask, and returns how many rows of keys it has. */
static int64_t mask_rows(const trial *t, const char *along, int64_t stride[3])
{
    const int64_t sizes[] = {t->shape.batch, t->shape.heads, t->shape.queries};
    int64_t rows = 1;
    for (int axis = 2; axis >= 0; axis--) {
        const bool differs = strchr(along, "bhq"[axis]) != NULL;
        stride[axis] = differs ? rows * t->shape.keys : 0;
        rows *= differs ? sizes[axis] : 1;
    }
    return rows;
}

static bool forbidden_row(const trial *t, const char *along, int64_t row)
{
    return strchr(along, 'q') && row % t->shape.queries % 5 == 3;
}

void allow_some(trial *t, const char *along)
{
    const int64_t rows = mask_rows(t, along, t->mask.allowed_stride), keys = t->shape.keys;
    bool *allowed = reserve((size_t)(rows * keys), sizeof *allowed);
    for (int64_t e = 0; e < rows * keys; e++)
        allowed[e] = number(t->seed, STREAM_ALLOWED, (uint64_t)e) < 0.4f && !forbidden_row(t, along, e / keys);
    t->mask.allowed = allowed;
}

static float *added(const trial *t, int64_t n, enum stream stream, enum stream forbids, float threshold)
{
    float *bias = numbers(t->seed, stream, (size_t)n, 2);
    for (int64_t e = 0; e < n; e++)
        if (number(t->seed, forbids, (uint64_t)e) >= threshold)
            bias[e] = -INFINITY;
    return bias;
}

void add_some(trial *t, const char *along)
{
    const int64_t rows = mask_rows(t, along, t->mask.additive_stride);
    t->mask.additive = added(t, rows * t->shape.keys, STREAM_ADDITIVE, STREAM_ADDITIVE_FORBIDS, 0.7f);
}

void add_prior(trial *t, const char *along)
{
    const int64_t rows = mask_rows(t, along, t->mask.prior_stride);
    t->mask.prior = added(t, rows * t->shape.keys, STREAM_PRIOR, STREAM_PRIOR_FORBIDS, 0.9f);
}

void limit(trial *t, const int64_t *lengths, bool by_query)
{
    const size_t n = (size_t)(t->shape.batch * (by_query ? t->shape.queries : 1));
    t->mask.lengths = memcpy(reserve(n, sizeof *lengths), lengths, n * sizeof *lengths);
    t->mask.lengths_by_query = by_query;
}

/* -------------------------------------------------------------------------------------------------------- random trials */

static tr_attention_options random_options(uint64_t seed, tr_attention_kind kind, int64_t keys)
{
    tr_attention_options o = {.kind = kind, .scale = whole(seed, 20, 0, 2) ? 0 : 0.25f};
    o.tile = whole(seed, 21, 0, 1) ? 0 : whole(seed, 22, 1, 70);
    o.threads = whole(seed, 23, 0, 9) ? 1 : 3; /* one thread; test_same_bits.c compares several */
    if (kind == TR_ATTENTION_LOCAL) {
        o.window = whole(seed, 24, 0, 1) ? whole(seed, 25, 0, 4) : whole(seed, 25, 0, 2 * keys);
    } else if (kind == TR_ATTENTION_BLOCK_SPARSE) {
        o.block = whole(seed, 24, 0, 2) ? whole(seed, 25, 1, 9) : whole(seed, 25, 1, 70);
        o.local_blocks = whole(seed, 26, 0, 2);
        o.random_blocks = whole(seed, 27, 0, 3);
        o.global_tokens = whole(seed, 28, 0, 1) ? 0 : whole(seed, 29, 0, 12);
        o.seed = seed;
    } else if (kind == TR_ATTENTION_LOW_RANK) {
        const bool pools = whole(seed, 24, 0, 1);
        *(pools ? &o.pool : &o.rank) = whole(seed, 25, 1, 40);
    }
    return o;
}

static const char *random_along(uint64_t seed, uint64_t index, bool same_for_all)
{
    static const char *const ways[] = {"", "b", "h", "bh", "q", "bq", "hq", "bhq"};
    return ways[whole(seed, index, 0, same_for_all ? 3 : 7)];
}

static void random_lengths(trial *t, bool by_query)
{
    const int64_t n = t->shape.batch * (by_query ? t->shape.queries : 1);
    int64_t *lengths = reserve((size_t)n, sizeof *lengths);
    for (int64_t i = 0; i < n; i++)
        lengths[i] = (int64_t)(bits_of(t->seed, STREAM_LENGTHS, (uint64_t)i) % (uint64_t)(t->shape.keys + 1));
    limit(t, lengths, by_query);
    free(lengths);
}

trial random_trial(uint64_t seed)
{
    const tr_attention_kind kind = (tr_attention_kind)whole(seed, 0, TR_ATTENTION_EXACT, TR_ATTENTION_LOW_RANK);
    const bool same_for_all = kind == TR_ATTENTION_LINEAR || kind == TR_ATTENTION_LOW_RANK,
               large = whole(seed, 1, 0, 7) == 0;
    tr_attention_shape shape = {.batch = whole(seed, 2, 1, 3), .heads = whole(seed, 3, 1, 3)};
    shape.queries = whole(seed, 4, 1, large ? 200 : 40);
    shape.keys = whole(seed, 5, 0, 3) ? whole(seed, 6, 1, large ? 200 : 70) : shape.queries;
    shape.d_k = whole(seed, 7, 1, 40);
    shape.d_v = whole(seed, 8, 0, 1) ? shape.d_k : whole(seed, 9, 1, 70);
    trial t = make_trial(shape, random_options(seed, kind, shape.keys),
                         whole(seed, 10, 0, 3) ? TR_ELEMENT_F32 : TR_ELEMENT_BF16, seed, 2);
    if (whole(seed, 11, 0, 2) == 0)
        allow_some(&t, random_along(seed, 12, same_for_all));
    if (!same_for_all && whole(seed, 13, 0, 2) == 0)
        add_some(&t, random_along(seed, 14, false));
    if (!same_for_all && whole(seed, 15, 0, 2) == 0)
        add_prior(&t, random_along(seed, 16, false));
    if (whole(seed, 17, 0, 2) == 0)
        random_lengths(&t, !same_for_all && whole(seed, 18, 0, 1));
    t.mask.causal = kind != TR_ATTENTION_LOW_RANK && whole(seed, 19, 0, 2) == 0;
    t.mask.position = whole(seed, 30, 0, 1) ? 0 : whole(seed, 31, 0, 50);
    return t;
}

/* ----------------------------------------------------------------------------------------------------------------- calls */

size_t out_size(const trial *t)
{
    return (size_t)(t->shape.batch * t->shape.heads * t->shape.queries * t->shape.d_v);
}

int64_t columns_of(const trial *t)
{
    return tr_attention_columns(&t->shape, &t->options);
}

size_t weights_size(const trial *t)
{
    return (size_t)(t->shape.batch * t->shape.heads * t->shape.queries * columns_of(t));
}

enum { EDGE = 32 }; /* floats before and after a result */
static const float edge_value = -12345.5f;

static float *edged(size_t n)
{
    float *memory = reserve(n + 2 * EDGE, sizeof *memory);
    for (size_t i = 0; i < n + 2 * EDGE; i++)
        memory[i] = edge_value;
    return memory;
}

/* Copies the result out of its guarded memory, whose guards must be unchanged. */
static void take(const trial *t, float *memory, float *result, size_t n)
{
    for (size_t i = 0; i < EDGE; i++)
        if (memory[i] != edge_value || memory[n + EDGE + i] != edge_value)
            fail_msg("%s: writes outside of its result", describe_trial(t));
    memcpy(result, memory + EDGE, n * sizeof *result);
    free(memory);
}

void attend(const trial *t, float *out, float *weights)
{
    float *edged_out = edged(out_size(t)), *edged_weights = weights ? edged(weights_size(t)) : NULL;
    tr_error error;
    if (tr_attention_forward(&t->shape, &t->options, &t->mask, t->element, t->q, t->k, t->v, edged_out + EDGE,
                             weights ? edged_weights + EDGE : NULL, &error))
        fail_msg("%s: %s", describe_trial(t), error.message);
    take(t, edged_out, out, out_size(t));
    if (weights)
        take(t, edged_weights, weights, weights_size(t));
}

float *attended(const trial *t)
{
    float *out = reserve(out_size(t), sizeof *out);
    attend(t, out, NULL);
    return out;
}

void expect_bits(const char *what, const float *got, const float *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&got[i], &wanted[i], sizeof *got) != 0)
            fail_msg("%s: element %zu is %.9g, not %.9g", what, i, got[i], wanted[i]);
}

void expect_near(const char *what, const float *got, const double *wanted, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(wanted[i]) ? !isnan(got[i]) : !(fabs((double)got[i] - wanted[i]) <= tolerance))
            fail_msg("%s: element %zu is %.9g, not %.9g", what, i, got[i], wanted[i]);
}

const char *kind_name(tr_attention_kind kind)
{
    static const char *const names[] = {"exact", "local", "block-sparse", "linear", "low-rank"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

const char *describe_trial(const trial *t)
{
    static char text[512];
    const tr_attention_shape *s = &t->shape;
    const tr_attention_options *o = &t->options;
    const tr_attention_mask *m = &t->mask;
    snprintf(
        text, sizeof text,
        "seed %llu, %s %s, %lld x %lld heads, %lld of %lld, sizes %lld and %lld, window %lld, block %lld/%lld/%lld/%lld, "
        "rank %lld, pool %lld, threads %d, tile %lld,%s%s%s%s%s position %lld",
        (unsigned long long)t->seed, kind_name(o->kind), t->element == TR_ELEMENT_BF16 ? "bf16" : "f32", (long long)s->batch,
        (long long)s->heads, (long long)s->queries, (long long)s->keys, (long long)s->d_k, (long long)s->d_v,
        (long long)o->window, (long long)o->block, (long long)o->local_blocks, (long long)o->random_blocks,
        (long long)o->global_tokens, (long long)o->rank, (long long)o->pool, o->threads, (long long)o->tile,
        m->allowed ? " allowed" : "", m->additive ? " additive" : "", m->prior ? " prior" : "", m->lengths ? " lengths" : "",
        m->causal ? " causal" : "", (long long)m->position);
    return text;
}
