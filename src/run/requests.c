#include "run/requests.h"

#include <stdlib.h>

#include "run/hypotheses.h"
#include "util/strmap.h"

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "batches: out of memory");
}

static tr_status no_units(tr_request **requests, tr_strmap seen[2], tr_error *error)
{
    tr_strmap_free(&seen[0]);
    tr_strmap_free(&seen[1]);
    free(*requests);
    *requests = NULL;
    return out_of_memory(error);
}

tr_status tr_requests_make(tr_text_chunk *const *chunks, const int32_t *const *bases, size_t count, bool merge,
                           tr_request **requests, size_t *unit_count, tr_error *error)
{
    tr_strmap seen[2] = {{0}, {0}}; /* of whole sentences and of pieces */
    *unit_count = 0;
    *requests = count <= INT32_MAX ? calloc(count ? count : 1, sizeof **requests) : NULL;
    if (!*requests || (merge && (!tr_strmap_init(&seen[0], count) || !tr_strmap_init(&seen[1], 0))))
        return no_units(requests, seen, error);
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        tr_text_chunk *chunk = chunks[i];
        const int32_t *source = bases[i] + chunk->ids;
        chunk->request = SIZE_MAX;
        if (!chunk->tokens)
            continue;
        int32_t unit = (int32_t)made;
        if (merge && !chunk->prefix.count)
            unit = tr_strmap_add(&seen[chunk->piece], (const char *)source, (size_t)chunk->length * sizeof *source, unit);
        if (unit < 0)
            return no_units(requests, seen, error);
        if ((size_t)unit == made)
            (*requests)[made++] = (tr_request){.source = source,
                                               .source_length = chunk->length,
                                               .source_tokens = chunk->tokens,
                                               .piece = chunk->piece,
                                               .prefix = chunk->prefix.ids,
                                               .prefix_length = (int)chunk->prefix.count};
        chunk->request = (size_t)unit;
    }
    tr_strmap_free(&seen[0]);
    tr_strmap_free(&seen[1]);
    *unit_count = made;
    return TR_OK;
}

void tr_requests_free(tr_request *requests, size_t count)
{
    for (size_t i = 0; requests && i < count; i++)
        tr_hypotheses_clear(&requests[i].found);
    free(requests);
}

/* Counting sort of units[first, last), the longest first, stable. starts: [longest + 2] */
static void sort_window(const tr_request *requests, size_t first, size_t last, int longest, size_t *starts, size_t *order)
{
    for (int i = 0; i <= longest; i++)
        starts[i] = 0;
    for (size_t i = first; i < last; i++)
        starts[longest - requests[i].source_length + 1]++;
    starts[0] = first;
    for (int i = 0; i < longest; i++)
        starts[i + 1] += starts[i];
    for (size_t i = first; i < last; i++)
        order[starts[longest - requests[i].source_length]++] = i;
}

tr_status tr_requests_order(const tr_request *requests, size_t count, size_t *order, tr_error *error)
{
    int longest = 0;
    for (size_t i = 0; i < count; i++)
        longest = requests[i].source_length > longest ? requests[i].source_length : longest;
    size_t *starts = calloc((size_t)longest + 2, sizeof *starts);
    if (!starts)
        return out_of_memory(error);
    size_t window = TR_FIRST_WINDOW;
    for (size_t first = 0, last; first < count; first = last) {
        last = count - first < window + window / 2 ? count : first + window;
        sort_window(requests, first, last, longest, starts, order);
        if (window < TR_LARGEST_WINDOW)
            window *= 2;
    }
    free(starts);
    return TR_OK;
}
