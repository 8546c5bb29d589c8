#include "decoding/hypotheses.h"

#include <string.h>

/* -------------------------------------------------------------------------------------------------------------- memory */

static size_t rounded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Of one path with its cache's table and history, and of one complete one. */
static size_t path_bytes(const tr_hyp_memory *p)
{
    return rounded(sizeof(tr_live_hyp)) + rounded(p->positions * sizeof(int32_t)) +
           rounded((p->positions + 1) * sizeof(float)) +
           rounded((size_t)tr_blocks_for((int)p->positions) * sizeof(float *)) +
           rounded(p->recurrent_floats * sizeof(float)) + rounded(p->coverage ? p->positions * sizeof(float) : 0);
}

static size_t kept_bytes(const tr_hyp_memory *p)
{
    return rounded(sizeof(tr_finished_hyp)) + rounded(p->positions * sizeof(int32_t)) +
           rounded((p->positions + 1) * sizeof(float));
}

static tr_live_hyp *make_path(tr_hyp_memory *p)
{
    tr_live_hyp *hyp = tr_arena_alloc(&p->arena, sizeof *hyp);
    hyp->tokens = tr_arena_alloc(&p->arena, p->positions * sizeof *hyp->tokens);
    hyp->log_probabilities = tr_arena_alloc(&p->arena, (p->positions + 1) * sizeof *hyp->log_probabilities);
    hyp->self.blocks = tr_arena_alloc(&p->arena, (size_t)tr_blocks_for((int)p->positions) * sizeof *hyp->self.blocks);
    hyp->recurrent = tr_arena_alloc(&p->arena, p->recurrent_floats * sizeof *hyp->recurrent);
    hyp->coverage = p->coverage ? tr_arena_alloc(&p->arena, p->positions * sizeof *hyp->coverage) : NULL;
    return hyp;
}

static tr_finished_hyp *make_kept(tr_hyp_memory *p)
{
    tr_finished_hyp *hyp = tr_arena_alloc(&p->arena, sizeof *hyp);
    hyp->tokens = tr_arena_alloc(&p->arena, p->positions * sizeof *hyp->tokens);
    hyp->log_probabilities = tr_arena_alloc(&p->arena, (p->positions + 1) * sizeof *hyp->log_probabilities);
    return hyp;
}

static void make_slot(tr_hyp_memory *p, tr_slot *slot, int lanes, int beam, int kept)
{
    const size_t blocks = (size_t)tr_blocks_for((int)p->positions);
    slot->encoder.blocks = tr_arena_alloc(&p->arena, blocks * sizeof(float *));
    slot->cross.blocks = tr_arena_alloc(&p->arena, blocks * sizeof(float *));
    slot->free_hyps = tr_arena_alloc(&p->arena, (size_t)(lanes * beam) * sizeof *slot->free_hyps);
    slot->beams = tr_arena_alloc(&p->arena, (size_t)lanes * sizeof *slot->beams);
    slot->free_hyp_count = lanes * beam;
    for (int i = 0; i < lanes * beam; i++)
        slot->free_hyps[i] = make_path(p);
    for (int l = 0; l < lanes; l++) {
        slot->beams[l].live = tr_arena_alloc(&p->arena, (size_t)beam * sizeof *slot->beams[l].live);
        slot->beams[l].finished = tr_arena_alloc(&p->arena, (size_t)kept * sizeof *slot->beams[l].finished);
        for (int k = 0; k < kept; k++)
            slot->beams[l].finished[k] = make_kept(p);
    }
}

tr_status tr_hyp_memory_init(tr_hyp_memory *p, int positions, size_t history_floats, tr_slot *slots, int count,
                             tr_beam_shape shape, tr_error *error)
{
    *p = (tr_hyp_memory){.positions = (size_t)positions, .recurrent_floats = history_floats, .coverage = shape.coverage};
    const size_t l = (size_t)shape.beams, b = (size_t)shape.width, k = (size_t)shape.finished;
    const size_t blocks = (size_t)tr_blocks_for(positions) * sizeof(float *);
    const size_t lane = rounded(b * sizeof(tr_live_hyp *)) + rounded(k * sizeof(tr_finished_hyp *)) + k * kept_bytes(p);
    const size_t slot = 2 * rounded(blocks) + rounded(l * b * sizeof(tr_live_hyp *)) + rounded(l * sizeof(tr_beam)) +
                        l * lane + l * b * path_bytes(p);
    const tr_status status = tr_arena_init(&p->arena, slot * (size_t)count, error);
    for (int i = 0; i < count && status == TR_OK; i++)
        make_slot(p, &slots[i], shape.beams, shape.width, shape.finished);
    return status;
}

void tr_hyp_memory_free(tr_hyp_memory *memory)
{
    tr_arena_free(&memory->arena);
}

/* ----------------------------------------------------------------------------------------------------- those followed */

void tr_slot_begin(tr_slot *slot, int first, int lanes, const tr_hyp_memory *memory)
{
    slot->step = 0;
    for (int l = 0; l < lanes; l++) {
        slot->beams[l].finished_count = slot->beams[l].live_count = 0;
        if (l >= first)
            continue;
        tr_live_hyp *hyp = slot->free_hyps[--slot->free_hyp_count];
        hyp->sum = 0;
        hyp->self.count = 0;
        memset(hyp->recurrent, 0, memory->recurrent_floats * sizeof *hyp->recurrent);
        slot->beams[l].live[0] = hyp;
        if (memory->coverage)
            memset(hyp->coverage, 0, (size_t)slot->sequence->source_length * sizeof *hyp->coverage);
        slot->beams[l].live_count = 1;
    }
}

void tr_slot_clear(tr_slot *slot, int lanes)
{
    for (int l = 0; l < lanes; l++)
        while (slot->beams[l].live_count)
            slot->free_hyps[slot->free_hyp_count++] = slot->beams[l].live[--slot->beams[l].live_count];
}

/* The hypothesis is not followed any more. */
static void drop(tr_slot *slot, tr_live_hyp *hyp, tr_pool *pool)
{
    tr_pool_give(pool, &hyp->self);
    slot->free_hyps[slot->free_hyp_count++] = hyp;
}

void tr_beam_end(tr_slot *slot, tr_beam *beam, tr_pool *pool)
{
    while (beam->live_count)
        drop(slot, beam->live[--beam->live_count], pool);
}

void tr_live_hyp_append(tr_live_hyp *hyp, int step, int32_t id, float log_probability, float value)
{
    hyp->tokens[step] = id;
    hyp->log_probabilities[step] = log_probability;
    hyp->sum += value;
}

/* step + 1 positions are in the caches. */
tr_live_hyp *tr_live_hyp_fork(tr_slot *slot, const tr_live_hyp *from, const tr_hyp_memory *memory, tr_pool *pool,
                              tr_copies *copies)
{
    tr_live_hyp *hyp = slot->free_hyps[--slot->free_hyp_count];
    const size_t step = (size_t)slot->step;
    memcpy(hyp->tokens, from->tokens, step * sizeof *hyp->tokens);
    memcpy(hyp->log_probabilities, from->log_probabilities, step * sizeof *hyp->log_probabilities);
    memcpy(hyp->recurrent, from->recurrent, memory->recurrent_floats * sizeof *hyp->recurrent);
    if (memory->coverage)
        memcpy(hyp->coverage, from->coverage, (size_t)slot->sequence->source_length * sizeof *hyp->coverage);
    hyp->sum = from->sum;
    const int filled = (slot->step + 1) % TR_BLOCK;
    for (hyp->self.count = 0; hyp->self.count < from->self.count; hyp->self.count++) {
        float *block = from->self.blocks[hyp->self.count];
        if (filled && hyp->self.count == from->self.count - 1) {
            float *copy = tr_pool_take(pool);
            if (!copy)
                return NULL;
            copies->list[copies->count++] = (tr_copy){block, copy, filled};
            block = copy;
        } else {
            tr_pool_share(pool, block);
        }
        hyp->self.blocks[hyp->self.count] = block;
    }
    return hyp;
}

/* The first that continues a hypothesis takes over all that it has, others fork. */
bool tr_beam_set_live(tr_slot *slot, tr_beam *beam, const tr_continuation *next, int count, const tr_hyp_memory *memory,
                      tr_pool *pool, tr_copies *copies)
{
    tr_live_hyp *before[TR_MAX_BEAM], *after[TR_MAX_BEAM] = {NULL};
    bool goes_on[TR_MAX_BEAM] = {false};
    memcpy(before, beam->live, (size_t)beam->live_count * sizeof *before);
    for (int i = 0; i < count; i++)
        if (!goes_on[next[i].path]) {
            goes_on[next[i].path] = true;
            after[i] = before[next[i].path];
        }
    for (int i = 0; i < beam->live_count; i++)
        if (!goes_on[i])
            drop(slot, before[i], pool);
    for (int i = 0; i < count; i++)
        if (!after[i] && !(after[i] = tr_live_hyp_fork(slot, before[next[i].path], memory, pool, copies)))
            return false;
    for (int i = 0; i < count; i++) {
        tr_live_hyp_append(after[i], slot->step, next[i].token.id, next[i].token.log_probability, 0);
        after[i]->sum = next[i].sum;
        beam->live[i] = after[i];
    }
    beam->live_count = count;
    return true;
}

/* ------------------------------------------------------------------------------------------------------ those complete */

static void copy_tokens(tr_finished_hyp *to, const tr_live_hyp *from, int count)
{
    memcpy(to->tokens, from->tokens, (size_t)count * sizeof *to->tokens);
    memcpy(to->log_probabilities, from->log_probabilities, (size_t)count * sizeof *to->log_probabilities);
}

void tr_beam_add_finished(tr_beam *beam, int most, const tr_live_hyp *hyp, const tr_hyp_end *ending)
{
    int at = beam->finished_count < most ? beam->finished_count++ : most;
    if (at == most && !(ending->score > beam->finished[--at]->score))
        return;
    tr_finished_hyp *finished = beam->finished[at];
    for (; at && beam->finished[at - 1]->score < ending->score; at--)
        beam->finished[at] = beam->finished[at - 1];
    beam->finished[at] = finished;
    copy_tokens(finished, hyp, ending->before);
    finished->count = ending->before;
    finished->score = ending->score;
    finished->finished = ending->finished;
    finished->log_probabilities[finished->count] = ending->log_probability; /* of the end mark, or of the last token */
    if (ending->last >= 0)
        finished->tokens[finished->count++] = ending->last;
}
