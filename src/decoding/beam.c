/* Beam search, step by step as Hugging Face's generate has it (transformers 5, GenerationMixin._beam_search), so that both
 * find the same: of the best 2 beam continuations of all hypotheses those that end, if they are among the first beam, are
 * complete, and the first beam of the others are followed. */
#include "decoding/worker.h"

#include <math.h>

#include "util/numbers.h"

float tr_length_normalised(const tr_worker *w, const tr_sequence *seq, float sum, int tokens)
{
    const int counted = tokens - seq->prefix_length;
    return (float)(sum / tr_exp(w->search.length_penalty * tr_log(counted < 1 ? 1 : counted)));
}

/* ------------------------------------------------------------------------------------------------- the best of all rows */

/* The best continuations of a lane's hypotheses, best first; of equals that of the better hypothesis. -1: NaN. */
static int best_continuations(tr_worker *w, const tr_beam *beam, int first_row, int wanted)
{
    const int most = w->candidates.max_candidates;
    int counts[TR_MAX_BEAM], used[TR_MAX_BEAM], found = 0;
    for (int p = 0; p < beam->live_count; p++) {
        used[p] = 0;
        counts[p] = tr_candidates_take(&w->candidates, w->ws->threads, first_row + p, w->lists + p * most);
        if (counts[p] < 0)
            return -1;
    }
    for (; found < wanted; found++) {
        tr_continuation best = {.path = -1};
        for (int p = 0; p < beam->live_count; p++) {
            if (used[p] == counts[p])
                continue;
            const tr_candidate *c = &w->lists[p * most + used[p]];
            const float sum = beam->live[p]->sum + c->value;
            if (best.path < 0 || sum > best.sum)
                best = (tr_continuation){p, sum, *c};
        }
        if (best.path < 0)
            break;
        used[best.path]++;
        w->next[found] = best;
    }
    return found;
}

/* --------------------------------------------------------------------------------------------------------------- ending */

/* Models that force an end mark behind the longest target count it. */
static int longest(const tr_worker *w, const tr_sequence *seq)
{
    const tr_config *c = &w->ws->network->config;
    return seq->max_length + (c->forced_last_id >= 0 && c->forced_last_id == c->eos_id);
}

/* One that is complete with a token more than its path has: the end mark, or the last one that there is room for. */
static void complete(tr_worker *w, const tr_slot *slot, tr_beam *beam, const tr_live_hyp *hyp, const tr_candidate *token,
                     float sum)
{
    const bool finished = token->id == w->ws->network->config.eos_id;
    tr_beam_add_finished(beam, w->shape.finished, hyp,
                         &(tr_hyp_end){.before = slot->step,
                                       .last = finished ? -1 : token->id,
                                       .finished = finished,
                                       .log_probability = token->log_probability,
                                       .score = tr_hyp_score(w, slot->sequence, hyp, sum, slot->step + 1)});
}

/* All that are followed are complete as they are, with so many tokens; counted: with a forced end mark. */
static void complete_all(tr_worker *w, const tr_sequence *seq, tr_beam *beam, int tokens, int counted)
{
    for (int p = 0; p < beam->live_count; p++) {
        const tr_live_hyp *hyp = beam->live[p];
        tr_beam_add_finished(
            beam, w->shape.finished, hyp,
            &(tr_hyp_end){.before = tokens, .last = -1, .score = tr_hyp_score(w, seq, hyp, hyp->sum, counted)});
    }
}

/* Nothing better can come of what is followed, as far as the search wants to know. length: tokens that these have. */
static bool is_settled(const tr_worker *w, const tr_sequence *seq, const tr_beam *beam, int length)
{
    if (beam->finished_count < w->shape.finished)
        return false;
    const float least = beam->finished[beam->finished_count - 1]->score, best_sum = beam->live[0]->sum;
    const bool longer = w->search.length_penalty > 0;
    switch (w->search.stopping) {
    case TR_STOP_EARLY: return true;
    case TR_STOP_NEVER: /* what is not covered still can be */
        return !(tr_length_normalised(w, seq, best_sum, longer ? longest(w, seq) : length) > least);
    case TR_STOP_HEURISTIC: break;
    }
    const int first = w->shape.coverage ? beam->live_count : 1; /* else the first has the best score as well */
    for (int p = 0; p < first; p++)
        if (tr_hyp_score(w, seq, beam->live[p], beam->live[p]->sum, length) > least)
            return false;
    return true;
}

/* Nothing at all may come: all end here. */
static void end_all(tr_worker *w, tr_slot *slot, tr_beam *beam)
{
    for (int p = 0; p < beam->live_count; p++) {
        const tr_live_hyp *hyp = beam->live[p];
        tr_beam_add_finished(beam, w->shape.finished, hyp,
                             &(tr_hyp_end){.before = slot->step,
                                           .last = -1,
                                           .finished = true,
                                           .score = tr_hyp_score(w, slot->sequence, hyp, hyp->sum, slot->step + 1)});
    }
    tr_beam_end(slot, beam, &w->pool);
}

void tr_beam_check_limits(tr_worker *w, tr_slot *slot, tr_beam *beam, int length)
{
    const tr_sequence *seq = slot->sequence;
    const tr_live_hyp *best = beam->live[0];
    bool over = is_settled(w, seq, beam, length);
    if (!over && length == seq->max_length) {
        complete_all(w, seq, beam, length, w->shape.width > 1 ? longest(w, seq) : length);
        over = true;
    } else if (!over && seq->stop_loops && length >= w->options.min_length && tr_is_looping(best->tokens, length)) {
        slot->sequence->looped = true;
        complete_all(w, seq, beam, length, length);
        over = true;
    }
    if (over)
        tr_beam_end(slot, beam, &w->pool);
}

void tr_beam_stop(tr_worker *w, tr_slot *slot, tr_beam *beam, int length)
{
    complete_all(w, slot->sequence, beam, length, length);
    tr_beam_end(slot, beam, &w->pool);
}

bool tr_beam_advance(tr_worker *w, tr_slot *slot, tr_beam *beam, int first_row)
{
    const tr_sequence *seq = slot->sequence;
    const int width = w->shape.width, length = slot->step + 1;
    const bool last = length == longest(w, seq);
    const int count = best_continuations(w, beam, first_row, 2 * width);
    if (count < 0)
        return tr_worker_fail_numeric(w);
    if (count == 0) {
        end_all(w, slot, beam);
        return true;
    }
    int going = 0;
    for (int i = 0; i < count; i++) {
        const bool ends = last || w->next[i].token.id == w->ws->network->config.eos_id;
        if (ends && i < width)
            complete(w, slot, beam, beam->live[w->next[i].path], &w->next[i].token, w->next[i].sum);
        else if (!ends && going < width)
            w->next[going++] = w->next[i];
    }
    if (!going)
        tr_beam_end(slot, beam, &w->pool);
    else if (!tr_beam_set_live(slot, beam, w->next, going, &w->hyps, &w->pool, &w->copies))
        return tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: no cache block left");
    else
        tr_beam_check_limits(w, slot, beam, length);
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- alternatives */

/* Whether a token behind so many others is the last of its hypothesis. */
static bool is_last(const tr_worker *w, const tr_slot *slot, int32_t id)
{
    return id == w->ws->network->config.eos_id || slot->step + 1 == longest(w, slot->sequence);
}

/* A lane begins with a token behind what another one has. */
static bool begin_lane(tr_worker *w, tr_slot *slot, tr_beam *beam, const tr_live_hyp *before, const tr_candidate *token)
{
    if (is_last(w, slot, token->id)) {
        complete(w, slot, beam, before, token, before->sum + token->log_probability);
        return true;
    }
    tr_live_hyp *hyp = tr_live_hyp_fork(slot, before, &w->hyps, &w->pool, &w->copies);
    if (!hyp)
        return tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: no cache block left");
    tr_live_hyp_append(hyp, slot->step, token->id, token->log_probability, token->log_probability);
    beam->live[0] = hyp;
    beam->live_count = 1;
    tr_beam_check_limits(w, slot, beam, slot->step + 1);
    return true;
}

bool tr_alternatives_begin(tr_worker *w, tr_slot *slot)
{
    tr_beam *first = &slot->beams[0];
    const float least = w->search.alternatives_min > 0 ? (float)tr_log(w->search.alternatives_min) : -INFINITY;
    const int count = tr_candidates_take(&w->candidates, w->ws->threads, slot->first_row, w->lists);
    if (count < 0)
        return tr_worker_fail_numeric(w);
    if (count == 0) {
        end_all(w, slot, first);
        return true;
    }
    for (int i = 1; i < count && i < w->shape.beams && w->lists[i].log_probability >= least; i++)
        if (!begin_lane(w, slot, &slot->beams[i], first->live[0], &w->lists[i]))
            return false;
    tr_live_hyp *hyp = first->live[0];
    const tr_candidate *best = &w->lists[0];
    if (is_last(w, slot, best->id)) {
        complete(w, slot, first, hyp, best, hyp->sum + best->log_probability);
        tr_beam_end(slot, first, &w->pool);
    } else {
        tr_live_hyp_append(hyp, slot->step, best->id, best->log_probability, best->log_probability);
        tr_beam_check_limits(w, slot, first, slot->step + 1);
    }
    return true;
}
