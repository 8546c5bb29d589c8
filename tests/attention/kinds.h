/* Each kind at least once, for tests of what is true for all of them. */
#ifndef TR_TESTS_ATTENTION_KINDS_H
#define TR_TESTS_ATTENTION_KINDS_H

#include "fixture.h"

static const tr_attention_options some_of_each_kind[] = {
    {.kind = TR_ATTENTION_EXACT},
    {.kind = TR_ATTENTION_LOCAL, .window = 11},
    {.kind = TR_ATTENTION_LOCAL, .window = 0},
    {.kind = TR_ATTENTION_BLOCK_SPARSE, .block = 13, .local_blocks = 1, .global_tokens = 7},
    {.kind = TR_ATTENTION_BLOCK_SPARSE, .block = 8, .local_blocks = 0, .random_blocks = 2, .global_tokens = 3, .seed = 5},
    {.kind = TR_ATTENTION_LINEAR},
    {.kind = TR_ATTENTION_LOW_RANK, .rank = 9},
    {.kind = TR_ATTENTION_LOW_RANK, .pool = 6},
};
enum { SOME_KINDS = sizeof some_of_each_kind / sizeof *some_of_each_kind };

/* LINEAR and LOW_RANK take only masks that are the same for all queries, and nothing that is added to scores. */
static inline bool masks_by_query(tr_attention_kind kind)
{
    return kind != TR_ATTENTION_LINEAR && kind != TR_ATTENTION_LOW_RANK;
}

/* Every mask that the kind allows. Lengths: most of the keys of each batch. */
static inline void give_all_masks(trial *t)
{
    const bool by_query = masks_by_query(t->options.kind);
    int64_t lengths[64];
    assert_true(t->shape.batch <= 64);
    for (int64_t b = 0; b < t->shape.batch; b++)
        lengths[b] = t->shape.keys - t->shape.keys / 5 - b;
    limit(t, lengths, false);
    allow_some(t, by_query ? "bhq" : "bh");
    if (by_query) {
        add_some(t, "hq");
        add_prior(t, "h");
    }
    t->mask.causal = t->options.kind != TR_ATTENTION_LOW_RANK;
    t->mask.position = 17;
}

#endif
