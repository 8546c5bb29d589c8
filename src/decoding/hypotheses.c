#include "decoding/hypotheses.h"

#include <string.h>

/* -------------------------------------------------------------------------------------------------------------- memory */

static size_t rounded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Of tokens and their log-probabilities. */
static size_t token_bytes(const tr_hyp_memory *h)
{
    const size_t positions = (size_t)h->positions;
    return rounded(positions * sizeof(int32_t)) + rounded((positions + 1) * sizeof(float));
}

static size_t live_hyp_bytes(const tr_hyp_memory *h)
{
    const size_t positions = (size_t)h->positions, blocks = (size_t)tr_blocks_for(h->positions);
    size_t bytes = rounded(sizeof(tr_live_hyp)) + token_bytes(h) + rounded(positions * sizeof(float));
    bytes += rounded((size_t)h->model_count * sizeof(tr_hyp_cache));
    for (int m = 0; m < h->model_count; m++)
        bytes += rounded(blocks * sizeof(float *)) + rounded(h->models[m].recurrent_floats * sizeof(float));
    return bytes;
}

static size_t slot_bytes(const tr_hyp_memory *h)
{
    const tr_beam_shape *s = &h->capacity;
    const size_t beams = (size_t)s->beams, width = (size_t)s->width, finished = (size_t)s->finished;
    const size_t models = (size_t)h->model_count, pointers = rounded((size_t)tr_blocks_for(h->positions) * sizeof(float *));
    const size_t caches = rounded(models * sizeof(tr_source_cache)) + models * 2 * pointers;
    const size_t beam = rounded(width * sizeof(tr_live_hyp *)) + rounded(finished * sizeof(tr_finished_hyp *)) +
                        finished * (rounded(sizeof(tr_finished_hyp)) + token_bytes(h));
    return caches + rounded(beams * width * sizeof(tr_live_hyp *)) + rounded(beams * sizeof(tr_beam)) + beams * beam +
           beams * width * live_hyp_bytes(h);
}

static tr_live_hyp *make_live_hyp(tr_hyp_memory *h)
{
    const size_t positions = (size_t)h->positions, blocks = (size_t)tr_blocks_for(h->positions);
    tr_live_hyp *hyp = tr_arena_alloc(&h->arena, sizeof *hyp);
    hyp->tokens = tr_arena_alloc(&h->arena, positions * sizeof *hyp->tokens);
    hyp->log_probabilities = tr_arena_alloc(&h->arena, (positions + 1) * sizeof *hyp->log_probabilities);
    hyp->coverage = h->capacity.coverage ? tr_arena_alloc(&h->arena, positions * sizeof *hyp->coverage) : NULL;
    hyp->caches = tr_arena_alloc(&h->arena, (size_t)h->model_count * sizeof *hyp->caches);
    for (int m = 0; m < h->model_count; m++) {
        hyp->caches[m].self.blocks = tr_arena_alloc(&h->arena, blocks * sizeof(float *));
        hyp->caches[m].recurrent = tr_arena_alloc(&h->arena, h->models[m].recurrent_floats * sizeof(float));
    }
    return hyp;
}

static tr_finished_hyp *make_finished_hyp(tr_hyp_memory *h)
{
    tr_finished_hyp *hyp = tr_arena_alloc(&h->arena, sizeof *hyp);
    hyp->tokens = tr_arena_alloc(&h->arena, (size_t)h->positions * sizeof *hyp->tokens);
    hyp->log_probabilities = tr_arena_alloc(&h->arena, (size_t)(h->positions + 1) * sizeof *hyp->log_probabilities);
    return hyp;
}

static void make_slot(tr_hyp_memory *h, tr_slot *slot)
{
    const tr_beam_shape *s = &h->capacity;
    const size_t blocks = (size_t)tr_blocks_for(h->positions);
    slot->caches = tr_arena_alloc(&h->arena, (size_t)h->model_count * sizeof *slot->caches);
    for (int m = 0; m < h->model_count; m++) {
        slot->caches[m].encoder.blocks = tr_arena_alloc(&h->arena, blocks * sizeof(float *));
        slot->caches[m].cross.blocks = tr_arena_alloc(&h->arena, blocks * sizeof(float *));
    }
    slot->free_hyp_count = s->beams * s->width;
    slot->free_hyps = tr_arena_alloc(&h->arena, (size_t)slot->free_hyp_count * sizeof *slot->free_hyps);
    for (int i = 0; i < slot->free_hyp_count; i++)
        slot->free_hyps[i] = make_live_hyp(h);
    slot->beams = tr_arena_alloc(&h->arena, (size_t)s->beams * sizeof *slot->beams);
    for (int b = 0; b < s->beams; b++) {
        tr_beam *beam = &slot->beams[b];
        beam->live = tr_arena_alloc(&h->arena, (size_t)s->width * sizeof *beam->live);
        beam->finished = tr_arena_alloc(&h->arena, (size_t)s->finished * sizeof *beam->finished);
        for (int i = 0; i < s->finished; i++)
            beam->finished[i] = make_finished_hyp(h);
    }
}

tr_status tr_hyp_memory_init(tr_hyp_memory *h, tr_slot *slots, int count, tr_beam_shape capacity, tr_error *error)
{
    h->capacity = capacity;
    const size_t results = (size_t)(capacity.beams > capacity.finished ? capacity.beams : capacity.finished);
    const size_t bytes = slot_bytes(h) * (size_t)count + rounded(results * sizeof *h->results);
    const tr_status status = tr_arena_init(&h->arena, bytes, error);
    if (status != TR_OK)
        return status;
    h->results = tr_arena_alloc(&h->arena, results * sizeof *h->results);
    for (int i = 0; i < count; i++)
        make_slot(h, &slots[i]);
    return TR_OK;
}

void tr_hyp_memory_free(tr_hyp_memory *h)
{
    tr_arena_free(&h->arena);
    h->capacity = (tr_beam_shape){0};
}

/* ------------------------------------------------------------------------------------------------------ live hypotheses */

void tr_slot_begin(const tr_hyp_memory *h, tr_slot *slot, int live, int beams)
{
    slot->step = 0;
    for (int b = 0; b < beams; b++) {
        tr_beam *beam = &slot->beams[b];
        beam->finished_count = beam->live_count = 0;
        if (b >= live)
            continue;
        tr_live_hyp *hyp = slot->free_hyps[--slot->free_hyp_count];
        hyp->sum = 0;
        for (int m = 0; m < h->model_count; m++) {
            hyp->caches[m].self.count = 0;
            memset(hyp->caches[m].recurrent, 0, h->models[m].recurrent_floats * sizeof(float));
        }
        if (hyp->coverage)
            memset(hyp->coverage, 0, (size_t)slot->sequence->source_length * sizeof *hyp->coverage);
        beam->live[beam->live_count++] = hyp;
    }
}

void tr_slot_clear(const tr_hyp_memory *h, tr_slot *slot)
{
    for (int b = 0; b < h->capacity.beams; b++)
        while (slot->beams[b].live_count)
            slot->free_hyps[slot->free_hyp_count++] = slot->beams[b].live[--slot->beams[b].live_count];
}

static void free_live_hyp(const tr_hyp_memory *h, tr_slot *slot, tr_live_hyp *hyp)
{
    for (int m = 0; m < h->model_count; m++)
        tr_kv_pool_give(&h->models[m].pool, &hyp->caches[m].self);
    slot->free_hyps[slot->free_hyp_count++] = hyp;
}

void tr_beam_end(const tr_hyp_memory *h, tr_slot *slot, tr_beam *beam)
{
    while (beam->live_count)
        free_live_hyp(h, slot, beam->live[--beam->live_count]);
}

bool tr_slot_is_complete(const tr_slot *slot, int beams)
{
    for (int b = 0; b < beams; b++)
        if (slot->beams[b].live_count)
            return false;
    return true;
}

tr_status tr_live_hyp_fork(const tr_hyp_memory *h, tr_slot *slot, const tr_live_hyp *from, tr_live_hyp **fork,
                           tr_error *error)
{
    tr_live_hyp *hyp = *fork = slot->free_hyps[--slot->free_hyp_count];
    const size_t step = (size_t)slot->step;
    tr_status status = TR_OK;
    memcpy(hyp->tokens, from->tokens, step * sizeof *hyp->tokens);
    memcpy(hyp->log_probabilities, from->log_probabilities, step * sizeof *hyp->log_probabilities);
    if (hyp->coverage)
        memcpy(hyp->coverage, from->coverage, (size_t)slot->sequence->source_length * sizeof *hyp->coverage);
    hyp->sum = from->sum;
    for (int m = 0; m < h->model_count && status == TR_OK; m++) {
        tr_model_state *model = &h->models[m];
        memcpy(hyp->caches[m].recurrent, from->caches[m].recurrent, model->recurrent_floats * sizeof(float));
        status = tr_kv_pool_fork(&model->pool, &from->caches[m].self, &hyp->caches[m].self, slot->step + 1, error);
    }
    return status;
}

/* The first continuation of a hypothesis takes it over, the others are forks. */
tr_status tr_beam_continue(const tr_hyp_memory *h, tr_slot *slot, tr_beam *beam, const tr_continuation *next, int count,
                           tr_error *error)
{
    tr_live_hyp *before[TR_MAX_BEAM], *after[TR_MAX_BEAM] = {NULL};
    bool goes_on[TR_MAX_BEAM] = {false};
    memcpy(before, beam->live, (size_t)beam->live_count * sizeof *before);
    for (int i = 0; i < count; i++)
        if (!goes_on[next[i].hyp]) {
            goes_on[next[i].hyp] = true;
            after[i] = before[next[i].hyp];
        }
    for (int i = 0; i < beam->live_count; i++)
        if (!goes_on[i])
            free_live_hyp(h, slot, before[i]);
    tr_status status = TR_OK;
    for (int i = 0; i < count && status == TR_OK; i++)
        if (!after[i])
            status = tr_live_hyp_fork(h, slot, before[next[i].hyp], &after[i], error);
    if (status != TR_OK)
        return status;
    for (int i = 0; i < count; i++) {
        tr_live_hyp_append(after[i], slot->step, next[i].id, next[i].log_probability, 0);
        after[i]->sum = next[i].sum;
        beam->live[i] = after[i];
    }
    beam->live_count = count;
    return TR_OK;
}

/* -------------------------------------------------------------------------------------------------- finished hypotheses */

void tr_beam_add_finished(tr_beam *beam, int limit, const tr_live_hyp *hyp, tr_hyp_end end)
{
    int at = beam->finished_count < limit ? beam->finished_count++ : limit;
    if (at == limit && !(end.score > beam->finished[--at]->score))
        return;
    tr_finished_hyp *to = beam->finished[at];
    for (; at && beam->finished[at - 1]->score < end.score; at--)
        beam->finished[at] = beam->finished[at - 1];
    beam->finished[at] = to;
    memcpy(to->tokens, hyp->tokens, (size_t)end.length * sizeof *to->tokens);
    memcpy(to->log_probabilities, hyp->log_probabilities, (size_t)end.length * sizeof *to->log_probabilities);
    to->log_probabilities[end.length] = end.log_probability; /* of EOS, or of the last token */
    to->count = end.length;
    to->score = end.score;
    to->finished = end.finished;
    if (end.last >= 0)
        to->tokens[to->count++] = end.last;
}

/* Inserts a result after those that are at least as good. */
static void insert_result(tr_search_result *results, int count, tr_search_result result)
{
    for (; count && results[count - 1].score < result.score; count--)
        results[count] = results[count - 1];
    results[count] = result;
}

void tr_slot_hand_over(const tr_hyp_memory *h, tr_slot *slot, int beams, int of_each, bool probabilities)
{
    tr_sequence *seq = slot->sequence;
    int count = 0;
    for (int b = 0; b < beams; b++)
        for (int i = 0; i < slot->beams[b].finished_count && i < of_each; i++) {
            const tr_finished_hyp *hyp = slot->beams[b].finished[i];
            insert_result(h->results, count++,
                          (tr_search_result){.tokens = hyp->tokens,
                                             .log_probabilities = probabilities ? hyp->log_probabilities : NULL,
                                             .count = hyp->count,
                                             .score = probabilities ? hyp->score : 0,
                                             .finished = hyp->finished});
        }
    seq->results = h->results;
    seq->result_count = count;
    seq->target_length = h->results[0].count;
    seq->finished = h->results[0].finished;
    if (seq->target)
        memcpy(seq->target, h->results[0].tokens, (size_t)seq->target_length * sizeof *seq->target);
}

void tr_live_hyp_append(tr_live_hyp *hyp, int step, int32_t id, float log_probability, float value)
{
    hyp->tokens[step] = id;
    hyp->log_probabilities[step] = log_probability;
    hyp->sum += value;
}
