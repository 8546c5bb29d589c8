/* Units: the distinct lists of ids that a call computes, and the order in which they are decoded. */
#ifndef TR_RUN_REQUESTS_H
#define TR_RUN_REQUESTS_H

#include "text/plan.h"

typedef struct tr_request {
    const int32_t *source; /* [source_length], the end mark included */
    int source_length;
    int source_tokens;     /* the text's own among them */
    bool piece;            /* at most TR_PIECE_TARGET target tokens */
    const int32_t *prefix; /* [prefix_length] tokens that the target begins with */
    int prefix_length;
    tr_hypotheses found;   /* out, owned; none: not computed yet */
    const int32_t *target; /* out: [target_length] the best of them */
    int target_length;
    bool finished;           /* out: the end mark came */
    bool looped;             /* out: it ran in a circle, and is what a second search found, or what was left of the first */
    struct tr_request *next; /* for the scheduler */
} tr_request;

/* The hypothesis of that rank, or the last one there is. */
static inline const tr_hypothesis *tr_request_hypothesis(const tr_request *request, size_t rank)
{
    return &request->found.items[rank < request->found.count ? rank : request->found.count - 1];
}

/* A unit for each chunk that holds tokens of its text; with merge, one for all that have the same ids, are pieces alike, and
 * have no prefix. Fills chunk->unit (SIZE_MAX where there is none). bases[i] are the ids that chunks[i]->ids counts from. */
tr_status tr_requests_make(tr_text_chunk *const *chunks, const int32_t *const *bases, size_t count, bool merge,
                           tr_request **requests, size_t *unit_count, tr_error *error);

void tr_requests_free(tr_request *requests, size_t count); /* NULL is allowed */

/* Source tokens of a batch, for each sentence that it may hold: bounds the memory of encoder rows and keys and values. */
enum { TR_BATCH_TOKENS = 128 };

/* Units that are sorted together: the first window is small, so that the first results come soon, each further one twice as
 * large as that before. The last is at least half full: what is decoded last should be short, that threads end together. */
enum { TR_FIRST_WINDOW = 64, TR_LARGEST_WINDOW = 256 };

/* order[count]: the units, window by window, in each the longest source first, equal ones in their own order. */
tr_status tr_requests_order(const tr_request *requests, size_t count, size_t *order, tr_error *error);

#endif
