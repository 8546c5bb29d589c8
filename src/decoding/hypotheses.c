#include "decoding/hypotheses.h"

#include <string.h>

/* -------------------------------------------------------------------------------------------------------------- memory */

static size_t rounded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Of one path with its cache's table and history, and of one complete one. */
static size_t path_bytes(const tr_paths *p)
{
    return rounded(sizeof(tr_path)) + rounded(p->positions * sizeof(int32_t)) + rounded((p->positions + 1) * sizeof(float)) +
           rounded((size_t)tr_blocks_for((int)p->positions) * sizeof(float *)) + rounded(p->history_floats * sizeof(float)) +
           rounded(p->coverage ? p->positions * sizeof(float) : 0);
}

static size_t kept_bytes(const tr_paths *p)
{
    return rounded(sizeof(tr_kept)) + rounded(p->positions * sizeof(int32_t)) + rounded((p->positions + 1) * sizeof(float));
}

static tr_path *make_path(tr_paths *p)
{
    tr_path *path = tr_arena_alloc(&p->arena, sizeof *path);
    path->tokens = tr_arena_alloc(&p->arena, p->positions * sizeof *path->tokens);
    path->log_probabilities = tr_arena_alloc(&p->arena, (p->positions + 1) * sizeof *path->log_probabilities);
    path->self.blocks = tr_arena_alloc(&p->arena, (size_t)tr_blocks_for((int)p->positions) * sizeof *path->self.blocks);
    path->history = tr_arena_alloc(&p->arena, p->history_floats * sizeof *path->history);
    path->coverage = p->coverage ? tr_arena_alloc(&p->arena, p->positions * sizeof *path->coverage) : NULL;
    return path;
}

static tr_kept *make_kept(tr_paths *p)
{
    tr_kept *kept = tr_arena_alloc(&p->arena, sizeof *kept);
    kept->tokens = tr_arena_alloc(&p->arena, p->positions * sizeof *kept->tokens);
    kept->log_probabilities = tr_arena_alloc(&p->arena, (p->positions + 1) * sizeof *kept->log_probabilities);
    return kept;
}

static void make_slot(tr_paths *p, tr_slot *slot, int lanes, int beam, int kept)
{
    const size_t blocks = (size_t)tr_blocks_for((int)p->positions);
    slot->encoder.blocks = tr_arena_alloc(&p->arena, blocks * sizeof(float *));
    slot->cross.blocks = tr_arena_alloc(&p->arena, blocks * sizeof(float *));
    slot->spare = tr_arena_alloc(&p->arena, (size_t)(lanes * beam) * sizeof *slot->spare);
    slot->lanes = tr_arena_alloc(&p->arena, (size_t)lanes * sizeof *slot->lanes);
    slot->spare_count = lanes * beam;
    for (int i = 0; i < lanes * beam; i++)
        slot->spare[i] = make_path(p);
    for (int l = 0; l < lanes; l++) {
        slot->lanes[l].paths = tr_arena_alloc(&p->arena, (size_t)beam * sizeof *slot->lanes[l].paths);
        slot->lanes[l].kept = tr_arena_alloc(&p->arena, (size_t)kept * sizeof *slot->lanes[l].kept);
        for (int k = 0; k < kept; k++)
            slot->lanes[l].kept[k] = make_kept(p);
    }
}

tr_status tr_paths_init(tr_paths *p, int positions, size_t history_floats, tr_slot *slots, int count, tr_breadth breadth,
                        tr_error *error)
{
    *p = (tr_paths){.positions = (size_t)positions, .history_floats = history_floats, .coverage = breadth.coverage};
    const size_t l = (size_t)breadth.lanes, b = (size_t)breadth.beam, k = (size_t)breadth.kept;
    const size_t blocks = (size_t)tr_blocks_for(positions) * sizeof(float *);
    const size_t lane = rounded(b * sizeof(tr_path *)) + rounded(k * sizeof(tr_kept *)) + k * kept_bytes(p);
    const size_t slot = 2 * rounded(blocks) + rounded(l * b * sizeof(tr_path *)) + rounded(l * sizeof(tr_lane)) + l * lane +
                        l * b * path_bytes(p);
    const tr_status status = tr_arena_init(&p->arena, slot * (size_t)count, error);
    for (int i = 0; i < count && status == TR_OK; i++)
        make_slot(p, &slots[i], breadth.lanes, breadth.beam, breadth.kept);
    return status;
}

void tr_paths_free(tr_paths *paths)
{
    tr_arena_free(&paths->arena);
}

/* ----------------------------------------------------------------------------------------------------- those followed */

void tr_slot_begin(tr_slot *slot, int first, int lanes, const tr_paths *paths)
{
    slot->step = 0;
    for (int l = 0; l < lanes; l++) {
        slot->lanes[l].kept_count = slot->lanes[l].following = 0;
        if (l >= first)
            continue;
        tr_path *path = slot->spare[--slot->spare_count];
        path->sum = 0;
        path->self.count = 0;
        memset(path->history, 0, paths->history_floats * sizeof *path->history);
        slot->lanes[l].paths[0] = path;
        if (paths->coverage)
            memset(path->coverage, 0, (size_t)slot->sentence->source_length * sizeof *path->coverage);
        slot->lanes[l].following = 1;
    }
}

void tr_slot_clear(tr_slot *slot, int lanes)
{
    for (int l = 0; l < lanes; l++)
        while (slot->lanes[l].following)
            slot->spare[slot->spare_count++] = slot->lanes[l].paths[--slot->lanes[l].following];
}

/* The hypothesis is not followed any more. */
static void drop(tr_slot *slot, tr_path *path, tr_pool *pool)
{
    tr_pool_give(pool, &path->self);
    slot->spare[slot->spare_count++] = path;
}

void tr_lane_end(tr_slot *slot, tr_lane *lane, tr_pool *pool)
{
    while (lane->following)
        drop(slot, lane->paths[--lane->following], pool);
}

void tr_path_append(tr_path *path, int step, int32_t id, float log_probability, float value)
{
    path->tokens[step] = id;
    path->log_probabilities[step] = log_probability;
    path->sum += value;
}

/* step + 1 positions are in the caches. */
tr_path *tr_path_fork(tr_slot *slot, const tr_path *from, const tr_paths *paths, tr_pool *pool, tr_copies *copies)
{
    tr_path *path = slot->spare[--slot->spare_count];
    const size_t step = (size_t)slot->step;
    memcpy(path->tokens, from->tokens, step * sizeof *path->tokens);
    memcpy(path->log_probabilities, from->log_probabilities, step * sizeof *path->log_probabilities);
    memcpy(path->history, from->history, paths->history_floats * sizeof *path->history);
    if (paths->coverage)
        memcpy(path->coverage, from->coverage, (size_t)slot->sentence->source_length * sizeof *path->coverage);
    path->sum = from->sum;
    const int filled = (slot->step + 1) % TR_BLOCK;
    for (path->self.count = 0; path->self.count < from->self.count; path->self.count++) {
        float *block = from->self.blocks[path->self.count];
        if (filled && path->self.count == from->self.count - 1) {
            float *copy = tr_pool_take(pool);
            if (!copy)
                return NULL;
            copies->list[copies->count++] = (tr_copy){block, copy, filled};
            block = copy;
        } else {
            tr_pool_share(pool, block);
        }
        path->self.blocks[path->self.count] = block;
    }
    return path;
}

/* The first that continues a hypothesis takes over all that it has, others fork. */
bool tr_lane_continue(tr_slot *slot, tr_lane *lane, const tr_continuation *next, int count, const tr_paths *paths,
                      tr_pool *pool, tr_copies *copies)
{
    tr_path *before[TR_MAX_BEAM], *after[TR_MAX_BEAM] = {NULL};
    bool goes_on[TR_MAX_BEAM] = {false};
    memcpy(before, lane->paths, (size_t)lane->following * sizeof *before);
    for (int i = 0; i < count; i++)
        if (!goes_on[next[i].path]) {
            goes_on[next[i].path] = true;
            after[i] = before[next[i].path];
        }
    for (int i = 0; i < lane->following; i++)
        if (!goes_on[i])
            drop(slot, before[i], pool);
    for (int i = 0; i < count; i++)
        if (!after[i] && !(after[i] = tr_path_fork(slot, before[next[i].path], paths, pool, copies)))
            return false;
    for (int i = 0; i < count; i++) {
        tr_path_append(after[i], slot->step, next[i].token.id, next[i].token.log_probability, 0);
        after[i]->sum = next[i].sum;
        lane->paths[i] = after[i];
    }
    lane->following = count;
    return true;
}

/* ------------------------------------------------------------------------------------------------------ those complete */

static void copy_path(tr_kept *kept, const tr_path *path, int count)
{
    memcpy(kept->tokens, path->tokens, (size_t)count * sizeof *kept->tokens);
    memcpy(kept->log_probabilities, path->log_probabilities, (size_t)count * sizeof *kept->log_probabilities);
}

void tr_lane_keep(tr_lane *lane, int most, const tr_path *path, const tr_ending *ending)
{
    int at = lane->kept_count < most ? lane->kept_count++ : most;
    if (at == most && !(ending->score > lane->kept[--at]->score))
        return;
    tr_kept *kept = lane->kept[at];
    for (; at && lane->kept[at - 1]->score < ending->score; at--)
        lane->kept[at] = lane->kept[at - 1];
    lane->kept[at] = kept;
    copy_path(kept, path, ending->before);
    kept->count = ending->before;
    kept->score = ending->score;
    kept->finished = ending->finished;
    kept->log_probabilities[kept->count] = ending->log_probability; /* of the end mark, or of the last token */
    if (ending->last >= 0)
        kept->tokens[kept->count++] = ending->last;
}
