/* The time that decoding spends in each part of the network, and how much work it does there, as thread 0 of a worker
 * measures it. The time of a part is that from entering it to entering the next one. */
#ifndef TR_MODEL_PROFILE_H
#define TR_MODEL_PROFILE_H

#include "util/clock.h"

#include <stddef.h>

typedef enum tr_profile_part {
    TR_PROFILE_REST,    /* embedding, choosing tokens, arranging batches, waiting */
    TR_PROFILE_ENCODER, /* with the projections to keys and values of cross-attention */
    TR_PROFILE_SELF_ATTENTION,
    TR_PROFILE_CROSS_ATTENTION,
    TR_PROFILE_FEED_FORWARD,
    TR_PROFILE_OUTPUT,
    TR_PROFILE_PARTS
} tr_profile_part;

typedef struct tr_profile {
    _Alignas(64) uint64_t nanoseconds[TR_PROFILE_PARTS]; /* begins a cache line: each worker writes to its own profile */
    uint64_t steps, encoder_batches;                     /* runs of decoder and encoder: each reads all weights once */
    uint64_t screened;          /* steps that used the screen (tr_screen) instead of the output matrix */
    uint64_t rows, source_rows; /* rows of the decoder and of the encoder */
    uint64_t encoder_pairs, self_positions, cross_positions; /* positions attended to by all rows, in one layer */
    uint64_t cache_bytes;                                    /* maximum memory of keys and values at a time */
    uint64_t since;                                          /* when the current part was entered */
    tr_profile_part now;
} tr_profile;

/* Ends the current part and enters another; profile may be NULL. */
static inline void tr_profile_enter(tr_profile *profile, tr_profile_part part)
{
    if (!profile)
        return;
    const uint64_t now = tr_nanoseconds();
    profile->nanoseconds[profile->now] += now - profile->since;
    profile->since = now;
    profile->now = part;
}

static inline void tr_profile_start(tr_profile *profile)
{
    *profile = (tr_profile){.since = tr_nanoseconds(), .now = TR_PROFILE_REST};
}

/* Adds the counts of another worker to sum, not its times. */
static inline void tr_profile_add(tr_profile *sum, const tr_profile *profile)
{
    sum->steps += profile->steps;
    sum->encoder_batches += profile->encoder_batches;
    sum->screened += profile->screened;
    sum->rows += profile->rows;
    sum->source_rows += profile->source_rows;
    sum->encoder_pairs += profile->encoder_pairs;
    sum->self_positions += profile->self_positions;
    sum->cross_positions += profile->cross_positions;
    sum->cache_bytes += profile->cache_bytes;
}

#endif
