#include "pipeline/guard.h"

#include "decoding/policy.h"
#include "pipeline/hypotheses.h"
#include "util/numbers.h"

enum { FACTOR = 3, MORE = 32 }; /* target tokens of a second search, at most: by the source's, and more */

bool tr_guard_trips(const tr_sequence *sequence)
{
    return tr_first_loop_end(sequence->results[0].tokens, sequence->results[0].count) > 0;
}

void tr_guard_constrain(tr_sequence *sequence, const tr_search_options *search, int min_length)
{
    const int limit = FACTOR * sequence->source_length + MORE + sequence->prefix_length;
    const int ngram = search->no_repeat_ngram;
    sequence->no_repeat_ngram = ngram && ngram < TR_GUARD_NGRAM ? ngram : TR_GUARD_NGRAM;
    sequence->repetition_penalty =
        search->repetition_penalty > tr_guard_penalty ? search->repetition_penalty : tr_guard_penalty;
    if (sequence->max_length > limit)
        sequence->max_length = limit < min_length ? min_length : limit;
}

/* The sum of what is left, and what hypotheses of one length are compared by; what of the source the rest covers nobody
 * noted. */
static void score_again(tr_hypothesis *h, const tr_search_options *search)
{
    h->log_probability = 0;
    for (size_t i = 0; i < h->count; i++)
        h->log_probability += h->log_probabilities[i];
    if (h->count)
        h->score = (float)(h->log_probability / tr_exp(search->length_penalty * tr_log((double)h->count)));
}

tr_status tr_guard_keep(const tr_sequence *sequence, const tr_search_options *search, int least, tr_hypotheses *kept,
                        tr_error *error)
{
    const tr_search_result *found = &sequence->results[0];
    const tr_status status = tr_hypotheses_copy(found, 1, kept, error);
    if (status != TR_OK)
        return status;
    const int left = tr_length_before_loop(found->tokens, tr_first_loop_end(found->tokens, found->count));
    tr_hypothesis *h = &kept->items[0];
    const int cut = left < least ? least : left;
    h->count = (size_t)(cut < found->count ? cut : found->count);
    h->finished = false;
    if (h->log_probabilities)
        score_again(h, search);
    return TR_OK;
}
