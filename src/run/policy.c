#include "run/policy.h"

#include "decoding/stopping.h"
#include "run/requests.h"
#include "util/numbers.h"

/* Constraints of the second attempt: what helped most on 59 development lines on which the default model loops, in chrF
 * against their references (n-grams of 2 to 4 and penalties of 1.1 to 1.5, alone and together). */
enum { RETRY_NGRAM = 3 };
static const float retry_penalty = 1.1F;

/* Target tokens of the second attempt, at most: RETRY_FACTOR for each of the source's, and RETRY_OFFSET more. A translation
 * that goes wrong under these constraints seldom reaches EOS by itself. */
enum { RETRY_FACTOR = 3, RETRY_OFFSET = 32 };

/* ----------------------------------------------------------------------------------------------------- the first attempt */

/* The fewest tokens that a target may be limited to: those that are given or asked for. */
static int shortest_target(const tr_policy *policy, const tr_sequence *sequence)
{
    return tr_max_int(sequence->prefix_length + policy->given, policy->min_length);
}

static void limit_length(const tr_policy *policy, int limit, tr_sequence *sequence)
{
    if (sequence->max_length > limit)
        sequence->max_length = tr_max_int(limit, tr_min_int(shortest_target(policy, sequence), sequence->max_length));
}

void tr_policy_start(const tr_policy *policy, const tr_request *request, tr_sequence *sequence)
{
    const tr_search_options *search = policy->search;
    const float by_model = policy->length_factor * (float)request->source_length;
    const double by_options = (double)search->max_length_factor * request->source_tokens + (double)search->max_length_offset;
    sequence->no_strays = !policy->loop_guard;
    sequence->no_repeat_ngram = 0;
    sequence->repetition_penalty = 0;
    sequence->stop_loops = request->piece || policy->loop_guard;
    sequence->max_length = policy->max_length;
    if (request->piece)
        limit_length(policy, TR_PIECE_TARGET, sequence);
    if (policy->length_factor != 0 && by_model < (float)sequence->max_length)
        limit_length(policy, by_model < 1 ? 1 : (int)by_model, sequence);
    if (search->max_length_factor > 0 && by_options < sequence->max_length)
        limit_length(policy, by_options < 1 ? 1 : (int)by_options, sequence);
}

/* ---------------------------------------------------------------------------------------------------- the second attempt */

static bool has_loop(const tr_sequence *sequence)
{
    return tr_first_loop_end(sequence->results[0].tokens, sequence->results[0].count) > 0;
}

bool tr_policy_wants_retry(const tr_policy *policy, const tr_sequence *sequence)
{
    return policy->loop_guard && (sequence->strayed || has_loop(sequence));
}

/* Recomputes the sum and score of a truncated hypothesis. Coverage of the kept tokens and what a repetition penalty made of
 * their log-probabilities were not recorded, so these are left out. */
static void rescore(tr_hypothesis *h, const tr_search_options *search, int prefix_length)
{
    h->log_probability = 0;
    for (size_t i = 0; i < h->count; i++)
        h->log_probability += h->log_probabilities[i];
    const int counted = tr_max_int((int)h->count - prefix_length, 1); /* as tr_length_normalised */
    h->score = (float)(h->log_probability / tr_exp(search->length_penalty * tr_log(counted)));
}

/* Copies the best hypothesis, without its loop if it has one, but no shorter than the tokens that were given or asked for.
 */
static tr_status keep_start(const tr_policy *policy, const tr_sequence *sequence, tr_hypotheses *kept, tr_error *error)
{
    const tr_search_result *found = &sequence->results[0];
    const tr_status status = tr_hypotheses_copy(found, 1, kept, error);
    if (status != TR_OK || !has_loop(sequence))
        return status;
    const int left = tr_length_before_loop(found->tokens, tr_first_loop_end(found->tokens, found->count));
    const int cut = tr_max_int(left, shortest_target(policy, sequence));
    tr_hypothesis *h = &kept->items[0];
    h->count = (size_t)(cut < found->count ? cut : found->count);
    h->finished = false;
    if (h->log_probabilities)
        rescore(h, policy->search, sequence->prefix_length);
    return TR_OK;
}

tr_status tr_policy_retry(const tr_policy *policy, tr_sequence *sequence, tr_hypotheses *kept, tr_error *error)
{
    const int ngram = policy->search->no_repeat_ngram;
    const float penalty = policy->search->repetition_penalty;
    const tr_status status = keep_start(policy, sequence, kept, error);
    if (status != TR_OK)
        return status;
    sequence->no_strays = sequence->strayed;
    if (!has_loop(sequence))
        return TR_OK;
    sequence->no_repeat_ngram = ngram && ngram < RETRY_NGRAM ? ngram : RETRY_NGRAM;
    sequence->repetition_penalty = penalty > retry_penalty ? penalty : retry_penalty;
    limit_length(policy, RETRY_FACTOR * sequence->source_length + RETRY_OFFSET + sequence->prefix_length, sequence);
    return TR_OK;
}

bool tr_policy_had_loop(const tr_sequence *sequence)
{
    return sequence->no_repeat_ngram > 0;
}

bool tr_policy_retry_helped(const tr_sequence *sequence)
{
    return (sequence->finished || !tr_policy_had_loop(sequence)) && !has_loop(sequence);
}
