/* The batch: places for sentences that are decoded side by side, taken when a sentence comes and free again when it is
 * complete; and the encoder's turn of sentences that have just come. Thread 0 alone calls these functions, but for
 * tr_batch_encode. */
#ifndef TR_DECODING_BATCH_H
#define TR_DECODING_BATCH_H

#include "decoding/hypotheses.h"

typedef struct tr_batch {
    tr_slot *slots; /* [capacity] */
    int capacity;
    int max_sentences, max_tokens; /* of the call at hand: sentences, and source tokens of more than one */
    int *order;                    /* [capacity] places: order[0..decoded) are in the decoder, in the order of their rows;
                                      order[decoded..taken) wait for the encoder; the others are free */
    int *leaving;                  /* [capacity] places */
    int decoded, taken;            /* sentences */
    int tokens;                    /* source tokens of those taken */
    int rows; /* of the decoder's step: one for each live hypothesis, whose next token is wanted or known */
    int prefill_rows,
        max_prefill_rows;      /* more rows of the step, after those: known tokens that are computed with the next */
    int self_seqs, cross_seqs; /* entries of tr_model_state's in the step */
    int chunk, chunk_rows;     /* sentences in the encoder, order[decoded..decoded + chunk), and their tokens */
} tr_batch;

tr_status tr_batch_init(tr_batch *batch, int capacity, tr_error *error);
void tr_batch_free(tr_batch *batch); /* a zeroed struct is allowed */

/* A call begins: all places are free. TR_ERROR_ARGUMENT: options.rows is out of range. */
tr_status tr_batch_start(tr_batch *batch, const tr_decode_options *options, tr_error *error);

tr_slot *tr_batch_slot(const tr_batch *batch, int i);

/* Whether enough places are free for new sentences. */
bool tr_batch_wants_sentences(const tr_batch *batch);
/* Takes the next sentence of the feed; NULL: there is no place, or the feed has none now. */
tr_slot *tr_batch_take(tr_batch *batch, const tr_decode_callbacks *feed);
/* TR_ERROR_ARGUMENT: a source is too long or has tokens outside the vocabulary. */
tr_status tr_check_source(const tr_sequence *seq, const tr_config *config, int max_positions, tr_error *error);

/* Lays out the encoder's next chunk: sentences that wait, with at most max_rows source tokens and as many rows of forced
 * targets, or one that has more. */
tr_status tr_batch_lay_out_chunk(tr_batch *batch, tr_model_state *models, int model_count, int max_rows, tr_error *error);
/* All threads: runs the encoder on the chunk, and projects its output to the keys and values of every decoder layer's
 * cross-attention. */
void tr_batch_encode(const tr_batch *batch, tr_model_state *models, int model_count, int thread);

/* A sentence in the decoder leaves the batch, which returns it; its place is free after tr_batch_compact. */
tr_sequence *tr_batch_leave(tr_batch *batch, tr_slot *slot, tr_model_state *models, int model_count);
/* Frees the places of sentences that have left; all others are in the decoder. */
void tr_batch_compact(tr_batch *batch);

#endif
