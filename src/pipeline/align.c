#include "pipeline/align.h"

#include <stdlib.h>

/* A row's links, source by source; links NULL: they are only counted. Marian's: the greatest weight, or all above a
 * threshold. */
static size_t link_row(const tr_watch *watch, int heads, const tr_align_span *span, float threshold, int row, tr_link *links)
{
    size_t count = 0;
    tr_link best = {-1, row, -1};
    for (int s = 0; s < span->sources; s++) {
        const float weight = tr_watch_mean(watch, heads, row, span->first_source + s);
        if (threshold < 1 && weight > threshold) {
            if (links)
                links[count] = (tr_link){s, row, weight};
            count++;
        }
        if (weight > best.weight)
            best = (tr_link){s, row, weight};
    }
    if (threshold < 1 || best.source < 0)
        return count;
    if (links)
        links[0] = best;
    return 1;
}

static int by_source(const void *a, const void *b)
{
    const tr_link *x = a, *y = b;
    return x->source != y->source ? (x->source > y->source) - (x->source < y->source)
                                  : (x->target > y->target) - (x->target < y->target);
}

tr_status tr_align(const tr_watch *watch, int heads, const tr_align_span *span, float threshold, tr_alignment *alignment,
                   tr_error *error)
{
    size_t count = 0, at = 0;
    for (int row = span->first_target; row < span->targets; row++)
        count += link_row(watch, heads, span, threshold, row, NULL);
    *alignment = (tr_alignment){malloc((count ? count : 1) * sizeof *alignment->links), count};
    if (!alignment->links)
        return tr_fail(error, TR_ERROR_MEMORY, "alignment: out of memory");
    for (int row = span->first_target; row < span->targets; row++)
        at += link_row(watch, heads, span, threshold, row, alignment->links + at);
    qsort(alignment->links, count, sizeof *alignment->links, by_source);
    return TR_OK;
}
