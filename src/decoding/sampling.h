/* Sampling: tokens drawn by their probability. A draw depends on the seed, the sentence, the number of the draw and the step
 * alone (a counter in place of a generator's state: Salmon et al., 2011), and all arithmetic is the same everywhere, so that
 * the same seed gives the same text on every machine, with any threads and batch. */
#ifndef TR_DECODING_SAMPLING_H
#define TR_DECODING_SAMPLING_H

#include "decoding/candidates.h"

/* What a row's draw depends on. */
typedef struct tr_draw {
    uint64_t key; /* tr_draw_key */
    int lane, step;
    tr_candidate drawn; /* out: id -1: nothing may come */
    bool nan;           /* out */
} tr_draw;

typedef struct tr_sampler {
    tr_candidates *candidates; /* what is asked about the rows */
    int outputs;
    tr_arena arena;   /* what follows */
    tr_draw *draws;   /* [rows] */
    float *logits;    /* [models, DRAWN_ROWS, outputs] */
    int32_t *heaps;   /* [threads, outputs] */
    float *weights;   /* [threads, outputs] */
    float *mixed;     /* [threads, outputs], where there are several models; else NULL */
    float *scaled;    /* [threads, outputs] */
    tr_exp_sum *sums; /* [threads, segments] */
} tr_sampler;

tr_status tr_sampler_init(tr_sampler *sampler, tr_candidates *candidates, int threads, int rows, tr_error *error);
void tr_sampler_free(tr_sampler *sampler); /* a zeroed struct is allowed */

/* All threads: draws for the rows, which are flows[m] of model m; with barriers inside. Several models' weighted logits are
 * drawn from as one's. */
void tr_sampler_draw(tr_sampler *sampler, const tr_search_options *search, tr_forward *fwds);
/* Behind a barrier. False: NaN. */
static inline bool tr_sampler_drawn(const tr_sampler *sampler, int row, tr_candidate *drawn)
{
    *drawn = sampler->draws[row].drawn;
    return !sampler->draws[row].nan;
}

/* Of a seed and a source. */
uint64_t tr_draw_key(uint64_t seed, const int32_t *source, int length);

#endif
