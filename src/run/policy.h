/* How long a translation may become, and when a request is decoded again. The loop guard: a request whose best hypothesis
 * repeats itself (decoding/stopping.h) is decoded a second time, under constraints against repetition. If that does not
 * help, the first translation is kept up to its loop: what it repeats stays once. One with a symbol for a protected span
 * that its source does not have is decoded again without such symbols; without the loop guard, every request is decoded so,
 * which takes longer. */
#ifndef TR_RUN_POLICY_H
#define TR_RUN_POLICY_H

#include "decoding/decoding.h"
#include "text/request.h"

typedef struct tr_policy {
    const tr_search_options *search;
    int max_length, min_length; /* target tokens */
    float length_factor;        /* the model's own limit: target tokens for each of the source; 0: none */
    int given;                  /* tokens that each target is given at its front: a language */
    bool loop_guard;            /* false: none is decoded again, nor are samples, which are left as they were drawn */
} tr_policy;

/* Sets the limits and constraints of a sequence that is decoded the first time. */
void tr_policy_start(const tr_policy *policy, const tr_request *request, tr_sequence *sequence);

/* Whether a sequence that was decoded once has to be decoded again. */
bool tr_policy_wants_retry(const tr_policy *policy, const tr_sequence *sequence);

/* Copies to *kept what the first attempt leaves, and sets the limits and constraints of the second. */
tr_status tr_policy_retry(const tr_policy *policy, tr_sequence *sequence, tr_hypotheses *kept, tr_error *error);

/* Whether the first attempt looped, of a sequence that is decoded again. */
bool tr_policy_had_loop(const tr_sequence *sequence);

/* Whether a second attempt is better than what was kept of the first: it has no loop, and reached EOS if that one looped. */
bool tr_policy_retry_helped(const tr_sequence *sequence);

#endif
