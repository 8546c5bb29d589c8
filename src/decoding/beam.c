#include "decoding/beam.h"

#include <math.h>

#include "decoding/stopping.h"
#include "decoding/score.h"
#include "util/numbers.h"

/* The best continuations of a beam's hypotheses, best first; of equal ones that of the better hypothesis. Returns how many
 * there are, at most `limit`; -1: NaN. */
static int best_continuations(const tr_candidates *c, const tr_beam *beam, tr_continuation *next, int limit)
{
    int counts[TR_MAX_BEAM], used[TR_MAX_BEAM], found = 0;
    for (int i = 0; i < beam->live_count; i++) {
        used[i] = 0;
        counts[i] = tr_candidates_take(c, beam->first_row + i, c->taken + i * c->max_candidates);
        if (counts[i] < 0)
            return -1;
    }
    for (; found < limit; found++) {
        tr_continuation best = {.hyp = -1};
        for (int i = 0; i < beam->live_count; i++) {
            if (used[i] == counts[i])
                continue;
            const tr_candidate *token = &c->taken[i * c->max_candidates + used[i]];
            const float sum = beam->live[i]->sum + token->value;
            if (best.hyp < 0 || sum > best.sum)
                best = (tr_continuation){i, sum, token->id, token->log_probability};
        }
        if (best.hyp < 0)
            break;
        used[best.hyp]++;
        next[found] = best;
    }
    return found;
}

/* A hypothesis is finished with one more token: EOS, or the last one within the length limit. */
static void finish_hyp(const tr_search *s, const tr_slot *slot, tr_beam *beam, const tr_live_hyp *hyp, int32_t id,
                       float log_probability, float sum)
{
    const bool eos = id == s->config->eos_id;
    tr_beam_add_finished(beam, s->shape.finished, hyp,
                         (tr_hyp_end){.length = slot->step,
                                      .last = eos ? -1 : id,
                                      .finished = eos,
                                      .log_probability = log_probability,
                                      .score = tr_hyp_score(s, slot->sequence, hyp, sum, slot->step + 1)});
}

/* No token may come: all hypotheses end with EOS, whose log-probability counts 0. */
static void finish_all(const tr_search *s, const tr_hyp_memory *h, tr_slot *slot, tr_beam *beam)
{
    for (int i = 0; i < beam->live_count; i++)
        finish_hyp(s, slot, beam, beam->live[i], s->config->eos_id, 0, beam->live[i]->sum);
    tr_beam_end(h, slot, beam);
}

/* Whether no live hypothesis, of `length` tokens, can become one of the best finished ones, as far as options.stopping wants
 * to know. */
static bool is_settled(const tr_search *s, const tr_sequence *seq, const tr_beam *beam, int length)
{
    if (beam->finished_count < s->shape.finished)
        return false;
    const float worst = beam->finished[beam->finished_count - 1]->score, best_sum = beam->live[0]->sum;
    switch (s->options.stopping) {
    case TR_STOP_EARLY: return true;
    case TR_STOP_NEVER: /* the coverage can still become complete */
        return !(tr_length_normalised(s, seq, best_sum, s->options.length_penalty > 0 ? tr_max_hyp_length(s, seq) : length) >
                 worst);
    case TR_STOP_HEURISTIC: break;
    }
    const int count = s->shape.coverage ? beam->live_count : 1; /* without coverage the first has the best score */
    for (int i = 0; i < count; i++)
        if (tr_hyp_score(s, seq, beam->live[i], beam->live[i]->sum, length) > worst)
            return false;
    return true;
}

tr_status tr_beam_advance(const tr_search *s, const tr_hyp_memory *h, const tr_candidates *c, tr_slot *slot, tr_beam *beam,
                          tr_error *error)
{
    tr_continuation next[2 * TR_MAX_BEAM];
    const int width = s->shape.width, length = slot->step + 1;
    const bool last = length == tr_max_hyp_length(s, slot->sequence);
    const int count = best_continuations(c, beam, next, 2 * width);
    if (count < 0)
        return tr_fail_numeric(error);
    if (count == 0) {
        finish_all(s, h, slot, beam);
        return TR_OK;
    }
    int live = 0;
    for (int i = 0; i < count; i++) {
        const bool ends = last || next[i].id == s->config->eos_id;
        if (ends && i < width)
            finish_hyp(s, slot, beam, beam->live[next[i].hyp], next[i].id, next[i].log_probability, next[i].sum);
        else if (!ends && live < width)
            next[live++] = next[i];
    }
    if (!live) {
        tr_beam_end(h, slot, beam);
        return TR_OK;
    }
    const tr_status status = tr_beam_continue(h, slot, beam, next, live, error);
    if (status != TR_OK)
        return status;
    if (is_settled(s, slot->sequence, beam, length))
        tr_beam_end(h, slot, beam);
    else
        tr_beam_cut_at_limit(s, h, slot, beam, length);
    return TR_OK;
}

/* -------------------------------------------------------------------------------------------------------- alternatives */

/* A beam begins with a token after the hypothesis `before`, whose memory it takes over or copies. */
static tr_status begin_alternative(const tr_search *s, const tr_hyp_memory *h, tr_slot *slot, tr_beam *beam,
                                   tr_live_hyp *before, const tr_candidate *token, bool takes_over, tr_error *error)
{
    tr_live_hyp *hyp = before;
    if (token->id == s->config->eos_id || slot->step + 1 == tr_max_hyp_length(s, slot->sequence)) {
        finish_hyp(s, slot, beam, before, token->id, token->log_probability, before->sum + token->log_probability);
        if (takes_over)
            tr_beam_end(h, slot, beam);
        return TR_OK;
    }
    if (!takes_over) {
        const tr_status status = tr_live_hyp_fork(h, slot, before, &hyp, error);
        if (status != TR_OK)
            return status;
        beam->live[beam->live_count++] = hyp;
    }
    tr_live_hyp_append(hyp, slot->step, token->id, token->log_probability, token->log_probability);
    tr_beam_cut_at_limit(s, h, slot, beam, slot->step + 1);
    return TR_OK;
}

tr_status tr_alternatives_begin(const tr_search *s, const tr_hyp_memory *h, const tr_candidates *c, tr_slot *slot,
                                tr_error *error)
{
    tr_beam *first = &slot->beams[0];
    tr_live_hyp *before = first->live[0];
    const float least = s->options.alternatives_min > 0 ? (float)tr_log(s->options.alternatives_min) : -INFINITY;
    const int count = tr_candidates_take(c, slot->first_row, c->taken);
    tr_status status = TR_OK;
    if (count < 0)
        return tr_fail_numeric(error);
    if (count == 0) {
        finish_all(s, h, slot, first);
        return TR_OK;
    }
    for (int i = 1; i < count && i < s->shape.beams && c->taken[i].log_probability >= least && status == TR_OK; i++)
        status = begin_alternative(s, h, slot, &slot->beams[i], before, &c->taken[i], false, error);
    return status == TR_OK ? begin_alternative(s, h, slot, first, before, &c->taken[0], true, error) : status;
}
