/* What all searches read: the settings of the search at hand. Greedy search (greedy.c), beam search and alternatives
 * (beam.c) and sampling (sample.c) differ in how a step chooses tokens and what becomes of the hypotheses: all threads: the
 * decoder | the chosen tokens' share: tr_greedy_argmax, tr_sampler_draw, or tr_candidates_find | thread 0: each sentence's
 * tr_greedy_append, tr_beam_advance, or tr_alternatives_begin */
#ifndef TR_DECODING_SEARCH_H
#define TR_DECODING_SEARCH_H

#include "decoding/hypotheses.h"

typedef struct tr_search {
    tr_search_options options;
    bool probabilities;  /* log-probabilities are wanted, by the caller or by the search */
    tr_beam_shape shape; /* of each sentence */
    const tr_config *config;
    tr_decoder_start start; /* of the call at hand, as min_length */
    int min_length;
} tr_search;

/* Log-probability of tokens that no hypothesis gets: damaged weights, or masks among them, give lower ones than this. */
#define TR_LEAST_LOG_PROBABILITY -1e30f

/* A token that may come next. */
typedef struct tr_candidate {
    int32_t id;            /* -1: no token may come */
    float value;           /* what it is chosen by: its logit or log-probability, after a repetition penalty */
    float log_probability; /* the network's */
} tr_candidate;

static inline tr_status tr_fail_numeric(tr_error *error)
{
    return tr_fail(error, TR_ERROR_NUMERIC, "model: the network computes no valid numbers (damaged weights?)");
}

#endif
