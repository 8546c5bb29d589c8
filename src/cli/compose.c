#include "cli/compose.h"

#include "run/score.h"
#include "api/results.h"
#include "util/buffer.h"

#include <stdlib.h>
#include <string.h>

/* The target tokens of the first model, and their links. */
typedef struct pivot_links {
    const tr_span *spans; /* [count] of the target tokens in the pivot text, ascending */
    size_t count;
    tr_link *links; /* [link_count] in the order of targets */
    size_t link_count;
} pivot_links;

static int by_target(const void *a, const void *b)
{
    const tr_link *x = a, *y = b;
    return (x->target > y->target) - (x->target < y->target);
}

static bool sort_links(const tr_result *pivot, pivot_links *m)
{
    const size_t count = pivot->alignment.count, size = count * sizeof *m->links;
    *m = (pivot_links){pivot->target_spans, pivot->target.count, malloc(size + 1), count};
    if (!m->links)
        return false;
    if (count)
        memcpy(m->links, pivot->alignment.links, size);
    qsort(m->links, count, sizeof *m->links, by_target);
    return true;
}

/* The first token that ends after a byte. */
static size_t first_token(const pivot_links *m, size_t byte)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        const size_t half = low + (high - low) / 2;
        if (m->spans[half].end > byte)
            high = half;
        else
            low = half + 1;
    }
    return low;
}

/* The first link of a token or a later one. */
static size_t first_link(const pivot_links *m, size_t token)
{
    size_t low = 0, high = m->link_count;
    while (low < high) {
        const size_t half = low + (high - low) / 2;
        if ((size_t)m->links[half].target >= token)
            high = half;
        else
            low = half + 1;
    }
    return low;
}

/* Replaces a link from bytes of the pivot text by links from each source token that is linked with any of these bytes. */
static bool append_composed(const pivot_links *m, tr_span bytes, tr_link second, tr_buffer *out)
{
    for (size_t token = first_token(m, bytes.begin); token < m->count && m->spans[token].begin < bytes.end; token++) {
        if (m->spans[token].begin == m->spans[token].end)
            continue;
        for (size_t i = first_link(m, token); i < m->link_count && (size_t)m->links[i].target == token; i++) {
            const tr_link link = {m->links[i].source, second.target, m->links[i].weight * second.weight};
            if (!tr_buffer_append(out, &link, sizeof link))
                return false;
        }
    }
    return true;
}

/* Merges links between the same two tokens. */
static size_t merge_links(tr_link *links, size_t count)
{
    size_t kept = 0;
    tr_links_sort(links, count);
    for (size_t i = 0; i < count; i++)
        if (kept && links[kept - 1].source == links[i].source && links[kept - 1].target == links[i].target)
            links[kept - 1].weight += links[i].weight;
        else
            links[kept++] = links[i];
    return kept;
}

static bool compose_links(const pivot_links *m, const tr_span *spans, tr_alignment *alignment)
{
    tr_buffer out = {0};
    bool good = tr_buffer_reserve(&out, alignment->count * sizeof(tr_link));
    for (size_t i = 0; good && i < alignment->count; i++) {
        const tr_span bytes = spans[alignment->links[i].source];
        good = bytes.begin == bytes.end || append_composed(m, bytes, alignment->links[i], &out);
    }
    if (!good) {
        tr_buffer_free(&out);
        return false;
    }
    free(alignment->links);
    alignment->links = (tr_link *)(void *)out.data;
    alignment->count = merge_links(alignment->links, out.size / sizeof(tr_link));
    return true;
}

/* Copies the result of the second model with the source of the first one. */
static bool copy_result(const tr_result *pivot, const tr_result *result, tr_result *composed)
{
    tr_result first;
    if (tr_result_copy(result, composed, NULL) != TR_OK)
        return false;
    if (tr_result_copy(pivot, &first, NULL) != TR_OK) {
        tr_result_clear(composed);
        return false;
    }
    const tr_tokens source = composed->source;
    tr_span *spans = composed->source_spans;
    composed->source = first.source;
    composed->source_spans = first.source_spans;
    first.source = source;
    first.source_spans = spans;
    tr_result_clear(&first);
    return true;
}

bool cli_compose(const tr_result *pivot, const tr_result *result, tr_result *composed)
{
    pivot_links m;
    if (!copy_result(pivot, result, composed))
        return false;
    bool good = sort_links(pivot, &m) && compose_links(&m, result->source_spans, &composed->alignment);
    for (size_t i = 0; good && i < composed->hypothesis_count; i++)
        good = compose_links(&m, result->source_spans, &composed->hypotheses[i].alignment);
    free(m.links);
    if (!good)
        tr_result_clear(composed);
    return good;
}
