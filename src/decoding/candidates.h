/* The most likely next tokens of each row, with their log-probabilities. Logits are computed in segments of the outputs; of
 * each segment the sum of exponentials and the greatest logits are kept, and the logits of all outputs are never in memory
 * together. A segment's bounds are fixed, so that results do not depend on how threads share the segments. */
#ifndef TR_DECODING_CANDIDATES_H
#define TR_DECODING_CANDIDATES_H

#include "decoding/rules.h"

typedef struct tr_candidates {
    const tr_ensemble *models;
    const tr_network *network; /* the first model's */
    int max_candidates;        /* of a row */
    bool by_logits;            /* candidates are chosen by their logits; else by their log-probabilities */
    const tr_forbidden *forbidden;
    int threads; /* that share the outputs */
    int max_rows, positions, segments;
    tr_arena arena;
    tr_logits_rules *rules; /* [max_rows] written by thread 0 before the step */
    int32_t *banned;        /* [max_rows, positions] memory for rules */
    float *seen_logits;     /* [max_rows, positions] likewise */
    tr_exp_sum *sums;       /* [max_rows, models, segments] */
    tr_top *tops;           /* [threads, max_rows] */
    float *values;          /* [threads, max_rows, max_candidates] memory for tops */
    int32_t *ids;           /* [threads, max_rows, max_candidates] likewise */
    float *tiles;           /* [threads, models > 1 ? 2 : 1, rows of a tile, TR_LOGITS_SEGMENT] */
    tr_candidate *taken;    /* [hypotheses of a beam, max_candidates] memory for results of tr_candidates_take */
} tr_candidates;

typedef struct tr_candidates_size {
    int threads, rows, width, max_candidates, positions; /* each at most */
} tr_candidates_size;

/* Reserves memory; models and forbidden must outlive it. */
tr_status tr_candidates_init(tr_candidates *c, const tr_ensemble *models, const tr_forbidden *forbidden,
                             tr_candidates_size size, tr_error *error);
void tr_candidates_free(tr_candidates *c); /* a zeroed struct is allowed */

/* Thread 0, before a step: the rules for a row. */
void tr_candidates_set_rules(tr_candidates *c, const tr_search *s, int row, const tr_slot *slot, const tr_live_hyp *hyp,
                             const tr_shortlist_output *shortlist);

/* All threads: finds the candidates of the rows; fwds[m] are those of model m. */
void tr_candidates_find(tr_candidates *c, tr_forward *fwds);

/* Thread 0, after a barrier: writes a row's candidates to found [max_candidates], best first, and returns how many there
 * are; -1 if the network computed NaN. */
int tr_candidates_take(const tr_candidates *c, int row, tr_candidate *found);

/* y [n] = weight x, or, with add, y + weight x. */
void tr_logits_weigh(float weight, const float *x, float *y, size_t n, bool add);

/* The token of a row's output. */
int32_t tr_candidates_token(const tr_candidates *c, int row, int32_t output);
/* Applies a row's rules to all its logits, x [outputs]. */
void tr_candidates_apply_rules(const tr_candidates *c, int row, float *x);

#endif
