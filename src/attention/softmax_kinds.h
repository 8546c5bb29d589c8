/* The kinds of attention with a softmax: keys and values (for LOW_RANK compressed ones) are packed into blocks of 32, then
 * tiles of queries attend to them. */
#ifndef TR_ATTENTION_SOFTMAX_KINDS_H
#define TR_ATTENTION_SOFTMAX_KINDS_H

#include "attention/low_rank.h"
#include "attention/mask.h"
#include "attention/phases.h"
#include "attention/sparse.h"

typedef struct tr_softmax_kind {
    const tr_call *call;
    int tile, tiles;        /* queries of a unit of work, units of a pair */
    int blocks;             /* of a pair */
    int64_t resident_pairs; /* pairs whose blocks are in memory at the same time */
    size_t block_floats, value_offset;
    float *memory;          /* [resident_pairs, blocks, block_floats] */
    const float **pointers; /* [resident_pairs, blocks] */
    bool *nonfinite;        /* [resident_pairs, blocks]: see tr_attn_prefill */
    float *bias;            /* LOW_RANK: [resident_pairs, columns] */
    tr_mask_buffers mask;
    tr_sparse_buffers sparse;
    tr_low_rank_buffers low_rank;
    tr_thread_buffers queries; /* float [TR_STRIP, d_k]: BF16 queries widened */
} tr_softmax_kind;

/* threads: maximum threads that will run it. */
void tr_softmax_kind_add_buffers(tr_softmax_kind *kind, const tr_call *call, int threads, tr_layout *layout);
void tr_softmax_kind_phases(const tr_softmax_kind *kind, tr_phases *phases);

#endif
