/* A worker's memory. Everything is made by tr_worker_create; decoding only hands out what is there. */
#ifndef TR_DECODING_WORKER_H
#define TR_DECODING_WORKER_H

#include "decoding/decoding.h"
#include "model/state.h"

/* Blocks of 32 positions of keys and values for all decoder layers (see tr_cache), from reserved address space: a block
 * costs memory once it is used, and blocks given back are used again first. */
typedef struct tr_pool {
    tr_arena arena;
    size_t block_bytes;
    float **spare; /* [spare_count], given back */
    int spare_count;
} tr_pool;

struct tr_worker {
    tr_state state;
    int batch_size;
    tr_cache_shape encoder_shape; /* of one layer: layers take turns */
    tr_cache_shape decoder_shape;
    tr_pool pool;
    tr_cache *encoder, *cross, *self;                              /* [batch_size], a sentence each */
    float **block_tables;                                          /* memory of their blocks arrays */
    tr_segment *encoder_segments, *self_segments, *cross_segments; /* [batch_size] */
    float *bias_without_end; /* [target_vocabulary]: logits bias with the end mark at -inf */

    /* the batch at hand: written by member 0 between two barriers */
    tr_sentence *const *sentences;
    int count;
    int chunk_first, chunk_last, chunk_rows; /* sentences in the encoder, and their tokens */
    int *row_sentence;                       /* [batch_size] the sentence that a decoder row belongs to */
    int rows;                                /* sentences still in the batch */
    int step;                                /* tokens that each of them has */
    tr_status status;
    tr_error error;
    float *traced_logits; /* [batch_size, target_vocabulary] while tracing */
};

/* A block, NULL if the reservation is used up (it holds batch_size sentences of full length, so it is not). */
float *tr_pool_take(tr_pool *pool);
/* Gives back all blocks of a cache. */
void tr_pool_give(tr_pool *pool, tr_cache *cache);
/* Takes back every block that was ever handed out. */
void tr_pool_reset(tr_pool *pool);

#endif
