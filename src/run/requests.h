/* The requests of a call: made of chunks, put in the order in which they are decoded, and which texts wait for which of
 * them. */
#ifndef TR_RUN_REQUESTS_H
#define TR_RUN_REQUESTS_H

#include "decoding/decoding.h"
#include "text/plan.h"

/* Makes a request for each chunk that has tokens; with merge, one for all chunks with the same ids that are pieces alike and
 * have no prefix. Sets chunk->request. The ids of chunks[i] begin at bases[i] + chunks[i]->ids and must outlive the
 * requests. */
tr_status tr_requests_make(tr_text_chunk *const *chunks, const int32_t *const *bases, size_t count, bool merge,
                           tr_request **requests, size_t *request_count, tr_error *error);

void tr_requests_free(tr_request *requests, size_t count); /* NULL is allowed */

/* Source tokens of a batch for each sequence that it may hold: bounds the memory of encoder rows and of keys and values. */
enum { TR_BATCH_TOKENS = 128 };

/* Requests that are sorted together: the first window is small, so that the first results come soon, each further one twice
 * as large as that before. The last is at least half full: what is decoded last should be short, so that threads end
 * together. */
enum { TR_FIRST_WINDOW = 64, TR_LARGEST_WINDOW = 256 };

/* order [count]: the requests, window by window, in each the longest source first, equal ones in their own order. */
tr_status tr_requests_order(const tr_request *requests, size_t count, size_t *order, tr_error *error);

/* Copies count >= 1 hypotheses out of a worker's memory. On failure there are none. */
tr_status tr_hypotheses_copy(const tr_search_result *found, int count, tr_hypotheses *copy, tr_error *error);
void tr_hypotheses_cut(tr_hypotheses *hypotheses, size_t count); /* leaves the first count */
void tr_hypotheses_clear(tr_hypotheses *hypotheses);             /* frees what it owns, and zeroes it */

/* A text that waits for a request. */
typedef struct tr_completion_wait {
    size_t text;
    size_t next; /* the next wait for the same request, SIZE_MAX: none */
} tr_completion_wait;

/* Which texts are complete: several texts may wait for one request, and a text for several. */
typedef struct tr_completion {
    tr_progress counts;
    size_t *first_wait;        /* [requests] SIZE_MAX: none */
    tr_completion_wait *waits; /* [wait_count] */
    size_t wait_count;
    size_t *pending;  /* [texts] requests that a text waits for */
    size_t *repeats;  /* [texts] equal texts that are complete with it */
    size_t *complete; /* [texts] what tr_completion_request returns */
} tr_completion;

/* waits: calls of tr_completion_wait_for, at most. */
tr_status tr_completion_init(tr_completion *completion, size_t requests, size_t waits, size_t texts, tr_error *error);
void tr_completion_free(tr_completion *completion);

void tr_completion_wait_for(tr_completion *completion, size_t text, size_t request);
void tr_completion_repeat(tr_completion *completion, size_t text); /* one more text is complete when text is */
void tr_completion_text(tr_completion *completion, size_t text);   /* counts a text that waits for no request */

/* Counts a request that is complete. Returns how many texts are complete with it; *texts: which, until the next call. */
size_t tr_completion_request(tr_completion *completion, const tr_request *request, size_t index, const size_t **texts);

/* Adds the tokens of a request, and texts. */
void tr_progress_add(tr_progress *progress, const tr_request *request, size_t texts);
/* Calls the caller's function, unless it is NULL. TR_ERROR_CANCELLED if it returns other than 0. */
tr_status tr_progress_report(const tr_progress *progress, int (*on_progress)(void *argument, const tr_progress *progress),
                             void *argument, tr_error *error);

#endif
