/* Greedy decoding. All members run the same turns, each either the encoder on a chunk of sentences or a step of the decoder;
 * what only one may do (bookkeeping, embedding) member 0 does between two barriers while the others wait. */
#include "decoding/worker.h"

#include <math.h>
#include <string.h>

#include "util/numbers.h"

/* --------------------------------------------------------------------------------------------- a step: choosing tokens */

/* The token that must come next; -1: it is to be found. */
static int32_t forced_token(const tr_worker *w, const tr_sentence *s)
{
    const int first = w->start.first_id >= 0, at = s->target_length - first;
    return at < 0 ? w->start.first_id : at < s->prefix_length ? s->prefix[at] : -1;
}

/* Embeds each row's newest token and points its attention at its caches. */
static bool prepare_step(tr_worker *w)
{
    const tr_config *c = &w->state.network->config;
    for (int r = 0; r < w->rows; r++) {
        tr_slot *slot = tr_worker_slot(w, r);
        const tr_sentence *s = slot->sentence;
        const int step = s->target_length;
        tr_cache *self = &slot->self;
        const bool caches = c->history == TR_HISTORY_ATTENTION;
        if (caches && step % TR_BLOCK == 0 && !(self->blocks[self->count++] = tr_pool_take(&w->pool)))
            return tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: no cache block left");
        w->self_segments[r] = (tr_segment){
            .first = r, .rows = 1, .cache = self, .position = step, .length = step + 1, .history = slot->history};
        w->cross_segments[r] = (tr_segment){.first = r, .rows = 1, .cache = &slot->cross, .length = s->source_length};
        tr_choice *choice = tr_worker_choice(w, r);
        if (w->scores)
            w->candidates.questions[r] = (tr_question){
                .idle = forced_token(w, s) >= 0, .choice = choice, .without = step < w->options.min_length ? c->end_id : -1};
        if (choice && choice->end >= 0)
            choice->bias[choice->end] =
                step < w->options.min_length ? -INFINITY : w->state.network->logits.bias[choice->outputs[choice->end]];
        tr_embed(&w->state, &w->state.network->target, r, step ? s->target[step - 1] : w->start.id, step);
    }
    return true;
}

/* Rows of fewer than length tokens, which are the last ones: the first of them. */
static int first_below(tr_worker *w, int length)
{
    int first = w->rows;
    while (first && tr_worker_slot(w, first - 1)->sentence->target_length < length)
        first--;
    return first;
}

/* The rows [first, last) of a flow's result alone. */
static tr_flow part_of(const tr_flow *flow, int first, int last)
{
    tr_state *s = flow->state;
    tr_quantised *q = &s->member[flow->member].x8;
    tr_flow part = *flow;
    part.x += (size_t)first * s->stride;
    part.rows = last - first;
    if (s->network->int8) {
        q->rows = (char *)q->rows + (size_t)first * q->stride;
        q->scale += first;
    }
    return part;
}

/* The best token, by this member's share of the vocabulary, of the rows [first, last); they are found at the front of the
 * member's memory, so that the last rows have to be done first. */
static void choose(tr_worker *w, const tr_flow *flow, int first, int last, const float *bias)
{
    tr_state *s = &w->state;
    tr_member *own = &s->member[flow->member];
    const tr_quantised all = own->x8;
    if (first >= last)
        return;
    tr_flow part = part_of(flow, first, last);
    tr_logits_best(&part, bias);
    memmove(own->best + first, own->best, (size_t)part.rows * sizeof *own->best);
    if (s->trace)
        tr_logits_all(&part, bias, w->traced_logits + (size_t)first * (size_t)s->network->logits.weight.outputs);
    own->x8 = all;
}

/* The same where a shortlist says what can come: each row has its own outputs. */
static void choose_of_shortlist(tr_worker *w, tr_flow *flow, int count)
{
    tr_state *s = &w->state;
    tr_best *best = s->member[flow->member].best;
    tr_state_enter(s, flow->member, TR_PART_OUTPUT);
    for (int r = 0; r < count; r++) {
        const tr_choice *choice = tr_worker_choice(w, r);
        best[r] = (tr_best){-INFINITY, -1, false};
        tr_logits_best_of(flow, r, &choice->logits, &best[r]);
        if (best[r].id >= 0)
            best[r].id = tr_choice_token(choice, s->network, best[r].id);
    }
    if (s->trace)
        tr_logits_all(flow, s->network->logits.bias, w->traced_logits);
}

static void step(tr_worker *w, int member)
{
    tr_state *s = &w->state;
    tr_flow flow = tr_flow_start(s, member, w->rows);
    tr_decoder_forward(&flow, &w->decoder_shape, w->self_segments, w->cross_segments, w->rows);
    const int picked = w->start.first_id >= 0 ? first_below(w, 1) : w->rows, free = first_below(w, w->options.min_length);
    if (w->scores) {
        tr_candidates_find(&w->candidates, &flow);
    } else if (w->choices.shortlist) {
        choose_of_shortlist(w, &flow, picked);
    } else {
        choose(w, &flow, free, picked, w->bias_without_end);
        if (free > 0 && free < picked)
            tr_state_meet(s); /* members look at each other's bounds (screened_best) */
        choose(w, &flow, 0, free < picked ? free : picked, s->network->logits.bias);
    }
    if (s->trace && picked) {
        tr_state_meet(s);
        if (member == 0)
            s->trace(s->trace_argument, "logits", 0, w->traced_logits, picked, s->network->logits.weight.outputs);
    }
}

/* The best of what the members found in their shares of the vocabulary, in the order of ids: the lowest id wins a tie. */
static tr_best best_of_members(const tr_state *s, int row)
{
    tr_best best = s->member[0].best[row];
    for (int m = 1; m < s->members; m++) {
        const tr_best *other = &s->member[m].best[row];
        if (other->value > best.value) {
            best.value = other->value;
            best.id = other->id;
        }
        best.nan |= other->nan;
    }
    return best;
}

static bool is_complete(const tr_worker *w, const tr_sentence *s)
{
    return s->finished || s->target_length == s->max_length ||
           (s->stop_loops && s->target_length >= w->options.min_length && tr_runs_in_circle(s->target, s->target_length));
}

/* Where nothing at all may come, the end does. */
static bool choose_token(tr_worker *w, int row, int32_t *id, float *log_probability)
{
    tr_best best;
    if (w->scores) {
        tr_candidate found;
        const int count = tr_candidates_take(&w->candidates, w->state.members, row, &found);
        best = (tr_best){0, count > 0 ? found.id : -1, count < 0};
        *log_probability = count > 0 ? found.log_probability : 0;
    } else {
        best = best_of_members(&w->state, row);
    }
    const bool nothing = best.id < 0 && !best.nan && w->choices.shortlist; /* all that is allowed is forbidden */
    if ((best.nan || best.id < 0) && !nothing)
        return tr_worker_fail(w, TR_ERROR_NUMERIC, "model: the network computes no valid numbers (damaged weights?)");
    *id = nothing ? w->state.network->config.end_id : best.id;
    return true;
}

/* Appends a row's token. */
static bool take_token(tr_worker *w, int row)
{
    const tr_slot *slot = tr_worker_slot(w, row);
    tr_sentence *s = slot->sentence;
    int32_t id = forced_token(w, s);
    float log_probability = 0; /* of what is given */
    if (id < 0 && !choose_token(w, row, &id, &log_probability))
        return false;
    if (w->scores)
        slot->log_probabilities[s->target_length] = log_probability;
    s->finished = id == w->state.network->config.end_id;
    if (!s->finished)
        s->target[s->target_length++] = id;
    return true;
}

/* log-probability / tokens^length_penalty (Wu et al., 2016, without their 5 + and 6) */
static float score_of(const tr_worker *w, const float *log_probabilities, int count)
{
    float sum = 0;
    for (int i = 0; i < count; i++)
        sum += log_probabilities[i];
    return (float)(sum / tr_exp(w->search.length_penalty * tr_log(count)));
}

static void hand_over(const tr_worker *w, tr_slot *slot)
{
    tr_sentence *s = slot->sentence;
    slot->found = (tr_found){.tokens = s->target, .count = s->target_length, .finished = s->finished};
    if (w->scores) {
        slot->found.log_probabilities = slot->log_probabilities;
        slot->found.score = score_of(w, slot->log_probabilities, s->target_length + s->finished);
    }
    s->found = &slot->found;
    s->found_count = 1;
}

/* Gives back what a complete sentence had, and reports it. */
static bool release(tr_worker *w, tr_slot *slot)
{
    tr_pool_give(&w->pool, &slot->self);
    tr_pool_give(&w->pool, &slot->cross);
    w->tokens -= slot->sentence->source_length;
    hand_over(w, slot);
    return w->feed->done(w->feed->argument, slot->sentence) || tr_worker_fail(w, TR_ERROR_CANCELLED, "decoding: cancelled");
}

/* Takes each row's token; rows that are complete leave the batch. */
static bool finish_step(tr_worker *w)
{
    int kept = 0, freed = 0;
    for (int r = 0; r < w->rows; r++) {
        tr_slot *slot = tr_worker_slot(w, r);
        if (!take_token(w, r))
            return false;
        if (!is_complete(w, slot->sentence)) {
            w->order[kept++] = w->order[r];
            continue;
        }
        w->freed[freed++] = w->order[r];
        if (!release(w, slot))
            return false;
    }
    memcpy(w->order + kept, w->freed, (size_t)freed * sizeof *w->freed);
    w->rows = w->taken = kept;
    return true;
}

/* --------------------------------------------------------------------------------------------------------------- turns */

static bool start_step(tr_worker *w)
{
    w->turn = TR_TURN_DECODE;
    tr_state_count_step(&w->state, w->rows);
    return prepare_step(w);
}

/* After the encoder the arena is the decoder's again. */
static bool finish_chunk(tr_worker *w)
{
    w->rows += w->chunk;
    if (w->rows < w->taken)
        return true;
    tr_arena_rewind(&w->state.arena, 0);
    return tr_state_rows(&w->state, w->rows) ||
           tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: too small for the batch");
}

/* What comes next: those that wait for the encoder, then those that are in the decoder, then the end. */
static bool next_turn(tr_worker *w)
{
    if (w->feed->stop && atomic_load_explicit(w->feed->stop, memory_order_relaxed))
        return tr_worker_fail(w, TR_ERROR_CANCELLED, "decoding: cancelled");
    if (w->rows == w->taken && !tr_worker_admit(w))
        return false;
    if (w->rows < w->taken) {
        w->turn = TR_TURN_ENCODE;
        return tr_worker_lay_out_chunk(w);
    }
    return w->rows ? start_step(w) : true;
}

/* Ends one turn and prepares the next; the turn is the end where nothing is left, or something failed. */
static void turn(tr_worker *w)
{
    const tr_turn last = w->turn;
    tr_state_enter(&w->state, 0, TR_PART_REST);
    w->turn = TR_TURN_END;
    const bool good = last == TR_TURN_ENCODE ? finish_chunk(w) : last == TR_TURN_DECODE ? finish_step(w) : true;
    if (!good || !next_turn(w))
        w->turn = TR_TURN_END;
}

static void start(tr_worker *w, const tr_decode_options *options, const tr_feed *feed)
{
    const tr_config *c = &w->state.network->config;
    w->candidates.of_logits = true;
    w->candidates.forbidden = c->forbidden;
    w->candidates.forbidden_count = c->forbidden_count;
    if (tr_worker_start(w, options, feed))
        turn(w);
}

tr_status tr_decode_greedy(tr_worker *worker, int member, const tr_decode_options *options, const tr_feed *feed,
                           tr_error *error)
{
    tr_worker *w = worker;
    tr_state_meet(&w->state); /* nobody is still reading the last call's status */
    if (member == 0)
        start(w, options, feed);
    for (;;) {
        tr_state_meet(&w->state);
        if (w->turn == TR_TURN_END)
            break;
        if (w->turn == TR_TURN_ENCODE)
            tr_worker_encode(w, member);
        else
            step(w, member);
        tr_state_meet(&w->state);
        if (member == 0)
            turn(w);
    }
    const tr_status status = w->status;
    if (status != TR_OK && member == 0 && error)
        *error = w->error;
    return status;
}
