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
static tr_forward part_of(const tr_forward *fwd, int first, int last)
{
    tr_workspace *ws = fwd->ws;
    tr_quantised *q = &ws->buffers[fwd->thread].x_i8;
    tr_forward part = *fwd;
    part.x += (size_t)first * ws->stride;
    part.rows = last - first;
    if (ws->network->int8) {
        q->rows = (char *)q->rows + (size_t)first * q->stride;
        q->scale += first;
    }
    return part;
}

/* The best of the rows [first, last); they are found at the front of the thread's memory, so that the last rows have to be
 * done first. */
static void choose(tr_worker *w, const tr_forward *fwd, int first, int last, const float *bias)
{
    tr_workspace *ws = w->ws;
    tr_thread_buffers *own = &ws->buffers[fwd->thread];
    const tr_quantised all = own->x_i8;
    if (first >= last)
        return;
    tr_forward part = part_of(fwd, first, last);
    tr_output_argmax(&part, bias);
    memmove(own->best + first, own->best, (size_t)part.rows * sizeof *own->best);
    if (ws->trace)
        tr_output_logits(&part, bias, w->traced_logits + (size_t)first * (size_t)ws->network->output.weight.outputs);
    own->x_i8 = all;
}

/* The same where a shortlist says what can come: each row has its own outputs. */
static void choose_of_shortlist(tr_worker *w, tr_forward *fwd, int count)
{
    tr_workspace *ws = w->ws;
    tr_best *best = ws->buffers[fwd->thread].best;
    tr_workspace_enter(ws, fwd->thread, TR_PROFILE_OUTPUT);
    for (int r = 0; r < count; r++) {
        const tr_shortlist_output *shortlist = tr_worker_shortlist(w, w->rows_of[r].slot);
        best[r] = (tr_best){-INFINITY, -1, false};
        tr_output_argmax_row(fwd, r, &shortlist->linear, &best[r]);
        if (best[r].id >= 0)
            best[r].id = tr_shortlist_output_token(shortlist, ws->network, best[r].id);
    }
    if (ws->trace)
        tr_output_logits(fwd, ws->network->output.bias, w->traced_logits);
}

void tr_worker_argmax(tr_worker *w, tr_forward *fwd)
{
    tr_workspace *ws = w->ws;
    const int picked = w->start.first_id >= 0 ? first_below(w, 1) : w->rows, free = first_below(w, w->options.min_length);
    if (w->shortlists.shortlist) {
        choose_of_shortlist(w, fwd, picked);
    } else {
        choose(w, fwd, free, picked, w->bias_without_end);
        if (free > 0 && free < picked)
            tr_workspace_barrier(ws); /* threads look at each other's bounds (screened_best) */
        choose(w, fwd, 0, free < picked ? free : picked, w->bias);
    }
    if (ws->trace && picked) {
        tr_workspace_barrier(ws);
        if (fwd->thread == 0)
            ws->trace(ws->trace_argument, "logits", 0, w->traced_logits, picked, ws->network->output.weight.outputs);
    }
}

/* The best of what the threads found in their shares of the outputs, in the order of ids: the lowest id wins a tie. */
static tr_best best_of_members(const tr_workspace *ws, int row)
{
    tr_best best = ws->buffers[0].best[row];
    for (int m = 1; m < ws->threads; m++) {
        const tr_best *other = &ws->buffers[m].best[row];
        if (other->value > best.value) {
            best.value = other->value;
            best.id = other->id;
        }
        best.nan |= other->nan;
    }
    return best;
}

bool tr_worker_best_token(tr_worker *w, int row, tr_candidate *chosen)
{
    *chosen = (tr_candidate){-1, 0, 0};
    if (w->needs_candidates) {
        const int count = tr_candidates_take(&w->candidates, w->ws->threads, row, w->lists);
        if (count > 0)
            *chosen = w->lists[0];
        return count >= 0 || tr_worker_fail_numeric(w);
    }
    const tr_best best = best_of_members(w->ws, row);
    chosen->id = best.id;
    /* without a shortlist all is forbidden only where the network computes nothing */
    return (!best.nan && (best.id >= 0 || w->shortlists.shortlist || w->own_bias)) || tr_worker_fail_numeric(w);
}
