/* Decoding a batch of sentences: encode all, then pick a token a step for each until its end mark. */
#ifndef TR_DECODING_DECODING_H
#define TR_DECODING_DECODING_H

#include "model/network.h"
#include "model/state.h"

/* One sentence on its way. The caller owns all memory. */
typedef struct tr_sentence {
    const int32_t *source; /* [source_length], the end mark included; 1 .. config.max_positions */
    int source_length;
    int32_t *target;   /* [max_length] */
    int target_length; /* out: tokens, the end mark not counted */
    bool finished;     /* out: the end mark came; else max_length did */
} tr_sentence;

typedef struct tr_decode_options {
    int max_length;  /* 1 .. config.max_positions; tokens, the end mark not counted */
    int min_length;  /* 0 .. max_length; equal to max_length: exactly that many tokens */
    bool stop_loops; /* a sentence ends, unfinished, once it runs in a circle (tr_runs_in_circle); not before min_length */
} tr_decode_options;

/* True if the last tokens are the same one to eight over and over: at least three times, and at least twelve tokens. */
bool tr_runs_in_circle(const int32_t *tokens, int count);

/* The working memory of one worker: a group of one or more threads that decode a batch together. */
typedef struct tr_worker tr_worker;

tr_status tr_worker_create(const tr_network *network, int members, int batch_size, tr_worker **worker, tr_error *error);
void tr_worker_destroy(tr_worker *worker); /* NULL is allowed */

/* All members of the worker call this together with the same arguments, member = 0..members-1, on threads of their own;
 * count is 1..batch_size. It allocates nothing and calls no system function. Every member gets the same status; error is
 * written by member 0 alone. Batches may follow each other without a tr_worker_meet between them, but what a batch has put
 * into sentences is complete for other members only behind one.
 * TR_ERROR_NUMERIC: NaN among the logits. TR_ERROR_ARGUMENT: a token or a length out of range. */
tr_status tr_decode_greedy(tr_worker *worker, int member, tr_sentence *const *sentences, int count,
                           const tr_decode_options *options, tr_error *error);

/* For tests; see tr_trace_function. */
void tr_worker_set_trace(tr_worker *worker, tr_trace_function *trace, void *argument);

/* From now on the parts' times are added to profile, as member 0 sees them; NULL: they are not measured. */
void tr_worker_set_profile(tr_worker *worker, tr_profile *profile);

/* A barrier for the members of a worker. */
void tr_worker_meet(tr_worker *worker);

#endif
