/* Behind a step: what the hypotheses of a sentence become. */
#include "decoding/worker.h"

#include <string.h>

/* Whoever wants to see tokens is told one. False: stopped. */
static bool tell(tr_worker *w, tr_slot *slot, tr_beam *beam, int32_t id, float log_probability)
{
    const tr_decoded_token step = {.sequence = slot->sequence,
                                   .draw = (int)(beam - slot->beams),
                                   .step = slot->step,
                                   .id = id,
                                   .log_probability = w->probabilities ? log_probability : 0,
                                   .last = !beam->live_count};
    const int answer = w->callbacks->token(w->callbacks->argument, &step);
    if (answer > 0 && beam->live_count)
        tr_beam_stop(w, slot, beam, slot->step + 1);
    return answer >= 0 || tr_worker_fail(w, TR_ERROR_CANCELLED, "decoding: cancelled");
}

/* The token is the same for all. */
static bool append_forced(tr_worker *w, tr_slot *slot, int32_t id)
{
    for (int l = 0; l < w->shape.beams; l++) {
        tr_beam *beam = &slot->beams[l];
        if (!beam->live_count)
            continue;
        for (int p = 0; p < beam->live_count; p++)
            tr_live_hyp_append(beam->live[p], slot->step, id, 0, 0);
        tr_beam_check_limits(w, slot, beam, slot->step + 1);
        if (w->callbacks->token && !tell(w, slot, beam, id, 0))
            return false;
    }
    return true;
}

/* A lane of one hypothesis gets its best token, or the one that was drawn. Where nothing at all may come, the end does. */
static bool advance_one(tr_worker *w, tr_slot *slot, tr_beam *beam, int row)
{
    tr_candidate token;
    tr_live_hyp *hyp = beam->live[0];
    if (!(w->search.sample ? tr_sampler_drawn(&w->sampler, row, &token) || tr_worker_fail_numeric(w)
                           : tr_worker_best_token(w, row, &token)))
        return false;
    if (token.id >= 0 && token.id != w->ws->network->config.eos_id) {
        tr_live_hyp_append(hyp, slot->step, token.id, token.log_probability, token.log_probability);
        tr_beam_check_limits(w, slot, beam, slot->step + 1);
        return !w->callbacks->token || tell(w, slot, beam, token.id, token.log_probability);
    }
    const float score = tr_hyp_score(w, slot->sequence, hyp, hyp->sum + token.log_probability, slot->step + 1);
    tr_beam_add_finished(
        beam, w->shape.finished, hyp,
        &(tr_hyp_end){slot->step, -1, true, token.log_probability, w->needs_candidates || w->search.sample ? score : 0});
    tr_beam_end(slot, beam, &w->pool);
    return !w->callbacks->token || tell(w, slot, beam, w->ws->network->config.eos_id, token.log_probability);
}

static bool advance_lanes(tr_worker *w, tr_slot *slot)
{
    int row = slot->first_row;
    for (int l = 0; l < w->shape.beams; l++) {
        tr_beam *beam = &slot->beams[l];
        const int rows = beam->live_count;
        if (rows && !(w->shape.width > 1 ? tr_beam_advance(w, slot, beam, row) : advance_one(w, slot, beam, row)))
            return false;
        row += rows;
    }
    return true;
}

/* The first token behind the prefix. */
static bool is_first_free(const tr_worker *w, const tr_slot *slot)
{
    return slot->step == slot->sequence->prefix_length + (w->start.first_id >= 0);
}

bool tr_worker_advance(tr_worker *w, tr_slot *slot, bool *complete)
{
    const int32_t forced = tr_worker_forced(w, slot);
    bool good = true;
    if (forced >= 0)
        good = append_forced(w, slot, forced);
    else if (w->search.alternatives && is_first_free(w, slot))
        good = tr_alternatives_begin(w, slot);
    else
        good = advance_lanes(w, slot);
    slot->step++;
    *complete = true;
    for (int l = 0; l < w->shape.beams; l++)
        *complete = *complete && !slot->beams[l].live_count;
    return good;
}

/* ----------------------------------------------------------------------------------------------------------- handing over
 */

static tr_search_result found_of(const tr_worker *w, const tr_finished_hyp *hyp)
{
    return (tr_search_result){.tokens = hyp->tokens,
                              .log_probabilities = w->probabilities ? hyp->log_probabilities : NULL,
                              .count = hyp->count,
                              .score = w->probabilities ? hyp->score : 0,
                              .finished = hyp->finished};
}

/* Puts one behind those that are as good. */
static void add_found(tr_worker *w, int count, tr_search_result found)
{
    for (; count && w->found[count - 1].score < found.score; count--)
        w->found[count] = w->found[count - 1];
    w->found[count] = found;
}

void tr_worker_report(tr_worker *w, tr_slot *slot)
{
    tr_sequence *seq = slot->sequence;
    int count = 0;
    for (int l = 0; l < w->shape.beams; l++) {
        const tr_beam *beam = &slot->beams[l];
        const int wanted = w->shape.beams > 1 ? 1 : w->search.n_best;
        for (int k = 0; k < beam->finished_count && k < wanted; k++)
            add_found(w, count++, found_of(w, beam->finished[k]));
    }
    seq->results = w->found;
    seq->result_count = count;
    seq->target_length = w->found[0].count;
    seq->finished = w->found[0].finished;
    if (seq->target)
        memcpy(seq->target, w->found[0].tokens, (size_t)seq->target_length * sizeof *seq->target);
}
