#include "text/links.h"

#include <stdlib.h>
#include <string.h>

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "alignment: out of memory");
}

/* A zeroed array, never NULL but for lack of memory. */
static void *array(size_t count, size_t size)
{
    return calloc(count ? count : 1, size);
}

/* --------------------------------------------------------------------------------------------------------------- source */

/* The bytes of a chunk. Of a single character with more tokens than the network takes the later pieces are empty: theirs are
 * those of the first. */
static tr_span bytes_of(const tr_joining *j, size_t chunk)
{
    while (chunk && j->chunks[chunk]->begin == j->chunks[chunk]->end)
        chunk--;
    return (tr_span){j->chunks[chunk]->begin, j->chunks[chunk]->end};
}

/* Where the tokens of a chunk are: cut once more, this time with their places. */
static tr_status place_tokens(const tr_joining *j, size_t chunk, tr_span *spans, tr_error *error)
{
    const tr_text_chunk *c = j->chunks[chunk];
    const tr_span bytes = bytes_of(j, chunk);
    tr_ids ids = {0};
    tr_span *found;
    const tr_status status = tr_tokenizer_encode_spans(j->joiner->tokenizer, j->text->data + bytes.begin,
                                                       bytes.end - bytes.begin, &ids, &found, error);
    for (size_t i = 0; status == TR_OK && i < (size_t)c->tokens; i++)
        spans[i] = ids.size == (size_t)c->tokens ? (tr_span){bytes.begin + found[i].begin, bytes.begin + found[i].end}
                                                 : bytes; /* a piece of that one character */
    tr_ids_free(&ids);
    free(found);
    return status;
}

tr_status tr_links_source(const tr_joining *joining, tr_result *result, tr_error *error)
{
    size_t count = 0;
    for (size_t s = 0; s < joining->text->count; s++)
        count += (size_t)joining->chunks[s]->tokens;
    result->source.ids = array(count, sizeof *result->source.ids);
    result->source_spans = array(count, sizeof *result->source_spans);
    if (!result->source.ids || !result->source_spans)
        return out_of_memory(error);
    for (size_t s = 0; s < joining->text->count; s++) {
        const tr_request *request = tr_joining_unit(joining, s);
        if (!request)
            continue;
        const size_t tokens = (size_t)request->source_tokens, at = result->source.count;
        const int first = request->source_length - request->source_tokens - joining->joiner->behind;
        memcpy(result->source.ids + at, request->source + first, tokens * sizeof *request->source);
        result->source.count += tokens;
        const tr_status status = place_tokens(joining, s, result->source_spans + at, error);
        if (status != TR_OK)
            return status;
    }
    return TR_OK;
}

/* --------------------------------------------------------------------------------------------------------------- target */

/* What all sentences have together. */
static void count_all(const tr_joining *j, size_t rank, size_t *tokens, size_t *links)
{
    *tokens = *links = 0;
    for (size_t s = 0; s < j->text->count; s++) {
        const tr_request *request = tr_joining_unit(j, s);
        const tr_hypothesis *h = request ? tr_request_hypothesis(request, rank) : NULL;
        *tokens += h ? h->count : 0;
        *links += h ? h->alignment.count : 0;
    }
}

tr_status tr_links_target(const tr_joining *joining, size_t rank, tr_tokens *target, tr_span **spans,
                          tr_alignment *alignment, tr_error *error)
{
    size_t tokens, links;
    count_all(joining, rank, &tokens, &links);
    target->ids = array(tokens, sizeof *target->ids);
    *spans = array(tokens, sizeof **spans);
    alignment->links = array(links, sizeof *alignment->links);
    if (!target->ids || !*spans || !alignment->links)
        return out_of_memory(error);
    memcpy(*spans, joining->joiner->spans.data ? joining->joiner->spans.data : "", tokens * sizeof **spans);
    int32_t source = 0;
    for (size_t s = 0; s < joining->text->count; s++) {
        const tr_request *request = tr_joining_unit(joining, s);
        if (!request)
            continue;
        const tr_hypothesis *h = tr_request_hypothesis(request, rank);
        for (size_t i = 0; i < h->alignment.count; i++) {
            const tr_link link = h->alignment.links[i];
            alignment->links[alignment->count++] =
                (tr_link){source + link.source, (int32_t)target->count + link.target, link.weight};
        }
        memcpy(target->ids + target->count, h->ids, h->count * sizeof *h->ids);
        target->count += h->count;
        source += request->source_tokens;
    }
    return TR_OK;
}
