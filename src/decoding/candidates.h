/* What may come next in each row, and how likely it is: the logits in segments, of each the sum of exponentials and the
 * greatest; logits are never written as a whole. A segment's bounds depend on nothing, so that results do not depend on the
 * threads that share the segments. */
#ifndef TR_DECODING_CANDIDATES_H
#define TR_DECODING_CANDIDATES_H

#include "decoding/ensemble.h"
#include "decoding/shortlist.h"
#include "model/output.h"

/* Below this a token has probability 0: it is no candidate, so that a hypothesis's sum is finite. Only masks among a model's
 * weights, and damage, give it. */
#define TR_LEAST_LOG_PROBABILITY -1e30f

typedef struct tr_candidate {
    int32_t id;
    float value;           /* what it is chosen by: its logit or its log-probability, after what constraints do to it */
    float log_probability; /* the network's */
} tr_candidate;

/* What is asked about a row. */
typedef struct tr_logits_rules {
    bool skip;                            /* nothing: its token is known */
    const tr_shortlist_output *shortlist; /* NULL: any token */
    int32_t banned_eos;                   /* this one may not come (an end mark that is too early); -1 */
    const int32_t *banned;                /* [banned_count] nor may these */
    int banned_count;
    const int32_t *seen; /* [seen_count] these are less likely: see tr_search_options.repetition_penalty */
    float *seen_logits;  /* [seen_count] -inf, and then theirs */
    int seen_count;
    float penalty;
} tr_logits_rules;

typedef struct tr_candidates {
    const tr_ensemble *models;
    const tr_network *network; /* the first one */
    int max_candidates;        /* candidates of a row that are kept */
    bool by_logits;            /* they are chosen by their logits; else by their log-probabilities */
    const int32_t *forbidden;  /* [forbidden_count] in any row */
    int forbidden_count;
    int max_rows, max_threads, segments;
    tr_arena arena;         /* what follows */
    tr_logits_rules *rules; /* [rows_most] written by thread 0 before the step */
    tr_exp_sum *sums;       /* [rows_most, models, segments] */
    tr_top *tops;           /* [members_most, rows_most] */
    float *values;          /* [members_most, rows_most, most]: theirs */
    int32_t *ids;           /* the same */
    float *tiles;           /* [members_most, models > 1 ? 2 : 1, TILE] */
} tr_candidates;

/* For so many rows of which so many candidates are kept at most. The models must outlive it. */
tr_status tr_candidates_init(tr_candidates *c, const tr_ensemble *models, int threads, int rows, int most, tr_error *error);
void tr_candidates_free(tr_candidates *c); /* a zeroed struct is allowed */

/* All threads: what the rows yield, which are flows[m] of model m, by shares of the outputs. */
void tr_candidates_find(tr_candidates *c, tr_forward *fwds);

/* Behind a barrier: a row's candidates, the best first; returns how many, -1 if the network computed NaN. found [most] */
int tr_candidates_take(const tr_candidates *c, int threads, int row, tr_candidate *found);

/* y = weight x, or, with more, y = y + weight x: of n logits. */
void tr_logits_weigh(float weight, const float *x, float *y, size_t n, bool more);

/* The token that a row's output stands for; and what constraints do to all logits of a row, x [outputs]. */
int32_t tr_candidates_token(const tr_candidates *c, int row, int32_t output);
void tr_candidates_constrain(const tr_candidates *c, int row, float *x);

#endif
