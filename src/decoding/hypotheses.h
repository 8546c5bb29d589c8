/* Hypotheses: those that are followed, each a row of the decoder, and those that are complete. */
#ifndef TR_DECODING_HYPOTHESES_H
#define TR_DECODING_HYPOTHESES_H

#include "decoding/candidates.h"
#include "decoding/decoding.h"
#include "decoding/pool.h"

/* A hypothesis that is followed. */
typedef struct tr_live_hyp {
    int32_t *tokens;          /* [max_positions] */
    float *log_probabilities; /* [max_positions + 1] */
    float sum;                /* of what its tokens were chosen by: log-probabilities, after what constraints do to them */
    tr_kv_cache self;
    float *recurrent; /* in place of self: see tr_recurrent_floats */
    float *coverage;  /* [source_length] what its tokens attended to each source token with; only where paths have it */
} tr_live_hyp;

/* One that is complete. */
typedef struct tr_finished_hyp {
    int32_t *tokens;
    float *log_probabilities;
    int count;
    float score;
    bool finished; /* its end mark came: log_probabilities has one more */
} tr_finished_hyp;

/* A search of its own within a sentence: beam search is one; each draw of sampling, and each alternative, is another. */
typedef struct tr_beam {
    tr_live_hyp **live; /* [following] best first; room for beam */
    int live_count;
    tr_finished_hyp **finished; /* [kept_count] best first; behind them the free ones */
    int finished_count;
} tr_beam;

/* The place of a sentence in the batch. */
typedef struct tr_slot {
    tr_sequence *sequence;
    uint64_t key; /* what its draws depend on */
    tr_kv_cache encoder, cross;
    int step;      /* tokens that each followed hypothesis has */
    int first_row; /* its rows in the decoder */
    tr_beam *beams;
    tr_live_hyp **free_hyps; /* [spare_count] */
    int free_hyp_count;
} tr_slot;

/* The first filled positions of a block that another one is to begin with. */
typedef struct tr_copy {
    const float *from;
    float *to;
    int filled;
} tr_copy;

typedef struct tr_copies {
    tr_copy *list; /* [count] */
    int count;
} tr_copies;

/* A hypothesis and the token that goes on with it. */
typedef struct tr_continuation {
    int path;
    float sum;
    tr_candidate token;
} tr_continuation;

/* All that the slots' hypotheses are made of. */
typedef struct tr_hyp_memory {
    size_t positions, recurrent_floats;
    bool coverage;
    tr_arena arena;
} tr_hyp_memory;

/* What a search needs of memory, for each sentence. */
typedef struct tr_beam_shape {
    int beams, width; /* lanes times beam hypotheses are followed */
    int finished;     /* complete ones of a lane */
    bool coverage;    /* their coverage is looked at */
} tr_beam_shape;

/* For slots [0..count), of so many positions and floats of history at most. */
tr_status tr_hyp_memory_init(tr_hyp_memory *memory, int positions, size_t history_floats, tr_slot *slots, int count,
                             tr_beam_shape shape, tr_error *error);
void tr_hyp_memory_free(tr_hyp_memory *memory);

/* A sentence begins: each of the first lanes has a hypothesis without tokens, the others of lanes none; none is complete. */
void tr_slot_begin(tr_slot *slot, int first, int lanes, const tr_hyp_memory *memory);
/* Takes back what its lanes follow, whatever became of a run; the pool takes back its blocks by itself. */
void tr_slot_clear(tr_slot *slot, int lanes);
/* Gives back the blocks of what a lane follows. */
void tr_beam_end(tr_slot *slot, tr_beam *beam, tr_pool *pool);

/* The path's token number step. value: what it was chosen by. */
void tr_live_hyp_append(tr_live_hyp *hyp, int step, int32_t id, float log_probability, float value);

/* Another hypothesis like one of the slot's that has its step tokens and is about to get one more; blocks that are full are
 * shared, of the last one, partly filled, a copy is noted. NULL: no block. */
tr_live_hyp *tr_live_hyp_fork(tr_slot *slot, const tr_live_hyp *from, const tr_hyp_memory *memory, tr_pool *pool,
                              tr_copies *copies);

/* The hypotheses that a lane goes on with, in place of those that it follows: next[0..count). False: no block. */
bool tr_beam_set_live(tr_slot *slot, tr_beam *beam, const tr_continuation *next, int count, const tr_hyp_memory *memory,
                      tr_pool *pool, tr_copies *copies);

/* How a hypothesis becomes complete. */
typedef struct tr_hyp_end {
    int before;            /* so many tokens of its path */
    int32_t last;          /* and this one; -1: none */
    bool finished;         /* and the end mark */
    float log_probability; /* of the last one, or of the end mark */
    float score;
} tr_hyp_end;

/* Keeps it, if it is among the best most; of equals those that were first. */
void tr_beam_add_finished(tr_beam *beam, int most, const tr_live_hyp *hyp, const tr_hyp_end *ending);

#endif
