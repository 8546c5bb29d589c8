/* Units: the distinct lists of ids that a call computes. Batches: units that are decoded side by side. */
#ifndef TR_PIPELINE_BATCH_H
#define TR_PIPELINE_BATCH_H

#include "pipeline/plan.h"

typedef struct tr_unit {
    const int32_t *source; /* [source_length], the end mark included */
    int source_length;
    bool piece;            /* at most TR_PIECE_TARGET target tokens */
    const int32_t *target; /* out: [target_length], in its batch's memory */
    int target_length;
    bool finished; /* out: the end mark came */
} tr_unit;

/* A unit for each chunk that holds more than an end mark; with merge, one for all that have the same ids and are pieces
 * alike. Fills chunk->unit (SIZE_MAX where there is none). bases[i] are the ids that chunks[i]->ids counts from. */
tr_status tr_units_make(tr_chunk *const *chunks, const int32_t *const *bases, size_t count, bool merge, tr_unit **units,
                        size_t *unit_count, tr_error *error);

typedef struct tr_batch {
    size_t first; /* in tr_batches.order */
    int count;
    bool piece;       /* all its units are */
    int32_t *targets; /* owned; what its units' targets point into */
} tr_batch;

typedef struct tr_batches {
    size_t *order; /* units, pieces last, the longest source first, equal ones in their own order */
    tr_batch *batches;
    size_t count;
} tr_batches;

/* Source tokens of a batch, for each sentence that it may hold: bounds the memory of encoder rows and keys and values. */
enum { TR_BATCH_TOKENS = 128 };

/* Sorts units and cuts them into batches, pieces apart, of at most batch_size, at most batch_size * TR_BATCH_TOKENS source
 * tokens (a single unit may have more), and of about the same number of units for each of groups. */
tr_status tr_batches_make(const tr_unit *units, size_t count, int batch_size, int groups, tr_batches *batches,
                          tr_error *error);
void tr_batches_free(tr_batches *batches);

#endif
