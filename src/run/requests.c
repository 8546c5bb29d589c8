#include "run/requests.h"

#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/strmap.h"

static tr_status fail_making(tr_request **requests, tr_strmap seen[2], tr_error *error)
{
    tr_strmap_free(&seen[0]);
    tr_strmap_free(&seen[1]);
    free(*requests);
    *requests = NULL;
    return tr_fail_memory(error, "requests");
}

tr_status tr_requests_make(tr_text_chunk *const *chunks, const int32_t *const *bases, size_t count, bool merge,
                           tr_request **requests, size_t *request_count, tr_error *error)
{
    tr_strmap seen[2] = {{0}, {0}}; /* of whole sentences and of pieces */
    *request_count = 0;
    *requests = count <= INT32_MAX ? calloc(count ? count : 1, sizeof **requests) : NULL;
    if (!*requests || (merge && (!tr_strmap_init(&seen[0], count) || !tr_strmap_init(&seen[1], 0))))
        return fail_making(requests, seen, error);
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        tr_text_chunk *chunk = chunks[i];
        const int32_t *source = bases[i] + chunk->ids;
        chunk->request = NULL;
        if (!chunk->tokens)
            continue;
        int32_t index = (int32_t)made;
        if (merge && !chunk->prefix.count)
            index = tr_strmap_add(&seen[chunk->piece], (const char *)source, (size_t)chunk->length * sizeof *source, index);
        if (index < 0)
            return fail_making(requests, seen, error);
        if ((size_t)index == made)
            (*requests)[made++] = (tr_request){.source = source,
                                               .source_length = chunk->length,
                                               .source_tokens = chunk->tokens,
                                               .chunk = chunk,
                                               .piece = chunk->piece,
                                               .prefix = chunk->prefix.ids,
                                               .prefix_length = (int)chunk->prefix.count};
        chunk->request = &(*requests)[index];
        chunk->request->tagged = chunk->request->tagged || chunk->tagged;
        chunk->request->checked = chunk->request->checked || chunk->checked;
    }
    tr_strmap_free(&seen[0]);
    tr_strmap_free(&seen[1]);
    *request_count = made;
    return TR_OK;
}

void tr_requests_free(tr_request *requests, size_t count)
{
    for (size_t i = 0; requests && i < count; i++)
        tr_hypotheses_clear(&requests[i].found);
    free(requests);
}

/* Counting sort of requests[first .. last), the longest first, stable. starts: [longest + 2] */
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
        return tr_fail_memory(error, "requests");
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

/* ---------------------------------------------------------------------------------------------------------- hypotheses */

static bool copy_hypothesis(const tr_search_result *from, tr_hypothesis *to)
{
    const size_t count = (size_t)from->count, all = count + from->finished;
    *to = (tr_hypothesis){.ids = tr_copy_bytes(from->tokens, count * sizeof *to->ids),
                          .count = count,
                          .score = from->score,
                          .finished = from->finished};
    if (!from->log_probabilities)
        return to->ids;
    to->log_probabilities = tr_copy_bytes(from->log_probabilities, all * sizeof *to->log_probabilities);
    for (size_t i = 0; i < all; i++)
        to->log_probability += from->log_probabilities[i];
    return to->ids && to->log_probabilities;
}

tr_status tr_hypotheses_copy(const tr_search_result *found, int count, tr_hypotheses *copy, tr_error *error)
{
    *copy = (tr_hypotheses){.items = calloc((size_t)count, sizeof *copy->items)};
    bool complete = copy->items;
    for (int i = 0; complete && i < count; i++) {
        complete = copy_hypothesis(&found[i], &copy->items[i]);
        copy->count++;
    }
    if (complete)
        return TR_OK;
    tr_hypotheses_clear(copy);
    return tr_fail_memory(error, "translation");
}

void tr_hypotheses_cut(tr_hypotheses *hypotheses, size_t count)
{
    while (hypotheses->count > count) {
        tr_hypothesis *last = &hypotheses->items[--hypotheses->count];
        free(last->ids);
        free(last->log_probabilities);
        free(last->alignment.links);
    }
}

void tr_hypotheses_clear(tr_hypotheses *hypotheses)
{
    tr_hypotheses_cut(hypotheses, 0);
    free(hypotheses->items);
    *hypotheses = (tr_hypotheses){0};
}

/* ---------------------------------------------------------------------------------------------------------- completion */

static size_t *alloc_sizes(size_t count)
{
    return calloc(count ? count : 1, sizeof(size_t));
}

tr_status tr_completion_init(tr_completion *completion, size_t requests, size_t waits, size_t texts, tr_error *error)
{
    *completion = (tr_completion){.counts.texts = texts};
    completion->first_wait = alloc_sizes(requests);
    completion->waits = calloc(waits ? waits : 1, sizeof *completion->waits);
    completion->pending = alloc_sizes(texts);
    completion->repeats = alloc_sizes(texts);
    completion->complete = alloc_sizes(texts);
    if (!completion->first_wait || !completion->waits || !completion->pending || !completion->repeats ||
        !completion->complete) {
        tr_completion_free(completion);
        return tr_fail_memory(error, "translation");
    }
    for (size_t i = 0; i < requests; i++)
        completion->first_wait[i] = SIZE_MAX;
    return TR_OK;
}

void tr_completion_free(tr_completion *completion)
{
    free(completion->first_wait);
    free(completion->waits);
    free(completion->pending);
    free(completion->repeats);
    free(completion->complete);
    *completion = (tr_completion){0};
}

void tr_completion_wait_for(tr_completion *completion, size_t text, size_t request)
{
    completion->waits[completion->wait_count] = (tr_completion_wait){text, completion->first_wait[request]};
    completion->first_wait[request] = completion->wait_count++;
    completion->pending[text]++;
}

void tr_completion_repeat(tr_completion *completion, size_t text)
{
    completion->repeats[text]++;
}

void tr_completion_text(tr_completion *completion, size_t text)
{
    completion->counts.texts_done += 1 + completion->repeats[text];
}

size_t tr_completion_request(tr_completion *completion, const tr_request *request, size_t index, const size_t **texts)
{
    size_t count = 0;
    tr_progress_add(&completion->counts, request, 0);
    for (size_t w = completion->first_wait[index]; w != SIZE_MAX; w = completion->waits[w].next) {
        const size_t text = completion->waits[w].text;
        if (--completion->pending[text])
            continue;
        completion->complete[count++] = text;
        tr_completion_text(completion, text);
    }
    *texts = completion->complete;
    return count;
}

void tr_progress_add(tr_progress *progress, const tr_request *request, size_t texts)
{
    progress->source_tokens += (uint64_t)request->source_tokens;
    progress->target_tokens += (uint64_t)request->target_length;
    progress->texts_done += texts;
}

tr_status tr_progress_report(const tr_progress *progress, int (*on_progress)(void *argument, const tr_progress *progress),
                             void *argument, tr_error *error)
{
    if (on_progress && on_progress(argument, progress))
        return tr_fail(error, TR_ERROR_CANCELLED, "translation: cancelled by the progress callback");
    return TR_OK;
}
