/* Decoding. All threads run the same turns, each either the encoder on a chunk of sentences or a step of the decoder; what
 * only one may do (bookkeeping, embedding) thread 0 does between two barriers while the others wait. Greedy decoding, beam
 * search and sampling differ in what becomes of the hypotheses behind a step alone (advance.c). */
#include "decoding/worker.h"

#include <math.h>
#include <string.h>

/* -------------------------------------------------------------------------------------------------------------- a step */

/* Whether more is asked for than the best token of each row of one model. */
static bool needs_candidates(tr_worker *w)
{
    bool needed = w->probabilities || w->models.count > 1;
    for (int i = 0; i < w->decoded && !needed; i++)
        needed = tr_worker_constrains(w, tr_worker_slot(w, i)->sequence);
    return needed;
}

/* Embeds a hypothesis's newest token and points its attention at its cache. */
static bool prepare_row(tr_worker *w, tr_slot *slot, tr_live_hyp *hyp, int r)
{
    const int step = slot->step;
    tr_kv_cache *self = &hyp->self;
    if (w->attends && step % TR_BLOCK == 0 && !(self->blocks[self->count++] = tr_pool_take(&w->pool)))
        return tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: no cache block left");
    w->rows_of[r] = (tr_row){slot, hyp};
    w->self_seqs[r] = (tr_seq){
        .first_row = r, .rows = 1, .cache = self, .position = step, .length = step + 1, .recurrent = hyp->recurrent};
    for (int t = 0; t < w->models.count; t++)
        tr_embed(&w->model_states[t].ws, &w->models.networks[t]->target, r, step ? hyp->tokens[step - 1] : w->start.id,
                 step);
    if (w->needs_candidates)
        tr_worker_set_rules(w, r);
    if (w->search.sample)
        w->sampler.draws[r] = (tr_draw){.key = slot->key, .step = step};
    return true;
}

/* All hypotheses of a sentence attend to its one cross-attention cache together. */
static bool prepare_sentence(tr_worker *w, int i)
{
    tr_slot *slot = tr_worker_slot(w, i);
    slot->first_row = w->rows;
    for (int l = 0; l < w->shape.beams; l++)
        for (int p = 0; p < slot->beams[l].live_count; p++) {
            if (!prepare_row(w, slot, slot->beams[l].live[p], w->rows))
                return false;
            if (w->search.sample)
                w->sampler.draws[w->rows].lane = l;
            w->rows++;
        }
    const int length = slot->sequence->source_length;
    w->cross_seqs[i] =
        (tr_seq){.first_row = slot->first_row, .rows = w->rows - slot->first_row, .cache = &slot->cross, .length = length};
    if (w->shape.coverage)
        tr_coverage_capture(w, i);
    tr_shortlist_output *shortlist = tr_worker_shortlist(w, slot);
    if (shortlist && shortlist->eos >= 0)
        shortlist->bias[shortlist->eos] =
            slot->step < w->options.min_length ? -INFINITY : shortlist->bias_unmasked[shortlist->eos];
    return true;
}

static bool start_step(tr_worker *w)
{
    w->phase = TR_PHASE_DECODE;
    w->needs_candidates = needs_candidates(w);
    w->rows = 0;
    for (int i = 0; i < w->decoded; i++)
        if (!prepare_sentence(w, i))
            return false;
    tr_workspace_count_step(w->ws, w->rows);
    tr_worker_count_caches(w);
    return true;
}

/* Hypotheses that continue the same one get its last block's beginning: each thread the heads that it reads itself. */
static void copy_blocks_of(const tr_worker *w, const tr_kv_shape *shape, int thread)
{
    const tr_range heads = tr_share(shape->heads, 1, thread, w->ws->threads);
    for (int i = 0; i < w->copies.count; i++) {
        const tr_copy *copy = &w->copies.list[i];
        const size_t bytes = shape->row_bytes * (size_t)copy->filled;
        for (int l = 0; l < shape->layers; l++)
            for (int h = heads.begin; h < heads.end; h++) {
                const size_t keys = tr_kv_offset(shape, l, h), values = keys + shape->head_floats / 2;
                memcpy(copy->to + keys, copy->from + keys, bytes);
                memcpy(copy->to + values, copy->from + values, bytes);
            }
    }
}

static void copy_blocks(const tr_worker *w, int thread)
{
    for (int t = 0; t < w->models.count; t++)
        copy_blocks_of(w, &w->model_states[t].decoder_shape, thread);
}

static void step(tr_worker *w, int thread)
{
    tr_forward fwds[TR_MAX_ENSEMBLE];
    for (int t = 0; t < w->models.count; t++) {
        tr_model_state *state = &w->model_states[t];
        fwds[t] = tr_forward_begin(&state->ws, thread, w->rows);
        tr_decoder_forward(&fwds[t], &state->decoder_shape, w->self_seqs, w->rows, w->cross_seqs, w->decoded);
    }
    if (w->search.sample)
        tr_sampler_draw(&w->sampler, &w->search, fwds);
    else if (w->needs_candidates)
        tr_candidates_find(&w->candidates, fwds);
    else
        tr_worker_argmax(w, &fwds[0]);
}

/* Gives back what a complete sentence had, and reports it. */
static bool release(tr_worker *w, tr_slot *slot)
{
    tr_pool_give(&w->pool, &slot->cross);
    w->tokens -= slot->sequence->source_length;
    tr_worker_report(w, slot);
    return w->callbacks->done(w->callbacks->argument, slot->sequence) ||
           tr_worker_fail(w, TR_ERROR_CANCELLED, "decoding: cancelled");
}

/* Hypotheses get their tokens; sentences that are complete leave the batch. */
static bool finish_step(tr_worker *w)
{
    int kept = 0, freed = 0;
    w->copies.count = 0;
    for (int i = 0; i < w->decoded; i++) {
        tr_slot *slot = tr_worker_slot(w, i);
        bool complete;
        if (w->shape.coverage)
            tr_coverage_add(w, i);
        if (!tr_worker_advance(w, slot, &complete))
            return false;
        if (!complete) {
            w->order[kept++] = w->order[i];
            continue;
        }
        w->freed[freed++] = w->order[i];
        if (!release(w, slot))
            return false;
    }
    memcpy(w->order + kept, w->freed, (size_t)freed * sizeof *w->freed);
    w->decoded = w->taken = kept;
    return true;
}

/* --------------------------------------------------------------------------------------------------------------- turns */

/* After the encoder the arena is the decoder's again. */
static bool finish_chunk(tr_worker *w)
{
    w->copies.count = 0;
    w->decoded += w->chunk;
    if (w->decoded < w->taken)
        return true;
    tr_worker_rewind(w);
    return tr_worker_rows(w, w->decoded * w->shape.beams * w->shape.width);
}

/* What comes next: those that wait for the encoder, then those that are in the decoder, then the end. */
static bool next_turn(tr_worker *w)
{
    if (w->callbacks->stop && atomic_load_explicit(w->callbacks->stop, memory_order_relaxed))
        return tr_worker_fail(w, TR_ERROR_CANCELLED, "decoding: cancelled");
    if (w->decoded == w->taken && !tr_worker_admit(w))
        return false;
    if (w->decoded < w->taken) {
        w->phase = TR_PHASE_ENCODE;
        return tr_worker_lay_out_chunk(w);
    }
    return w->decoded ? start_step(w) : true;
}

/* Ends one turn and prepares the next; the turn is the end where nothing is left, or something failed. */
static void turn(tr_worker *w)
{
    const tr_phase last = w->phase;
    tr_workspace_enter(w->ws, 0, TR_PROFILE_REST);
    w->phase = TR_PHASE_END;
    const bool good = last == TR_PHASE_ENCODE ? finish_chunk(w) : last == TR_PHASE_DECODE ? finish_step(w) : true;
    if (!good || !next_turn(w))
        w->phase = TR_PHASE_END;
}

tr_status tr_worker_run(tr_worker *w, int thread, const tr_decode_options *options, const tr_decode_callbacks *callbacks,
                        const tr_phase_functions *turns, tr_error *error)
{
    tr_workspace_barrier(w->ws); /* nobody is still reading the last call's status */
    if (thread == 0 && tr_worker_start(w, options, callbacks))
        turns->next(w);
    for (;;) {
        tr_workspace_barrier(w->ws);
        if (w->phase == TR_PHASE_END)
            break;
        (w->phase == TR_PHASE_ENCODE ? turns->encode : turns->decode)(w, thread);
        tr_workspace_barrier(w->ws);
        if (thread == 0)
            turns->next(w);
    }
    const tr_status status = w->status;
    if (status != TR_OK && thread == 0 && error)
        *error = w->error;
    return status;
}

/* Blocks are copied before the encoder, too: it may get such as were given back since. */
static void encode(tr_worker *w, int thread)
{
    copy_blocks(w, thread);
    tr_worker_encode(w, thread);
}

static void decode(tr_worker *w, int thread)
{
    copy_blocks(w, thread);
    step(w, thread);
}

tr_status tr_decode(tr_worker *worker, int thread, const tr_decode_options *options, const tr_decode_callbacks *callbacks,
                    tr_error *error)
{
    static const tr_phase_functions turns = {encode, decode, turn};
    return tr_worker_run(worker, thread, options, callbacks, &turns, error);
}
