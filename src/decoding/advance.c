/* Behind a step: what the hypotheses of a sentence become. */
#include "decoding/worker.h"

#include <string.h>

/* Whoever wants to see tokens is told one. False: stopped. */
static bool tell(tr_worker *w, tr_slot *slot, tr_lane *lane, int32_t id, float log_probability)
{
    const tr_step step = {.sentence = slot->sentence,
                          .draw = (int)(lane - slot->lanes),
                          .step = slot->step,
                          .id = id,
                          .log_probability = w->probabilities ? log_probability : 0,
                          .last = !lane->following};
    const int answer = w->feed->token(w->feed->argument, &step);
    if (answer > 0 && lane->following)
        tr_lane_stop(w, slot, lane, slot->step + 1);
    return answer >= 0 || tr_worker_fail(w, TR_ERROR_CANCELLED, "decoding: cancelled");
}

/* The token is the same for all. */
static bool append_forced(tr_worker *w, tr_slot *slot, int32_t id)
{
    for (int l = 0; l < w->breadth.lanes; l++) {
        tr_lane *lane = &slot->lanes[l];
        if (!lane->following)
            continue;
        for (int p = 0; p < lane->following; p++)
            tr_path_append(lane->paths[p], slot->step, id, 0, 0);
        tr_lane_look_at_limits(w, slot, lane, slot->step + 1);
        if (w->feed->token && !tell(w, slot, lane, id, 0))
            return false;
    }
    return true;
}

/* A lane of one hypothesis gets its best token, or the one that was drawn. Where nothing at all may come, the end does. */
static bool advance_one(tr_worker *w, tr_slot *slot, tr_lane *lane, int row)
{
    tr_candidate token;
    tr_path *path = lane->paths[0];
    if (!(w->search.sample ? tr_sampler_drawn(&w->sampler, row, &token) || tr_worker_fail_numeric(w)
                           : tr_worker_chosen(w, row, &token)))
        return false;
    if (token.id >= 0 && token.id != w->state->network->config.end_id) {
        tr_path_append(path, slot->step, token.id, token.log_probability, token.log_probability);
        tr_lane_look_at_limits(w, slot, lane, slot->step + 1);
        return !w->feed->token || tell(w, slot, lane, token.id, token.log_probability);
    }
    const float score = tr_path_score(w, slot->sentence, path, path->sum + token.log_probability, slot->step + 1);
    tr_lane_keep(lane, w->breadth.kept, path,
                 &(tr_ending){slot->step, -1, true, token.log_probability, w->weighing || w->search.sample ? score : 0});
    tr_lane_end(slot, lane, &w->pool);
    return !w->feed->token || tell(w, slot, lane, w->state->network->config.end_id, token.log_probability);
}

static bool advance_lanes(tr_worker *w, tr_slot *slot)
{
    int row = slot->first_row;
    for (int l = 0; l < w->breadth.lanes; l++) {
        tr_lane *lane = &slot->lanes[l];
        const int rows = lane->following;
        if (rows && !(w->breadth.beam > 1 ? tr_beam_advance(w, slot, lane, row) : advance_one(w, slot, lane, row)))
            return false;
        row += rows;
    }
    return true;
}

/* The first token behind the prefix. */
static bool is_first_free(const tr_worker *w, const tr_slot *slot)
{
    return slot->step == slot->sentence->prefix_length + (w->start.first_id >= 0);
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
    for (int l = 0; l < w->breadth.lanes; l++)
        *complete = *complete && !slot->lanes[l].following;
    return good;
}

/* ----------------------------------------------------------------------------------------------------------- handing over
 */

static tr_found found_of(const tr_worker *w, const tr_kept *kept)
{
    return (tr_found){.tokens = kept->tokens,
                      .log_probabilities = w->probabilities ? kept->log_probabilities : NULL,
                      .count = kept->count,
                      .score = w->probabilities ? kept->score : 0,
                      .finished = kept->finished};
}

/* Puts one behind those that are as good. */
static void add_found(tr_worker *w, int count, tr_found found)
{
    for (; count && w->found[count - 1].score < found.score; count--)
        w->found[count] = w->found[count - 1];
    w->found[count] = found;
}

void tr_worker_hand_over(tr_worker *w, tr_slot *slot)
{
    tr_sentence *s = slot->sentence;
    int count = 0;
    for (int l = 0; l < w->breadth.lanes; l++) {
        const tr_lane *lane = &slot->lanes[l];
        const int wanted = w->breadth.lanes > 1 ? 1 : w->search.n_best;
        for (int k = 0; k < lane->kept_count && k < wanted; k++)
            add_found(w, count++, found_of(w, lane->kept[k]));
    }
    s->found = w->found;
    s->found_count = count;
    s->target_length = w->found[0].count;
    s->finished = w->found[0].finished;
    if (s->target)
        memcpy(s->target, w->found[0].tokens, (size_t)s->target_length * sizeof *s->target);
}
