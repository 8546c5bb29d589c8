/* Where the time of decoding goes, part by part, as one thread of a worker sees it: from where it enters a part to where it
 * enters the next. Without a profile (NULL) nothing is measured. */
#ifndef TR_MODEL_PROFILE_H
#define TR_MODEL_PROFILE_H

#include "util/clock.h"

#include <stddef.h>

typedef enum tr_profile_part {
    TR_PROFILE_REST,    /* embedding, picking tokens, laying out and storing batches, waiting */
    TR_PROFILE_ENCODER, /* with the projections to the decoder's keys and values */
    TR_PROFILE_SELF_ATTENTION,
    TR_PROFILE_CROSS_ATTENTION,
    TR_PROFILE_FEED_FORWARD,
    TR_PROFILE_OUTPUT,
    TR_PROFILE_PARTS
} tr_profile_part;

typedef struct tr_profile {
    _Alignas(64) uint64_t nanoseconds[TR_PROFILE_PARTS]; /* a cache line of its own: each worker writes to one */
    uint64_t steps, encoder_batches;                     /* of decoder and encoder: each reads all its weights once */
    uint64_t screened;          /* steps whose output matrix was read in its coarse copy: see tr_screen */
    uint64_t rows, source_rows; /* that went through them */
    uint64_t encoder_pairs, self_positions, cross_positions; /* positions attended to, over all rows, a layer */
    uint64_t cache_bytes;                                    /* of keys and values, the most at a time */
    uint64_t since;                                          /* when the part at hand was entered */
    tr_profile_part now;
} tr_profile;

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

/* What another worker counted. */
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
