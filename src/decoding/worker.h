/* A worker's memory. Everything is made by tr_worker_create; decoding only hands out what is there. */
#ifndef TR_DECODING_WORKER_H
#define TR_DECODING_WORKER_H

#include "decoding/candidates.h"
#include "decoding/decoding.h"
#include "decoding/shortlist.h"
#include "model/state.h"

/* Blocks of 32 positions of keys and values for all decoder layers (see tr_cache), from reserved address space: a block
 * costs memory once it is used, and blocks given back are used again first. */
typedef struct tr_pool {
    tr_arena arena;
    size_t block_bytes;
    float **spare; /* [spare_count], given back */
    int spare_count;
} tr_pool;

/* The place of a sentence in the batch. */
typedef struct tr_slot {
    tr_sentence *sentence;
    tr_cache encoder, cross, self;
    float *history;           /* in place of self: see tr_history_floats */
    float *log_probabilities; /* [max_positions + 1] where they are wanted */
    tr_found found;
} tr_slot;

/* What the members do together next. */
typedef enum tr_turn { TR_TURN_END, TR_TURN_ENCODE, TR_TURN_DECODE } tr_turn;

struct tr_worker {
    tr_state state;
    int batch_size, most_members;
    tr_cache_shape encoder_shape; /* of one layer: layers take turns */
    tr_cache_shape decoder_shape;
    tr_pool pool;
    tr_slot *slots;                                                /* [batch_size] */
    float **block_tables;                                          /* memory of their caches' blocks arrays */
    float *histories;                                              /* memory of their histories */
    tr_segment *encoder_segments, *self_segments, *cross_segments; /* [batch_size] */
    struct tr_forced_work *forced;                                 /* NULL: there was no forced decoding yet */
    tr_choices choices;                                            /* shortlist NULL: any token can come */
    tr_search search;
    bool scores;              /* log-probabilities are wanted */
    tr_candidates candidates; /* for them; questions NULL before they were first wanted */
    float *log_probabilities; /* memory of the slots' */
    float *bias_without_end;  /* [outputs]: the logits' bias with the end mark at -inf */

    /* the work at hand: written by member 0 between two barriers */
    tr_decode_options options;
    tr_start start;
    const tr_feed *feed;
    tr_turn turn;
    int *order;     /* [batch_size] slots: order[0..rows) are decoded, in the order of their rows, those with more tokens
                       first; order[rows..taken) wait for the encoder; the rest is free */
    int *freed;     /* [batch_size] */
    int rows;       /* sentences that are decoded: rows of the decoder */
    int taken;      /* sentences in the batch */
    int tokens;     /* their source tokens */
    int chunk;      /* sentences in the encoder: order[rows..rows + chunk) */
    int chunk_rows; /* their tokens */
    tr_status status;
    tr_error error;
    float *traced_logits; /* [batch_size, outputs] while tracing */
};

/* A block, NULL if the reservation is used up (it holds batch_size sentences of full length, so it is not). */
float *tr_pool_take(tr_pool *pool);
/* Gives back all blocks of a cache. */
void tr_pool_give(tr_pool *pool, tr_cache *cache);
/* Takes back every block that was ever handed out. */
void tr_pool_reset(tr_pool *pool);

static inline tr_slot *tr_worker_slot(tr_worker *worker, int i)
{
    return &worker->slots[worker->order[i]];
}

/* What a sentence may become; NULL: anything. */
static inline tr_choice *tr_worker_choice(tr_worker *worker, int i)
{
    return worker->choices.shortlist ? &worker->choices.of[worker->order[i]] : NULL;
}

/* Makes status and message those of the worker; false. */
bool tr_worker_fail(tr_worker *worker, tr_status status, const char *what);

/* Member 0: takes sentences from the feed where enough places are free. False: failed. */
bool tr_worker_admit(tr_worker *worker);
/* Member 0: what a call begins with. False: failed, the options are out of range. */
bool tr_worker_start(tr_worker *worker, const tr_decode_options *options, const tr_feed *feed);
/* Member 0: adds a sentence's source to the encoder's chunk. False: failed. */
bool tr_worker_lay_out_source(tr_worker *worker, tr_slot *slot);
/* Member 0: lays out the encoder's next chunk of those that were taken. False: failed. */
bool tr_worker_lay_out_chunk(tr_worker *worker);
/* All members: encodes the chunk and projects its output to the keys and values of every decoder layer's cross-attention. */
void tr_worker_encode_chunk(tr_worker *worker, int member);
/* The same, and gathers what the sentences may become. */
void tr_worker_encode(tr_worker *worker, int member);

#endif
