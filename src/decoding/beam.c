/* Beam search, step by step as Hugging Face's generate has it (transformers 5, GenerationMixin._beam_search), so that both
 * find the same: of the best 2 beam continuations of all hypotheses those that end, if they are among the first beam, are
 * complete, and the first beam of the others are followed. */
#include "decoding/worker.h"

#include <math.h>

#include "util/numbers.h"

float tr_rate(const tr_worker *w, const tr_sentence *s, float sum, int tokens)
{
    const int counted = tokens - s->prefix_length;
    return (float)(sum / tr_exp(w->search.length_penalty * tr_log(counted < 1 ? 1 : counted)));
}

/* ------------------------------------------------------------------------------------------------- the best of all rows */

/* The best continuations of a lane's hypotheses, best first; of equals that of the better hypothesis. -1: NaN. */
static int best_continuations(tr_worker *w, const tr_lane *lane, int first_row, int wanted)
{
    const int most = w->candidates.most;
    int counts[TR_MAX_BEAM], used[TR_MAX_BEAM], found = 0;
    for (int p = 0; p < lane->following; p++) {
        used[p] = 0;
        counts[p] = tr_candidates_take(&w->candidates, w->state->members, first_row + p, w->lists + p * most);
        if (counts[p] < 0)
            return -1;
    }
    for (; found < wanted; found++) {
        tr_continuation best = {.path = -1};
        for (int p = 0; p < lane->following; p++) {
            if (used[p] == counts[p])
                continue;
            const tr_candidate *c = &w->lists[p * most + used[p]];
            const float sum = lane->paths[p]->sum + c->value;
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
static int longest(const tr_worker *w, const tr_sentence *s)
{
    const tr_config *c = &w->state->network->config;
    return s->max_length + (c->forced_last_id >= 0 && c->forced_last_id == c->end_id);
}

/* One that is complete with a token more than its path has: the end mark, or the last one that there is room for. */
static void complete(tr_worker *w, const tr_slot *slot, tr_lane *lane, const tr_path *path, const tr_candidate *token,
                     float sum)
{
    const bool finished = token->id == w->state->network->config.end_id;
    tr_lane_keep(lane, w->breadth.kept, path,
                 &(tr_ending){.before = slot->step,
                              .last = finished ? -1 : token->id,
                              .finished = finished,
                              .log_probability = token->log_probability,
                              .score = tr_path_score(w, slot->sentence, path, sum, slot->step + 1)});
}

/* All that are followed are complete as they are, with so many tokens; counted: with a forced end mark. */
static void complete_all(tr_worker *w, const tr_sentence *s, tr_lane *lane, int tokens, int counted)
{
    for (int p = 0; p < lane->following; p++) {
        const tr_path *path = lane->paths[p];
        tr_lane_keep(lane, w->breadth.kept, path,
                     &(tr_ending){.before = tokens, .last = -1, .score = tr_path_score(w, s, path, path->sum, counted)});
    }
}

/* Nothing better can come of what is followed, as far as the search wants to know. length: tokens that these have. */
static bool is_settled(const tr_worker *w, const tr_sentence *s, const tr_lane *lane, int length)
{
    if (lane->kept_count < w->breadth.kept)
        return false;
    const float least = lane->kept[lane->kept_count - 1]->score, best_sum = lane->paths[0]->sum;
    const bool longer = w->search.length_penalty > 0;
    switch (w->search.stopping) {
    case TR_STOP_EARLY: return true;
    case TR_STOP_NEVER: /* what is not covered still can be */
        return !(tr_rate(w, s, best_sum, longer ? longest(w, s) : length) > least);
    case TR_STOP_LIKELY: break;
    }
    const int first = w->breadth.coverage ? lane->following : 1; /* else the first has the best score as well */
    for (int p = 0; p < first; p++)
        if (tr_path_score(w, s, lane->paths[p], lane->paths[p]->sum, length) > least)
            return false;
    return true;
}

/* Nothing at all may come: all end here. */
static void end_all(tr_worker *w, tr_slot *slot, tr_lane *lane)
{
    for (int p = 0; p < lane->following; p++) {
        const tr_path *path = lane->paths[p];
        tr_lane_keep(lane, w->breadth.kept, path,
                     &(tr_ending){.before = slot->step,
                                  .last = -1,
                                  .finished = true,
                                  .score = tr_path_score(w, slot->sentence, path, path->sum, slot->step + 1)});
    }
    tr_lane_end(slot, lane, &w->pool);
}

void tr_lane_look_at_limits(tr_worker *w, tr_slot *slot, tr_lane *lane, int length)
{
    const tr_sentence *s = slot->sentence;
    const tr_path *best = lane->paths[0];
    bool over = is_settled(w, s, lane, length);
    if (!over && length == s->max_length) {
        complete_all(w, s, lane, length, w->breadth.beam > 1 ? longest(w, s) : length);
        over = true;
    } else if (!over && s->stop_loops && length >= w->options.min_length && tr_runs_in_circle(best->tokens, length)) {
        slot->sentence->looped = true;
        complete_all(w, s, lane, length, length);
        over = true;
    }
    if (over)
        tr_lane_end(slot, lane, &w->pool);
}

void tr_lane_stop(tr_worker *w, tr_slot *slot, tr_lane *lane, int length)
{
    complete_all(w, slot->sentence, lane, length, length);
    tr_lane_end(slot, lane, &w->pool);
}

bool tr_beam_advance(tr_worker *w, tr_slot *slot, tr_lane *lane, int first_row)
{
    const tr_sentence *s = slot->sentence;
    const int beam = w->breadth.beam, length = slot->step + 1;
    const bool last = length == longest(w, s);
    const int count = best_continuations(w, lane, first_row, 2 * beam);
    if (count < 0)
        return tr_worker_fail_numeric(w);
    if (count == 0) {
        end_all(w, slot, lane);
        return true;
    }
    int going = 0;
    for (int i = 0; i < count; i++) {
        const bool ends = last || w->next[i].token.id == w->state->network->config.end_id;
        if (ends && i < beam)
            complete(w, slot, lane, lane->paths[w->next[i].path], &w->next[i].token, w->next[i].sum);
        else if (!ends && going < beam)
            w->next[going++] = w->next[i];
    }
    if (!going)
        tr_lane_end(slot, lane, &w->pool);
    else if (!tr_lane_continue(slot, lane, w->next, going, &w->paths, &w->pool, &w->copies))
        return tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: no cache block left");
    else
        tr_lane_look_at_limits(w, slot, lane, length);
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- alternatives */

/* Whether a token behind so many others is the last of its hypothesis. */
static bool is_last(const tr_worker *w, const tr_slot *slot, int32_t id)
{
    return id == w->state->network->config.end_id || slot->step + 1 == longest(w, slot->sentence);
}

/* A lane begins with a token behind what another one has. */
static bool begin_lane(tr_worker *w, tr_slot *slot, tr_lane *lane, const tr_path *before, const tr_candidate *token)
{
    if (is_last(w, slot, token->id)) {
        complete(w, slot, lane, before, token, before->sum + token->log_probability);
        return true;
    }
    tr_path *path = tr_path_fork(slot, before, &w->paths, &w->pool, &w->copies);
    if (!path)
        return tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: no cache block left");
    tr_path_append(path, slot->step, token->id, token->log_probability, token->log_probability);
    lane->paths[0] = path;
    lane->following = 1;
    tr_lane_look_at_limits(w, slot, lane, slot->step + 1);
    return true;
}

bool tr_alternatives_begin(tr_worker *w, tr_slot *slot)
{
    tr_lane *first = &slot->lanes[0];
    const float least = w->search.alternatives_min > 0 ? (float)tr_log(w->search.alternatives_min) : -INFINITY;
    const int count = tr_candidates_take(&w->candidates, w->state->members, slot->first_row, w->lists);
    if (count < 0)
        return tr_worker_fail_numeric(w);
    if (count == 0) {
        end_all(w, slot, first);
        return true;
    }
    for (int i = 1; i < count && i < w->breadth.lanes && w->lists[i].log_probability >= least; i++)
        if (!begin_lane(w, slot, &slot->lanes[i], first->paths[0], &w->lists[i]))
            return false;
    tr_path *path = first->paths[0];
    const tr_candidate *best = &w->lists[0];
    if (is_last(w, slot, best->id)) {
        complete(w, slot, first, path, best, path->sum + best->log_probability);
        tr_lane_end(slot, first, &w->pool);
    } else {
        tr_path_append(path, slot->step, best->id, best->log_probability, best->log_probability);
        tr_lane_look_at_limits(w, slot, first, slot->step + 1);
    }
    return true;
}
