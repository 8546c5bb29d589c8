/* The kinds that have a softmax: keys and values, or summaries of them, are packed into blocks of 32; then tiles of queries
 * attend to them. */
#ifndef TR_ATTENTION_SOFTMAX_KINDS_H
#define TR_ATTENTION_SOFTMAX_KINDS_H

#include "attention/mask.h"
#include "attention/phases.h"
#include "attention/sparse.h"
#include "attention/summaries.h"

typedef struct tr_softmax_kind {
    const tr_call *call;
    int tile, tiles;  /* queries of a unit of work, and how many units a pair has */
    int blocks;       /* of a pair */
    int64_t together; /* pairs that are in memory at a time */
    size_t block_floats, value_offset;
    float *memory;          /* [together, blocks, block_floats] */
    const float **pointers; /* [together, blocks] */
    bool *wild;             /* [together, blocks] */
    float *bias;            /* of summaries: [together, columns] */
    tr_mask_rooms mask;
    tr_sparse_rooms sparse;
    tr_summary_rooms summaries;
    tr_rooms queries; /* float [TR_STRIP, key_size]: of BF16, widened */
} tr_softmax_kind;

/* threads: that it may be run by. */
void tr_softmax_kind_lay_out(tr_softmax_kind *kind, const tr_call *call, int threads, tr_room *room);
void tr_softmax_kind_phases(const tr_softmax_kind *kind, tr_phases *phases);

#endif
