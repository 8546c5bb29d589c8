/* Decoding. All members run the same turns, each either the encoder on a chunk of sentences or a step of the decoder; what
 * only one may do (bookkeeping, embedding) member 0 does between two barriers while the others wait. Greedy decoding, beam
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
        needed = tr_worker_constrains(w, tr_worker_slot(w, i)->sentence);
    return needed;
}

/* Embeds a hypothesis's newest token and points its attention at its cache. */
static bool prepare_row(tr_worker *w, tr_slot *slot, tr_path *path, int r)
{
    const int step = slot->step;
    tr_cache *self = &path->self;
    if (w->attends && step % TR_BLOCK == 0 && !(self->blocks[self->count++] = tr_pool_take(&w->pool)))
        return tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: no cache block left");
    w->rows_of[r] = (tr_row){slot, path};
    w->self_segments[r] =
        (tr_segment){.first = r, .rows = 1, .cache = self, .position = step, .length = step + 1, .history = path->history};
    for (int t = 0; t < w->models.count; t++)
        tr_embed(&w->tracks[t].state, &w->models.networks[t]->target, r, step ? path->tokens[step - 1] : w->start.id, step);
    if (w->weighing)
        tr_worker_ask(w, r);
    if (w->search.sample)
        w->sampler.draws[r] = (tr_draw){.key = slot->key, .step = step};
    return true;
}

/* All hypotheses of a sentence attend to its one cross-attention cache together. */
static bool prepare_sentence(tr_worker *w, int i)
{
    tr_slot *slot = tr_worker_slot(w, i);
    slot->first_row = w->rows;
    for (int l = 0; l < w->breadth.lanes; l++)
        for (int p = 0; p < slot->lanes[l].following; p++) {
            if (!prepare_row(w, slot, slot->lanes[l].paths[p], w->rows))
                return false;
            if (w->search.sample)
                w->sampler.draws[w->rows].lane = l;
            w->rows++;
        }
    const int length = slot->sentence->source_length;
    w->cross_segments[i] =
        (tr_segment){.first = slot->first_row, .rows = w->rows - slot->first_row, .cache = &slot->cross, .length = length};
    if (w->breadth.coverage)
        tr_coverage_watch(w, i);
    tr_choice *choice = tr_worker_choice(w, slot);
    if (choice && choice->end >= 0)
        choice->bias[choice->end] = slot->step < w->options.min_length ? -INFINITY : choice->plain[choice->end];
    return true;
}

static bool start_step(tr_worker *w)
{
    w->turn = TR_TURN_DECODE;
    w->weighing = needs_candidates(w);
    w->rows = 0;
    for (int i = 0; i < w->decoded; i++)
        if (!prepare_sentence(w, i))
            return false;
    tr_state_count_step(w->state, w->rows);
    tr_worker_count_caches(w);
    return true;
}

/* Hypotheses that continue the same one get its last block's beginning: each member the heads that it reads itself. */
static void copy_blocks_of(const tr_worker *w, const tr_cache_shape *shape, int member)
{
    const tr_range heads = tr_share(shape->heads, 1, member, w->state->members);
    for (int i = 0; i < w->copies.count; i++) {
        const tr_copy *copy = &w->copies.list[i];
        const size_t bytes = shape->row * (size_t)copy->filled;
        for (int l = 0; l < shape->layers; l++)
            for (int h = heads.first; h < heads.last; h++) {
                const size_t keys = tr_cache_offset(shape, l, h), values = keys + shape->piece / 2;
                memcpy(copy->to + keys, copy->from + keys, bytes);
                memcpy(copy->to + values, copy->from + values, bytes);
            }
    }
}

static void copy_blocks(const tr_worker *w, int member)
{
    for (int t = 0; t < w->models.count; t++)
        copy_blocks_of(w, &w->tracks[t].decoder_shape, member);
}

static void step(tr_worker *w, int member)
{
    tr_flow flows[TR_MAX_ENSEMBLE];
    for (int t = 0; t < w->models.count; t++) {
        tr_track *track = &w->tracks[t];
        flows[t] = tr_flow_start(&track->state, member, w->rows);
        tr_decoder_forward(&flows[t], &track->decoder_shape, w->self_segments, w->rows, w->cross_segments, w->decoded);
    }
    if (w->search.sample)
        tr_sampler_draw(&w->sampler, &w->search, flows);
    else if (w->weighing)
        tr_candidates_find(&w->candidates, flows);
    else
        tr_worker_choose(w, &flows[0]);
}

/* Gives back what a complete sentence had, and reports it. */
static bool release(tr_worker *w, tr_slot *slot)
{
    tr_pool_give(&w->pool, &slot->cross);
    w->tokens -= slot->sentence->source_length;
    tr_worker_hand_over(w, slot);
    return w->feed->done(w->feed->argument, slot->sentence) || tr_worker_fail(w, TR_ERROR_CANCELLED, "decoding: cancelled");
}

/* Hypotheses get their tokens; sentences that are complete leave the batch. */
static bool finish_step(tr_worker *w)
{
    int kept = 0, freed = 0;
    w->copies.count = 0;
    for (int i = 0; i < w->decoded; i++) {
        tr_slot *slot = tr_worker_slot(w, i);
        bool complete;
        if (w->breadth.coverage)
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
    return tr_worker_rows(w, w->decoded * w->breadth.lanes * w->breadth.beam);
}

/* What comes next: those that wait for the encoder, then those that are in the decoder, then the end. */
static bool next_turn(tr_worker *w)
{
    if (w->feed->stop && atomic_load_explicit(w->feed->stop, memory_order_relaxed))
        return tr_worker_fail(w, TR_ERROR_CANCELLED, "decoding: cancelled");
    if (w->decoded == w->taken && !tr_worker_admit(w))
        return false;
    if (w->decoded < w->taken) {
        w->turn = TR_TURN_ENCODE;
        return tr_worker_lay_out_chunk(w);
    }
    return w->decoded ? start_step(w) : true;
}

/* Ends one turn and prepares the next; the turn is the end where nothing is left, or something failed. */
static void turn(tr_worker *w)
{
    const tr_turn last = w->turn;
    tr_state_enter(w->state, 0, TR_PART_REST);
    w->turn = TR_TURN_END;
    const bool good = last == TR_TURN_ENCODE ? finish_chunk(w) : last == TR_TURN_DECODE ? finish_step(w) : true;
    if (!good || !next_turn(w))
        w->turn = TR_TURN_END;
}

tr_status tr_worker_run(tr_worker *w, int member, const tr_decode_options *options, const tr_feed *feed,
                        const tr_turns *turns, tr_error *error)
{
    tr_state_meet(w->state); /* nobody is still reading the last call's status */
    if (member == 0 && tr_worker_start(w, options, feed))
        turns->next(w);
    for (;;) {
        tr_state_meet(w->state);
        if (w->turn == TR_TURN_END)
            break;
        (w->turn == TR_TURN_ENCODE ? turns->encode : turns->decode)(w, member);
        tr_state_meet(w->state);
        if (member == 0)
            turns->next(w);
    }
    const tr_status status = w->status;
    if (status != TR_OK && member == 0 && error)
        *error = w->error;
    return status;
}

/* Blocks are copied before the encoder, too: it may get such as were given back since. */
static void encode(tr_worker *w, int member)
{
    copy_blocks(w, member);
    tr_worker_encode(w, member);
}

static void decode(tr_worker *w, int member)
{
    copy_blocks(w, member);
    step(w, member);
}

tr_status tr_decode(tr_worker *worker, int member, const tr_decode_options *options, const tr_feed *feed, tr_error *error)
{
    static const tr_turns turns = {encode, decode, turn};
    return tr_worker_run(worker, member, options, feed, &turns, error);
}
