/* Sampling: tokens are drawn by their probability. A draw depends on the seed, the sentence, the number of the draw and the
 * step alone (a counter in place of a generator's state: Salmon et al., 2011), and all arithmetic is the same everywhere, so
 * that a seed gives the same text on every machine, with any threads and batch. */
#ifndef TR_DECODING_SAMPLE_H
#define TR_DECODING_SAMPLE_H

#include "decoding/candidates.h"

/* One row's draw. */
typedef struct tr_draw {
    uint64_t key; /* tr_sample_key */
    int number;   /* which of the sentence's draws */
    int step;
    tr_candidate drawn; /* out */
    bool nan;           /* out: the network computed NaN */
} tr_draw;

typedef struct tr_sampler {
    const tr_candidates *candidates; /* has the rows' rules */
    int outputs;
    tr_arena arena;
    tr_draw *draws;   /* [rows] written by thread 0 before the step */
    float *logits;    /* [models, DRAWN_ROWS, outputs] */
    int32_t *heaps;   /* [threads, outputs] */
    float *weights;   /* [threads, outputs] */
    float *mixed;     /* [threads, outputs] with several models; else NULL */
    float *scaled;    /* [threads, outputs] */
    tr_exp_sum *sums; /* [threads, segments] */
} tr_sampler;

/* Reserves memory for the rows of candidates, which must outlive it. */
tr_status tr_sampler_init(tr_sampler *sampler, const tr_candidates *candidates, int threads, tr_error *error);
void tr_sampler_free(tr_sampler *sampler); /* a zeroed struct is allowed */

/* The key of all draws of a sentence. */
uint64_t tr_sample_key(uint64_t seed, const int32_t *source, int length);

/* All threads: draws a token for each row from the weighted logits of all models; fwds[m] has model m's rows. Barriers
 * inside. */
void tr_sampler_draw(tr_sampler *sampler, const tr_search_options *search, tr_forward *fwds);

#endif
