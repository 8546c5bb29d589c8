/* An alignment model: which token of one side explains each token of the other. IBM model 2 with a prior for the diagonal in
 * place of a table of positions (Dyer, Chahuneau and Smith, 2013, "A Simple, Fast, and Effective Reparameterization of IBM
 * Model 2": fast_align), learned by expectation maximisation. With explained tokens e of a sentence of n, given tokens g of
 * one of m: p(e_j) = null p(e_j | nothing) + (1 - null) sum over i of d(i | j) t(e_j | g_i),   d ~ e^(-tension |i / m - j /
 * n|) and, in t, Dirichlet priors by variational Bayes. A tension of 0 makes it IBM model 1 (Brown et al., 1993). */
#ifndef TR_ALIGN_MODEL_H
#define TR_ALIGN_MODEL_H

#include <stdatomic.h>

#include "align/candidates.h"

typedef struct tr_align_settings {
    int iterations; /* >= 1 */
    double tension, null;
    double alpha; /* of the Dirichlet prior; 0: plain expectation maximisation */
} tr_align_settings;

/* The settings of fast_align: 5, 4, 0.08, 0.01. */
tr_align_settings tr_align_default(void);

/* Progress of all iterations; called from thread 0. Non-zero: stop. */
typedef int tr_align_progress(void *argument, uint64_t done, uint64_t total);

typedef struct tr_align_model {
    tr_align_candidates candidates;
    float *t;                 /* of each candidate: t(e | g) */
    _Atomic uint64_t *counts; /* of each candidate: expected number of times that g explains e, by the t before, times
                                 TR_ALIGN_UNIT: whole numbers, so that their sum does not depend on the order */
    float *null_t;            /* [explained] */
    _Atomic uint64_t *null_counts;
} tr_align_model;

#define TR_ALIGN_UNIT 4294967296.0 /* 2^32 */

/* Learns from all pairs. The results do not depend on the number of threads. TR_ERROR_CANCELLED: by progress (NULL is
 * allowed). TR_ERROR_MEMORY. */
tr_status tr_align_learn(const tr_parallel *text, int given, const int vocabulary[2], const tr_align_settings *settings,
                         tr_team *team, tr_align_progress *progress, void *argument, tr_align_model *model, tr_error *error);
void tr_align_free(tr_align_model *model);

static inline double tr_align_count(const tr_align_model *model, size_t candidate)
{
    return (double)atomic_load_explicit(&model->counts[candidate], memory_order_relaxed) / TR_ALIGN_UNIT;
}

#endif
