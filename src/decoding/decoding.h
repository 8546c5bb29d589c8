/* Decoding: sentences are pulled from a feed into a batch, encoded, and decoded side by side, a token a step for each; those
 * that are complete leave the batch, and others take their place. What a sentence becomes does not depend on the others. */
#ifndef TR_DECODING_DECODING_H
#define TR_DECODING_DECODING_H

#include <stdatomic.h>

#include "decoding/loops.h"
#include "decoding/ensemble.h"
#include "model/shortlist.h"
#include "model/sequence.h"
#include "model/workspace.h"

typedef struct tr_forced tr_forced; /* see forced.h */

/* What a source may become. */
typedef struct tr_search_result {
    const int32_t *tokens;          /* [count], without the end mark */
    const float *log_probabilities; /* [count + finished], the end mark's last; NULL: not asked for */
    int count;
    float score; /* what hypotheses are compared by */
    bool finished;
} tr_search_result;

/* One sentence on its way. The caller owns its memory. */
typedef struct tr_sequence {
    const int32_t *source; /* [source_length], the end mark included; 1 .. the models' max_positions */
    int source_length;
    int max_length;        /* 1 .. config.max_positions; tokens, the end mark not counted */
    const int32_t *prefix; /* [prefix_length] tokens that the target begins with, behind tr_decoder_start's */
    int prefix_length;
    bool stop_loops;          /* it ends, unfinished, once it runs in a circle (tr_is_looping); not before min_length */
    int no_repeat_ngram;      /* in place of tr_search_options's; 0: what that says */
    float repetition_penalty; /* the same */
    int32_t *target;          /* [max_length] gets what it becomes; NULL: found alone does */
    int target_length;        /* out: tokens, the end mark not counted */
    bool finished;            /* out: the end mark came; else max_length did, or a circle */
    bool looped;              /* out: a circle ended it */
    const tr_search_result
        *results; /* out: [found_count], best first: that target, and others; the worker's, until done returns */
    int result_count;
    tr_forced *forced; /* for forced decoding alone: its target */
} tr_sequence;

/* A token of a sentence, as it is found. */
typedef struct tr_decoded_token {
    tr_sequence *sequence;
    int draw; /* which of several samples */
    int step; /* from 0 on; what was given counts */
    int32_t id;
    float log_probability; /* 0: not asked for */
    bool last;             /* the sentence, or this sample of it, is complete */
} tr_decoded_token;

/* Where sentences come from and go to. Member 0 alone calls it, between two steps, while the other threads wait. */
typedef struct tr_decode_callbacks {
    /* The next sentence, if it has at most room source tokens; NULL: not now. Asked again later while others are decoded. */
    tr_sequence *(*next)(void *argument, int room);
    /* The sentence is complete and does not belong to the batch any more. False: stop. */
    bool (*done)(void *argument, tr_sequence *sequence);
    void *argument;
    const atomic_bool *stop; /* NULL, or looked at before each step: true stops as well */
    /* NULL, or, with a beam of 1 and without alternatives, sees each token: 0 goes on, above 0 ends the sentence (the
     * sample) with it, unfinished, below 0 stops. */
    int (*token)(void *argument, const tr_decoded_token *step);
} tr_decode_callbacks;

/* How every target begins. */
typedef struct tr_decoder_start {
    int32_t id;       /* the decoder's first input; -1: zeros, where the model starts with them */
    int32_t first_id; /* must be the first token, -1: none must */
} tr_decoder_start;

typedef struct tr_decode_options {
    int rows;       /* sentences in the batch at most, 1 .. batch_size */
    int tokens;     /* source tokens in the batch at most (a single sentence may have more) */
    int min_length; /* tokens that each sentence gets at least, 0 .. its max_length; equal: exactly that many */
    const tr_decoder_start *start; /* NULL: the model's own (config.start_id, forced_first_id) */
} tr_decode_options;

/* The working memory of one worker: a group of one or more threads that decode a batch together. */
typedef struct tr_worker tr_worker;

tr_status tr_worker_create(const tr_ensemble *models, int threads, int batch_size, tr_worker **worker, tr_error *error);
void tr_worker_destroy(tr_worker *worker); /* NULL is allowed */

/* From now on only what the shortlist allows a sentence can come; once, before the first call. The shortlist must outlive
 * the worker. */
tr_status tr_worker_set_shortlist(tr_worker *worker, const tr_shortlist *shortlist, tr_error *error);

/* How targets are searched for from now on, and whether log-probabilities are wanted beside them. Makes the memory that it
 * needs; none may be at work. Without it: the best token at each place, no log-probabilities. */
tr_status tr_worker_set_search(tr_worker *worker, const tr_search_options *search, bool scores, tr_error *error);

/* How many threads there are from now on, at most as many as it was created with. None may be at work. */
void tr_worker_set_threads(tr_worker *worker, int threads);

/* Decodes all that the feed gives. All threads of the worker call this together with the same arguments, thread =
 * 0..threads-1, on threads of their own; it returns once the feed has nothing more for an empty batch. It allocates nothing,
 * takes no lock and calls no system function (the feed's functions may). Every thread gets the same status; error is written
 * by thread 0 alone. Calls may follow each other without a tr_worker_barrier between them. After a failure the sentences
 * that were in the batch are given up. TR_ERROR_NUMERIC: NaN among the logits. TR_ERROR_ARGUMENT: a token or a length out of
 * range. TR_ERROR_CANCELLED: stopped by the feed. */
tr_status tr_decode(tr_worker *worker, int thread, const tr_decode_options *options, const tr_decode_callbacks *callbacks,
                    tr_error *error);

/* For tests; see tr_trace_function. */
void tr_worker_set_trace(tr_worker *worker, tr_trace_function *trace, void *argument);

/* From now on the parts' times are added to profile, as thread 0 sees them; NULL: they are not measured. */
void tr_worker_set_profile(tr_worker *worker, tr_profile *profile);

/* A barrier for the threads of a worker. */
void tr_worker_barrier(tr_worker *worker);

#endif
