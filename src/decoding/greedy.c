#include "decoding/greedy.h"

#include <math.h>

#include "decoding/stopping.h"
#include "decoding/score.h"

/* The sentence's own outputs are those of its shortlist. */
static void argmax_of_shortlist(tr_forward *fwd, const tr_slot *slot)
{
    tr_workspace *ws = fwd->ws;
    for (int row = slot->first_row; row < slot->first_row + slot->rows; row++) {
        tr_best *best = &ws->buffers[fwd->thread].best[row];
        *best = (tr_best){-INFINITY, -1, false};
        tr_output_argmax_row(fwd, row, &slot->shortlist->linear, best);
        if (best->id >= 0)
            best->id = tr_shortlist_output_token(slot->shortlist, ws->network, best->id);
    }
}

/* The output bias for a sentence's next token; NULL: its token is known. */
static const float *bias_for(const tr_search *s, const tr_forbidden *forbidden, const tr_slot *slot)
{
    if (slot->step < tr_known_tokens(s, slot->sequence))
        return NULL;
    const int state = forbidden->utf8_bias[1] && !slot->shortlist
                          ? tr_utf8_state(s->config, slot->beams[0].live[0]->tokens, slot->step)
                          : 0;
    if (state)
        return forbidden->utf8_bias[state];
    return slot->step < s->min_length ? forbidden->bias_without_eos : forbidden->bias;
}

/* Neighbouring sentences with the same bias are projected together. */
void tr_greedy_argmax(tr_forward *fwd, const tr_batch *batch, const tr_search *s, const tr_forbidden *forbidden)
{
    tr_workspace_enter(fwd->ws, fwd->thread, TR_PROFILE_OUTPUT);
    for (int i = 0, next; i < batch->decoded; i = next) {
        const tr_slot *slot = tr_batch_slot(batch, i);
        const float *bias = bias_for(s, forbidden, slot);
        int rows = slot->rows;
        for (next = i + 1; next < batch->decoded; next++) {
            const tr_slot *other = tr_batch_slot(batch, next);
            if (slot->shortlist || bias_for(s, forbidden, other) != bias)
                break;
            rows += other->rows;
        }
        if (bias && slot->shortlist) {
            argmax_of_shortlist(fwd, slot);
        } else if (bias) {
            if (i > 0)
                tr_workspace_barrier(fwd->ws); /* threads read each other's bounds of the rows before */
            tr_output_argmax(fwd, slot->first_row, rows, bias);
        }
    }
}

/* The best of what the threads found in their shares of the outputs, in the order of ids: the lowest id wins a tie. */
tr_status tr_greedy_token(const tr_workspace *ws, const tr_forbidden *forbidden, const tr_slot *slot, int row, int32_t *id,
                          tr_error *error)
{
    tr_best best = ws->buffers[0].best[row];
    for (int t = 1; t < ws->threads; t++) {
        const tr_best *other = &ws->buffers[t].best[row];
        if (other->value > best.value) {
            best.value = other->value;
            best.id = other->id;
        }
        best.nan |= other->nan;
    }
    *id = best.id;
    /* without a shortlist, and without more forbidden tokens than the model's, there is always a token */
    const bool is_valid = !best.nan && (best.id >= 0 || slot->shortlist || forbidden->own_bias);
    return is_valid ? TR_OK : tr_fail_numeric(error);
}

void tr_greedy_append(const tr_search *s, const tr_hyp_memory *h, tr_slot *slot, tr_beam *beam, const tr_candidate *token)
{
    tr_live_hyp *hyp = beam->live[0];
    const int step = slot->step;
    if (token->id >= 0 && token->id != s->config->eos_id) {
        slot->sequence->strayed |= tr_is_stray(s->config, slot->strays, token->id);
        tr_live_hyp_append(hyp, step, token->id, token->log_probability, token->log_probability);
        tr_beam_cut_at_limit(s, h, slot, beam, step + 1);
        return;
    }
    tr_hyp_end end = {.length = step, .last = -1, .finished = true, .log_probability = token->log_probability};
    if (s->probabilities)
        end.score = tr_hyp_score(s, slot->sequence, hyp, hyp->sum + token->log_probability, step + 1);
    tr_beam_add_finished(beam, s->shape.finished, hyp, end);
    tr_beam_end(h, slot, beam);
}
