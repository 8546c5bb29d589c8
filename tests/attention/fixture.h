/* Calls of the attention functions with operands that are generated from a seed: the same numbers here and in
 * make_fixtures.py. */
#ifndef TR_TESTS_ATTENTION_FIXTURE_H
#define TR_TESTS_ATTENTION_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <translate/attention.h>

/* What a sequence of random numbers is used for: each use has its own sequence. */
enum stream {
    STREAM_Q,
    STREAM_K,
    STREAM_V,
    STREAM_ALLOWED,
    STREAM_ADDITIVE,
    STREAM_ADDITIVE_FORBIDS,
    STREAM_PRIOR,
    STREAM_PRIOR_FORBIDS,
    STREAM_KEY_PROJECTION,
    STREAM_VALUE_PROJECTION,
    STREAM_LENGTHS,
    STREAM_LAYER, /* eight: weight and bias of query, key, value and output */
    STREAM_SHAPE = 24,
    STREAMS = 32
};

/* Number `index` of a sequence: -1 <= x < 1, a multiple of 2^-23. */
float number(uint64_t seed, enum stream stream, uint64_t index);
/* Whole numbers low .. high. */
int64_t whole(uint64_t seed, uint64_t index, int64_t low, int64_t high);

/* Allocated with exactly their size, so that AddressSanitizer sees a read beyond it; free() them. */
void *reserve(size_t n, size_t size);
float *numbers(uint64_t seed, enum stream stream, size_t n, float scale);
void *as_element(tr_element element, const float *x, size_t n);
double widened(tr_element element, const void *x, int64_t index);

/* One call of tr_attention_forward. It owns what it points to. */
typedef struct trial {
    tr_attention_shape shape;
    tr_attention_options options;
    tr_attention_mask mask;
    tr_element element;
    uint64_t seed;
    void *q, *k, *v;
} trial;

/* q, k and v of shape, q multiplied by scale. With projections if options have a rank. */
trial make_trial(tr_attention_shape shape, tr_attention_options options, tr_element element, uint64_t seed, float scale);
void free_trial(trial *t);

/* Masks whose elements differ along what `along` names: some of "bhq" for batches, heads and queries. Of those that differ
 * by query, each fifth query is allowed nothing. */
void allow_some(trial *t, const char *along);
void add_some(trial *t, const char *along);
void add_prior(trial *t, const char *along);
void limit(trial *t, const int64_t *lengths, bool by_query);

/* All sizes from 1 on, every kind, masks of every kind; the same for the same seed. */
trial random_trial(uint64_t seed);

size_t out_size(const trial *t);
int64_t columns_of(const trial *t);
size_t weights_size(const trial *t);

/* Calls tr_attention_forward, which must succeed and write nothing around its results; weights may be NULL. */
void attend(const trial *t, float *out, float *weights);
/* The same into allocated memory; free() it. */
float *attended(const trial *t);

/* The same bits, NaN or not. */
void expect_bits(const char *what, const float *got, const float *wanted, size_t n);
/* Within tolerance of each other, NaN where NaN is. */
void expect_near(const char *what, const float *got, const double *wanted, size_t n, double tolerance);

/* "exact, 2 x 3 heads, 4 of 5 ...": only the last result is valid. */
const char *describe_trial(const trial *t);
const char *kind_name(tr_attention_kind kind);

#endif
