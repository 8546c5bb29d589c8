#include "decoding/stopping.h"

#include "decoding/score.h"

/* --------------------------------------------------------------------------------------------------------------- loops */

/* The length of the longest end of tokens [count] that has this period, up to a limit. */
static int periodic_length(const int32_t *tokens, int count, int period, int limit)
{
    int same = period;
    while (same < limit && tokens[count - 1 - same + period] == tokens[count - 1 - same])
        same++;
    return same;
}

/* The shortest period of a loop at the end; 0: there is none. */
static int loop_period(const int32_t *tokens, int count)
{
    for (int period = 1; period <= TR_LOOP_MAX_PERIOD; period++) {
        const int times = TR_LOOP_MIN_REPEATS * period, needed = times < TR_LOOP_MIN_TOKENS ? TR_LOOP_MIN_TOKENS : times;
        if (needed > count)
            return 0;
        if (periodic_length(tokens, count, period, needed) == needed)
            return period;
    }
    return 0;
}

static bool is_among(int32_t token, const int32_t *tokens, int count)
{
    for (int i = 0; i < count; i++)
        if (tokens[i] == token)
            return true;
    return false;
}

/* The length of the longest end of tokens [count] with at most TR_LOOP_MAX_DISTINCT different tokens, up to a limit. */
static int few_distinct_length(const int32_t *tokens, int count, int limit)
{
    int32_t distinct[TR_LOOP_MAX_DISTINCT];
    int found = 0, length = 0;
    for (; length < count && length < limit; length++) {
        const int32_t token = tokens[count - 1 - length];
        if (is_among(token, distinct, found))
            continue;
        if (found == TR_LOOP_MAX_DISTINCT)
            break;
        distinct[found++] = token;
    }
    return length;
}

static bool has_few_distinct(const int32_t *tokens, int count)
{
    return count >= TR_LOOP_WINDOW && few_distinct_length(tokens, count, TR_LOOP_WINDOW) == TR_LOOP_WINDOW;
}

bool tr_is_looping(const int32_t *tokens, int count)
{
    return loop_period(tokens, count) || has_few_distinct(tokens, count);
}

int tr_length_before_loop(const int32_t *tokens, int count)
{
    const int period = loop_period(tokens, count);
    if (period)
        return count - periodic_length(tokens, count, period, count) + period;
    if (!has_few_distinct(tokens, count))
        return count;
    int left = count - few_distinct_length(tokens, count, count);
    const int32_t *first = tokens + left;
    while (!is_among(tokens[left], first, (int)(tokens + left - first)))
        left++;
    return left;
}

int tr_first_loop_end(const int32_t *tokens, int count)
{
    for (int end = 1; end <= count; end++)
        if (tr_is_looping(tokens, end))
            return end;
    return 0;
}

/* -------------------------------------------------------------------------------------------------------------- limits */

int tr_max_hyp_length(const tr_search *s, const tr_sequence *seq)
{
    return seq->max_length + (s->config->forced_last_id >= 0 && s->config->forced_last_id == s->config->eos_id);
}

/* scored: the length that scores are normalised by. */
static void cut_beam(const tr_search *s, const tr_hyp_memory *h, tr_slot *slot, tr_beam *beam, int length, int scored)
{
    for (int i = 0; i < beam->live_count; i++) {
        const tr_live_hyp *hyp = beam->live[i];
        const float score = s->probabilities ? tr_hyp_score(s, slot->sequence, hyp, hyp->sum, scored) : 0;
        tr_beam_add_finished(beam, s->shape.finished, hyp, (tr_hyp_end){.length = length, .last = -1, .score = score});
    }
    tr_beam_end(h, slot, beam);
}

void tr_beam_cut(const tr_search *s, const tr_hyp_memory *h, tr_slot *slot, tr_beam *beam, int length)
{
    cut_beam(s, h, slot, beam, length, length);
}

void tr_beam_cut_at_limit(const tr_search *s, const tr_hyp_memory *h, tr_slot *slot, tr_beam *beam, int length)
{
    tr_sequence *seq = slot->sequence;
    if (length == seq->max_length) {
        cut_beam(s, h, slot, beam, length, s->shape.width > 1 ? tr_max_hyp_length(s, seq) : length);
    } else if (seq->stop_loops && length >= s->min_length && tr_is_looping(beam->live[0]->tokens, length)) {
        seq->looped = true;
        cut_beam(s, h, slot, beam, length, length);
    }
}
