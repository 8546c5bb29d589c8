/* The best token of each row: the argmax of the output projection, or, where probabilities are looked at, candidates. */
#include "decoding/worker.h"

#include <math.h>
#include <string.h>

/* Rows of fewer than length tokens, which are the last ones: the first of them. */
static int first_below(tr_worker *w, int length)
{
    int first = w->rows;
    for (int i = w->decoded; i && tr_worker_slot(w, i - 1)->step < length; i--)
        first = tr_worker_slot(w, i - 1)->first_row;
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

/* The best of the rows [first, last); they are found at the front of the member's memory, so that the last rows have to be
 * done first. */
static void choose(tr_worker *w, const tr_flow *flow, int first, int last, const float *bias)
{
    tr_state *s = w->state;
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
    tr_state *s = w->state;
    tr_best *best = s->member[flow->member].best;
    tr_state_enter(s, flow->member, TR_PART_OUTPUT);
    for (int r = 0; r < count; r++) {
        const tr_choice *choice = tr_worker_choice(w, w->rows_of[r].slot);
        best[r] = (tr_best){-INFINITY, -1, false};
        tr_logits_best_of(flow, r, &choice->logits, &best[r]);
        if (best[r].id >= 0)
            best[r].id = tr_choice_token(choice, s->network, best[r].id);
    }
    if (s->trace)
        tr_logits_all(flow, s->network->logits.bias, w->traced_logits);
}

void tr_worker_choose(tr_worker *w, tr_flow *flow)
{
    tr_state *s = w->state;
    const int picked = w->start.first_id >= 0 ? first_below(w, 1) : w->rows, free = first_below(w, w->options.min_length);
    if (w->choices.shortlist) {
        choose_of_shortlist(w, flow, picked);
    } else {
        choose(w, flow, free, picked, w->bias_without_end);
        if (free > 0 && free < picked)
            tr_state_meet(s); /* members look at each other's bounds (screened_best) */
        choose(w, flow, 0, free < picked ? free : picked, w->bias);
    }
    if (s->trace && picked) {
        tr_state_meet(s);
        if (flow->member == 0)
            s->trace(s->trace_argument, "logits", 0, w->traced_logits, picked, s->network->logits.weight.outputs);
    }
}

/* The best of what the members found in their shares of the outputs, in the order of ids: the lowest id wins a tie. */
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

bool tr_worker_chosen(tr_worker *w, int row, tr_candidate *chosen)
{
    *chosen = (tr_candidate){-1, 0, 0};
    if (w->weighing) {
        const int count = tr_candidates_take(&w->candidates, w->state->members, row, w->lists);
        if (count > 0)
            *chosen = w->lists[0];
        return count >= 0 || tr_worker_fail_numeric(w);
    }
    const tr_best best = best_of_members(w->state, row);
    chosen->id = best.id;
    /* without a shortlist all is forbidden only where the network computes nothing */
    return (!best.nan && (best.id >= 0 || w->choices.shortlist || w->own_bias)) || tr_worker_fail_numeric(w);
}
