#include "run/align.h"

#include <stdlib.h>

#include "util/buffer.h"

/* -------------------------------------------------------------------------------------------------------------- options */

tr_align_options tr_align_default_options(void)
{
    return (tr_align_options){.layer = TR_ALIGN_AUTO, .head = TR_ALIGN_AUTO, .threshold = 1};
}

tr_status tr_align_resolve(const tr_config *c, tr_align_options *a, tr_error *error)
{
    if (a->layer < TR_ALIGN_AUTO || a->layer >= c->decoder_layers)
        return tr_fail(error, TR_ERROR_ARGUMENT, "alignment layer: %d is not below %d", a->layer, c->decoder_layers);
    if (a->head < TR_ALIGN_MEAN || a->head >= c->decoder_heads)
        return tr_fail(error, TR_ERROR_ARGUMENT, "alignment head: %d is not below %d", a->head, c->decoder_heads);
    if (!(a->threshold >= 0 && a->threshold <= 1))
        return tr_fail(error, TR_ERROR_ARGUMENT, "alignment threshold: %g is not between 0 and 1", (double)a->threshold);
    int layer, head;
    tr_config_alignment_head(c, &layer, &head);
    if (a->layer == TR_ALIGN_AUTO)
        a->layer = layer;
    if (a->head == TR_ALIGN_AUTO)
        a->head = a->layer == layer && head >= 0 ? head : TR_ALIGN_MEAN;
    return TR_OK;
}

/* ---------------------------------------------------------------------------------------------------------------- links */

static bool add_link(tr_buffer *links, tr_link link)
{
    return tr_buffer_append(links, &link, sizeof link);
}

/* Appends a row's links: Marian's, the greatest weight, or all above a threshold. */
static bool link_row(const tr_attention_capture *capture, int heads, const tr_align_span *span, float threshold, int row,
                     tr_buffer *links)
{
    tr_link best = {-1, row, -1};
    for (int s = 0; s < span->sources; s++) {
        const tr_link link = {s, row, tr_attention_capture_mean(capture, heads, row, span->first_source + s)};
        if (threshold < 1 && link.weight > threshold && !add_link(links, link))
            return false;
        if (link.weight > best.weight)
            best = link;
    }
    return threshold < 1 || best.source < 0 || add_link(links, best);
}

static int by_source(const void *a, const void *b)
{
    const tr_link *x = a, *y = b;
    return x->source != y->source ? (x->source > y->source) - (x->source < y->source)
                                  : (x->target > y->target) - (x->target < y->target);
}

void tr_links_sort(tr_link *links, size_t count)
{
    qsort(links, count, sizeof *links, by_source);
}

tr_status tr_align(const tr_attention_capture *capture, int heads, const tr_align_span *span, float threshold,
                   tr_alignment *alignment, tr_error *error)
{
    tr_buffer links = {0};
    const int rows = span->targets - span->first_target;
    bool good = tr_buffer_reserve(&links, (size_t)(rows > 0 ? rows : 0) * sizeof(tr_link));
    for (int row = span->first_target; good && row < span->targets; row++)
        good = link_row(capture, heads, span, threshold, row, &links);
    *alignment = (tr_alignment){0};
    if (!good) {
        tr_buffer_free(&links);
        return tr_fail(error, TR_ERROR_MEMORY, "alignment: out of memory");
    }
    *alignment = (tr_alignment){(tr_link *)(void *)links.data, links.size / sizeof(tr_link)};
    tr_links_sort(alignment->links, alignment->count);
    return TR_OK;
}
