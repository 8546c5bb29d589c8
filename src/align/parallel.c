#include "align/parallel.h"

#include <stdlib.h>
#include <string.h>

static bool grow_array(void **memory, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity)
        return true;
    const size_t wanted = needed > 2 * *capacity ? needed : 2 * *capacity;
    void *larger = realloc(*memory, wanted * size);
    if (larger) {
        *memory = larger;
        *capacity = wanted;
    }
    return larger != NULL;
}

static bool reserve_sides(tr_parallel *text, size_t source_count, size_t target_count)
{
    const size_t counts[2] = {source_count, target_count};
    size_t capacity = 0;
    for (int s = 0; s < 2; s++) {
        tr_text_side *side = &text->side[s];
        capacity = text->pair_capacity;
        if (!grow_array((void **)&side->ids, &side->capacity, side->size + counts[s], sizeof *side->ids) ||
            !grow_array((void **)&side->ends, &capacity, text->pairs + 1, sizeof *side->ends))
            return false;
    }
    text->pair_capacity = capacity;
    return true;
}

const int32_t *tr_parallel_sentence(const tr_parallel *text, int side, size_t pair, int *length)
{
    const tr_text_side *s = &text->side[side];
    const uint32_t first = pair ? s->ends[pair - 1] : 0;
    *length = (int)(s->ends[pair] - first);
    return s->ids + first;
}

/* Keeps every second sentence of a side. */
static void thin_side(tr_text_side *side, size_t pairs)
{
    size_t kept = 0;
    uint32_t first = 0;
    side->size = 0;
    for (size_t p = 0; p < pairs; p++) {
        const uint32_t end = side->ends[p];
        if (p % 2 == 0) {
            memmove(side->ids + side->size, side->ids + first, (end - first) * sizeof *side->ids);
            side->size += end - first;
            side->ends[kept++] = (uint32_t)side->size;
        }
        first = end;
    }
}

static void thin_out(tr_parallel *text)
{
    thin_side(&text->side[0], text->pairs);
    thin_side(&text->side[1], text->pairs);
    text->pairs = (text->pairs + 1) / 2;
    text->stride *= 2;
}

bool tr_parallel_add(tr_parallel *text, const int32_t *source, size_t source_count, const int32_t *target,
                     size_t target_count)
{
    const size_t max = text->max_tokens ? text->max_tokens : TR_PARALLEL_TOKENS;
    if (!text->stride)
        text->stride = 1;
    if (!source_count || !target_count) {
        text->empty++;
        return true;
    }
    if (source_count > TR_PARALLEL_LENGTH || target_count > TR_PARALLEL_LENGTH) {
        text->too_long++;
        return true;
    }
    if (text->given++ % text->stride)
        return true;
    if (!reserve_sides(text, source_count, target_count))
        return false;
    memcpy(text->side[0].ids + text->side[0].size, source, source_count * sizeof *source);
    memcpy(text->side[1].ids + text->side[1].size, target, target_count * sizeof *target);
    text->side[0].ends[text->pairs] = (uint32_t)(text->side[0].size += source_count);
    text->side[1].ends[text->pairs] = (uint32_t)(text->side[1].size += target_count);
    text->pairs++;
    while (text->side[0].size + text->side[1].size > max && text->pairs > 1)
        thin_out(text);
    return true;
}

void tr_parallel_free(tr_parallel *text)
{
    for (int s = 0; s < 2; s++) {
        free(text->side[s].ids);
        free(text->side[s].ends);
    }
    *text = (tr_parallel){0};
}
