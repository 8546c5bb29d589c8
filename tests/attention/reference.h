/* Attention by the formulas of translate/attention.h: dense, in double precision, without optimisation. */
#ifndef TR_TESTS_ATTENTION_REFERENCE_H
#define TR_TESTS_ATTENTION_REFERENCE_H

#include "fixture.h"

/* Which keys a head's query sees by the kind alone: [heads, queries, keys], for free(). The random blocks of block-sparse
 * attention come from tr_attention_pattern, which has a test of its own. */
bool *reference_pattern(const trial *t);

/* Whether query i of batch b and head h may attend to key j, and what is added to its score; pattern as above. */
bool reference_allows(const trial *t, const bool *pattern, int64_t b, int64_t h, int64_t i, int64_t j);
double reference_bias(const tr_attention_mask *mask, int64_t b, int64_t h, int64_t i, int64_t j);

/* Attention on the trial's operands, or on others of its shape: out [batch, heads, queries, d_v], weights [batch, heads,
 * queries, columns]. */
void reference_attention(const trial *t, double *out, double *weights);
void reference_of(const trial *t, const double *q, const double *k, const double *v, double *out, double *weights);

/* x[0..n) in double precision, for free(). */
double *widened_all(tr_element element, const void *x, size_t n);

/* The trial's result and weights must be those of the formulas. */
void expect_reference(const trial *t, double tolerance);

#endif
