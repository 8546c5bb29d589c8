/* What decoding keeps for one of the models that decode together (tr_ensemble): its working memory, its keys and values, and
 * the descriptions of its rows. A model meets nothing of the others. */
#ifndef TR_DECODING_MODEL_STATE_H
#define TR_DECODING_MODEL_STATE_H

#include "model/kv_cache.h"
#include "model/sequence.h"
#include "model/workspace.h"
#include "util/arena.h"

/* -------------------------------------------------------------------------------------------------------- key/value pool */

/* The key/value memory of one model's decoder: blocks of 32 positions for all its layers (see tr_kv_cache), from reserved
 * address space. A block costs memory once it is used, and blocks that were given back are used again first. Hypotheses with
 * a common beginning share blocks. One thread at a time, but for tr_kv_pool_copy_blocks. */

/* A block whose first positions are to be copied to another one. */
typedef struct tr_block_copy {
    const float *from;
    float *to;
    int filled; /* positions */
} tr_block_copy;

typedef struct tr_kv_pool {
    tr_kv_shape shape;
    tr_arena arena;
    size_t block_bytes;
    int32_t *holders; /* [blocks] caches that hold a block */
    float **spare;    /* [spare_count] blocks that were given back */
    int spare_count;
    tr_block_copy *copies; /* [copy_count] to be made before the decoder's next step */
    int copy_count;
} tr_kv_pool;

int tr_blocks_for(int positions);

/* For so many blocks, and so many copies between two steps. */
tr_status tr_kv_pool_init(tr_kv_pool *pool, tr_kv_shape shape, size_t blocks, size_t copies, tr_error *error);
void tr_kv_pool_free(tr_kv_pool *pool); /* a zeroed struct is allowed */
/* Takes back every block, and forgets the copies. */
void tr_kv_pool_reset(tr_kv_pool *pool);

/* Adds blocks to a cache until it holds so many positions. TR_ERROR_MEMORY: no block is left; the pool is made for a full
 * batch, so this does not happen. */
tr_status tr_kv_pool_extend(tr_kv_pool *pool, tr_kv_cache *cache, int positions, tr_error *error);
/* Makes `to`, whose blocks are forgotten, a cache with the same `positions` positions as `from`: shares the full blocks, and
 * notes a copy of a last block that is partly filled. */
tr_status tr_kv_pool_fork(tr_kv_pool *pool, const tr_kv_cache *from, tr_kv_cache *to, int positions, tr_error *error);
/* Gives back all blocks of a cache. */
void tr_kv_pool_give(tr_kv_pool *pool, tr_kv_cache *cache);

/* All threads: makes the copies, each thread those of the heads that it reads itself. */
void tr_kv_pool_copy_blocks(const tr_kv_pool *pool, int thread, int threads);

/* ----------------------------------------------------------------------------------------------------------- model state */

typedef struct tr_model_state {
    tr_workspace ws;
    tr_kv_shape encoder_shape; /* one layer: all encoder layers use the same memory one after the other */
    tr_kv_pool pool;           /* of the decoder: cross-attention and self-attention */
    bool self_attends;         /* the decoder has self-attention; else a recurrent state of recurrent_floats */
    size_t recurrent_floats;   /* of one hypothesis */
    tr_seq *encoder_seqs;      /* [sentences] of the chunk in the encoder */
    tr_seq *cross_seqs;        /* [2 * sentences] with the rows of all their hypotheses, and with those of their prefill */
    tr_seq *self_seqs;         /* [3 * hypotheses] each with one row, after at most two with those of its prefill */
    int max_rows;              /* of the workspace */
} tr_model_state;

/* Memory for a batch of `sentences` sentences of at most `positions` tokens, each with at most `hypotheses` hypotheses. */
typedef struct tr_model_memory {
    int threads, sentences, positions, hypotheses;
} tr_model_memory;

/* state is zeroed before the first call; another call replaces its memory. */
tr_status tr_model_state_init(tr_model_state *state, const tr_network *network, tr_model_memory memory, tr_error *error);
void tr_model_state_free(tr_model_state *state);

/* How many threads there are from now on, at most memory.threads. */
void tr_model_state_set_threads(tr_model_state *state, int threads);

/* Thread 0: sets up so many rows in the workspace (see tr_workspace_set_rows). */
tr_status tr_model_state_set_rows(tr_model_state *state, int rows, tr_error *error);

#endif
