#include "pipeline/batch.h"

#include <stdlib.h>

#include "pipeline/hypotheses.h"
#include "util/strmap.h"

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "batches: out of memory");
}

static tr_status no_units(tr_unit **units, tr_strmap seen[2], tr_error *error)
{
    tr_strmap_free(&seen[0]);
    tr_strmap_free(&seen[1]);
    free(*units);
    *units = NULL;
    return out_of_memory(error);
}

tr_status tr_units_make(tr_chunk *const *chunks, const int32_t *const *bases, size_t count, bool merge, tr_unit **units,
                        size_t *unit_count, tr_error *error)
{
    tr_strmap seen[2] = {{0}, {0}}; /* of whole sentences and of pieces */
    *unit_count = 0;
    *units = count <= INT32_MAX ? calloc(count ? count : 1, sizeof **units) : NULL;
    if (!*units || (merge && (!tr_strmap_init(&seen[0], count) || !tr_strmap_init(&seen[1], 0))))
        return no_units(units, seen, error);
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        tr_chunk *chunk = chunks[i];
        const int32_t *source = bases[i] + chunk->ids;
        chunk->unit = SIZE_MAX;
        if (!chunk->tokens)
            continue;
        int32_t unit = (int32_t)made;
        if (merge && !chunk->prefix.count)
            unit = tr_strmap_add(&seen[chunk->piece], (const char *)source, (size_t)chunk->length * sizeof *source, unit);
        if (unit < 0)
            return no_units(units, seen, error);
        if ((size_t)unit == made)
            (*units)[made++] = (tr_unit){.source = source,
                                         .source_length = chunk->length,
                                         .source_tokens = chunk->tokens,
                                         .piece = chunk->piece,
                                         .prefix = chunk->prefix.ids,
                                         .prefix_length = (int)chunk->prefix.count};
        chunk->unit = (size_t)unit;
    }
    tr_strmap_free(&seen[0]);
    tr_strmap_free(&seen[1]);
    *unit_count = made;
    return TR_OK;
}

void tr_units_free(tr_unit *units, size_t count)
{
    for (size_t i = 0; units && i < count; i++)
        tr_hypotheses_clear(&units[i].found);
    free(units);
}

/* Counting sort of units[first, last), the longest first, stable. starts: [longest + 2] */
static void sort_window(const tr_unit *units, size_t first, size_t last, int longest, size_t *starts, size_t *order)
{
    for (int i = 0; i <= longest; i++)
        starts[i] = 0;
    for (size_t i = first; i < last; i++)
        starts[longest - units[i].source_length + 1]++;
    starts[0] = first;
    for (int i = 0; i < longest; i++)
        starts[i + 1] += starts[i];
    for (size_t i = first; i < last; i++)
        order[starts[longest - units[i].source_length]++] = i;
}

tr_status tr_units_order(const tr_unit *units, size_t count, size_t *order, tr_error *error)
{
    int longest = 0;
    for (size_t i = 0; i < count; i++)
        longest = units[i].source_length > longest ? units[i].source_length : longest;
    size_t *starts = calloc((size_t)longest + 2, sizeof *starts);
    if (!starts)
        return out_of_memory(error);
    size_t window = TR_FIRST_WINDOW;
    for (size_t first = 0, last; first < count; first = last) {
        last = count - first < window + window / 2 ? count : first + window;
        sort_window(units, first, last, longest, starts, order);
        if (window < TR_LARGEST_WINDOW)
            window *= 2;
    }
    free(starts);
    return TR_OK;
}
