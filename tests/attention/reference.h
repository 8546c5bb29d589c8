/* Attention by the formulas of translate/attention.h: dense, in double precision, nothing done twice at once. */
#ifndef TR_TESTS_ATTENTION_REFERENCE_H
#define TR_TESTS_ATTENTION_REFERENCE_H

#include "fixture.h"

/* What a head's query sees by the kind alone. The random blocks of block-sparse attention are asked of tr_attention_pattern:
 * a test of its own looks at those. To be freed: [heads, queries, keys]. */
bool *reference_pattern(const trial *t);

/* Whether query i of batch b and head h may attend to key j, and what is added to its score; pattern as above. */
bool reference_allows(const trial *t, const bool *pattern, int64_t b, int64_t h, int64_t i, int64_t j);
double reference_bias(const tr_attention_mask *mask, int64_t b, int64_t h, int64_t i, int64_t j);

/* Of the trial's operands, or of others of its shape: out [batch, heads, queries, d_v], weights [batch, heads,
 * queries, columns]. */
void reference_attention(const trial *t, double *out, double *weights);
void reference_of(const trial *t, const double *q, const double *k, const double *v, double *out, double *weights);

/* x[0..n) in double precision, to be freed. */
double *widened_all(tr_element element, const void *x, size_t n);

/* The trial's result and weights are those of the formulas. */
void expect_reference(const trial *t, double tolerance);

#endif
