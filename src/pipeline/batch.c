#include "pipeline/batch.h"

#include <stdlib.h>

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
        if (chunk->length < 2)
            continue;
        int32_t unit = (int32_t)made;
        if (merge)
            unit = tr_strmap_add(&seen[chunk->piece], (const char *)source, (size_t)chunk->length * sizeof *source, unit);
        if (unit < 0)
            return no_units(units, seen, error);
        if ((size_t)unit == made)
            (*units)[made++] = (tr_unit){.source = source, .source_length = chunk->length, .piece = chunk->piece};
        chunk->unit = (size_t)unit;
    }
    tr_strmap_free(&seen[0]);
    tr_strmap_free(&seen[1]);
    *unit_count = made;
    return TR_OK;
}

/* The bucket of a unit: whole sentences before pieces, then by falling length. */
static size_t bucket(const tr_unit *unit, int longest)
{
    return (size_t)(longest - unit->source_length + (unit->piece ? longest : 0));
}

/* Counting sort, stable. */
static bool sort_by_length(const tr_unit *units, size_t count, size_t *order)
{
    int longest = 0;
    for (size_t i = 0; i < count; i++)
        longest = units[i].source_length > longest ? units[i].source_length : longest;
    size_t *starts = calloc(2 * (size_t)longest + 2, sizeof *starts);
    if (!starts)
        return false;
    for (size_t i = 0; i < count; i++)
        starts[bucket(&units[i], longest) + 1]++;
    for (size_t i = 0; i <= 2 * (size_t)longest; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < count; i++)
        order[starts[bucket(&units[i], longest)]++] = i;
    free(starts);
    return true;
}

/* Units a batch, so that each group gets about the same number of batches where there are few. */
static size_t units_per_batch(size_t count, size_t batch_size, size_t groups)
{
    size_t batches = (count + batch_size - 1) / batch_size;
    if (batches < 4 * groups)
        batches = (batches + groups - 1) / groups * groups;
    return (count + batches - 1) / batches;
}

/* Cuts the order into batches; with batches->batches NULL it only counts them. */
static void cut_batches(const tr_unit *units, size_t count, size_t most, size_t most_tokens, tr_batches *batches)
{
    batches->count = 0;
    for (size_t first = 0, i = 0; first < count; first = i) {
        size_t tokens = 0;
        for (i = first; i < count && i - first < most; i++) {
            const tr_unit *unit = &units[batches->order[i]];
            tokens += (size_t)unit->source_length;
            if (i > first && (tokens > most_tokens || unit->piece != units[batches->order[first]].piece))
                break;
        }
        if (batches->batches)
            batches->batches[batches->count] =
                (tr_batch){.first = first, .count = (int)(i - first), .piece = units[batches->order[first]].piece};
        batches->count++;
    }
}

tr_status tr_batches_make(const tr_unit *units, size_t count, int batch_size, int groups, tr_batches *batches,
                          tr_error *error)
{
    *batches = (tr_batches){0};
    if (!count)
        return TR_OK;
    batches->order = calloc(count, sizeof *batches->order);
    if (!batches->order || !sort_by_length(units, count, batches->order)) {
        tr_batches_free(batches);
        return out_of_memory(error);
    }
    const size_t most = units_per_batch(count, (size_t)batch_size, (size_t)groups);
    const size_t most_tokens = (size_t)batch_size * TR_BATCH_TOKENS;
    cut_batches(units, count, most, most_tokens, batches);
    batches->batches = calloc(batches->count, sizeof *batches->batches);
    if (!batches->batches) {
        tr_batches_free(batches);
        return out_of_memory(error);
    }
    cut_batches(units, count, most, most_tokens, batches);
    return TR_OK;
}

void tr_batches_free(tr_batches *batches)
{
    for (size_t i = 0; batches->batches && i < batches->count; i++)
        free(batches->batches[i].targets);
    free(batches->order);
    free(batches->batches);
    *batches = (tr_batches){0};
}
