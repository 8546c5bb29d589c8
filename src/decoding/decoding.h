/* Decoding: sentences come from a feed into a batch, are encoded, and decoded side by side, a token each in a step; complete
 * sentences leave the batch, and others take their places. The result for a sentence does not depend on the others. */
#ifndef TR_DECODING_DECODING_H
#define TR_DECODING_DECODING_H

#include <stdatomic.h>

#include "util/types.h"

#include "model/shortlist.h"
#include "model/sequence.h"
#include "model/workspace.h"

/* Models that decode together, as in Marian: at each step a token's log-probabilities are added up, each model's times its
 * weight. They have the same target tokens, at the same outputs, and the same source tokens; weights add up to 1, so that
 * sums are log-probabilities like those of one model. */
typedef struct tr_ensemble {
    const tr_network *networks[TR_MAX_ENSEMBLE]; /* [count]; what the first one's settings say of tokens counts */
    float weights[TR_MAX_ENSEMBLE];
    int count; /* at least 1 */
} tr_ensemble;

/* One model, by itself. */
tr_ensemble tr_ensemble_of(const tr_network *network);

/* For forced decoding (forced.h): a given target, and where the results for it go; the source is in its tr_sequence. The
 * caller owns all memory. Row r of the decoder yields token r: it reads token r - 1 (row 0: the start token) and attends to
 * rows 0..r. There are rows = length + finished of them. */
typedef struct tr_forced {
    const int32_t *target;    /* [length], without EOS */
    int length;               /* rows: 1 .. config.max_positions */
    bool finished;            /* EOS follows */
    float *log_probabilities; /* out: [rows] of each token given those before it, that of EOS last; NULL: not wanted. The
                                 first token of tr_decoder_start has 0, any other in its place -inf */
    /* out: attention weights; weights NULL: not wanted */
    tr_attention_capture encoder; /* [layers, heads, source_length, source_length] */
    tr_attention_capture decoder; /* [layers, heads, rows, rows] of self-attention; later positions are left as they are */
    tr_attention_capture cross;   /* [layers, heads, rows, source_length] */
} tr_forced;

/* A finished hypothesis. */
typedef struct tr_search_result {
    const int32_t *tokens;          /* [count], without EOS */
    const float *log_probabilities; /* [count + finished], that of EOS last; NULL: not wanted */
    int count;
    float score; /* what hypotheses are compared by */
    bool finished;
} tr_search_result;

/* A sentence to decode. The caller owns its memory. */
typedef struct tr_sequence {
    const int32_t *source; /* [source_length], EOS included; 1 .. the models' max_positions */
    int source_length;
    int max_length;        /* target tokens without EOS, 1 .. config.max_positions */
    const int32_t *prefix; /* [prefix_length] tokens that the target begins with, after tr_decoder_start.first_id */
    int prefix_length;
    bool stop_loops;          /* the target ends, unfinished, when it loops (tr_is_looping), but not before min_length */
    bool no_strays;           /* a greedy search leaves out what tr_slot.strays names, as all other searches do anyway */
    int no_repeat_ngram;      /* in place of tr_search_options.no_repeat_ngram; 0: that one holds */
    float repetition_penalty; /* in place of tr_search_options.repetition_penalty; 0: that one holds */
    int32_t *target;          /* [max_length] gets the tokens of the best result; NULL: only results does */
    int target_length;        /* out: tokens without EOS */
    bool finished;            /* out: it ended with EOS; else at max_length, or in a loop */
    bool looped;              /* out: it was stopped in a loop */
    bool strayed;             /* out: it has a copy symbol that its source lacks; not known for samples and beams */
    const tr_search_result *results; /* out: [result_count] best first; the worker's memory, until `done` returns */
    int result_count;
    tr_forced *forced;         /* in forced decoding: the given target; else NULL */
    const atomic_bool *cancel; /* NULL, or read before each step of a search: true takes the sentence out of the batch */
    bool cancelled;            /* out: it was taken out, without results */
} tr_sequence;

/* A new token of a sentence. */
typedef struct tr_decoded_token {
    tr_sequence *sequence;
    int draw; /* which of several samples */
    int step; /* from 0 on, with the tokens of a prefix */
    int32_t id;
    float log_probability; /* 0: not wanted */
    bool last;             /* the sentence, or this sample of it, is complete */
} tr_decoded_token;

/* Where sentences come from and go to. Only thread 0 calls these, between two steps, while the other threads wait. */
typedef struct tr_decode_callbacks {
    /* The next sentence with at most max_tokens source tokens; NULL: none now. Called again later while others are decoded.
     */
    tr_sequence *(*next)(void *argument, int max_tokens);
    /* The sentence is complete and no longer part of the batch. False: stop. */
    bool (*done)(void *argument, tr_sequence *sequence);
    void *argument;
    const atomic_bool *stop; /* NULL, or read before each step: true stops as well */
    /* NULL, or called before each step and before the encoder: false stops as well. It may decode with another worker. */
    bool (*step)(void *argument);
    /* NULL, or, with a beam of 1 and without alternatives, gets each token. It returns 0 to go on, above 0 to end the
     * sentence (the sample) with this token, unfinished, below 0 to stop. */
    int (*token)(void *argument, const tr_decoded_token *token);
} tr_decode_callbacks;

/* How every target begins. */
typedef struct tr_decoder_start {
    int32_t id;       /* the decoder's first input; -1: zeros, where the model starts with them */
    int32_t first_id; /* the first token; -1: any */
} tr_decoder_start;

typedef struct tr_decode_options {
    int rows;       /* sentences in the batch at most, 1 .. batch_size */
    int tokens;     /* source tokens in the batch at most (a single sentence may have more) */
    int min_length; /* target tokens before EOS at least, 0 .. each sentence's max_length; equal: exactly that many */
    const tr_decoder_start *start; /* NULL: the model's own (config.start_id, forced_first_id) */
    /* Forced decoding: each sentence has a tr_forced, and its other fields for targets are not used. min_length, shortlists
     * and forbidden tokens play no part: probabilities are those among all tokens, as in training. */
    bool forced;
} tr_decode_options;

/* One or more threads that decode a batch together, and their memory. */
typedef struct tr_worker tr_worker;

tr_status tr_worker_create(const tr_ensemble *models, int threads, int batch_size, tr_worker **worker, tr_error *error);
void tr_worker_destroy(tr_worker *worker); /* NULL is allowed */

/* From now on a sentence gets only tokens that the shortlist allows it; once, before the first call. The shortlist must
 * outlive the worker. */
tr_status tr_worker_set_shortlist(tr_worker *worker, const tr_shortlist *shortlist, tr_error *error);

/* The search from now on, and whether results have log-probabilities. Makes the memory that the search needs. Not while a
 * thread decodes. A new worker searches greedily, without log-probabilities. */
tr_status tr_worker_set_search(tr_worker *worker, const tr_search_options *search, bool scores, tr_error *error);

/* Makes the memory that a worker without any needs: after a search that ran out of it, before forced decoding. */
tr_status tr_worker_recover(tr_worker *worker, tr_error *error);

/* The number of threads from now on, at most the number of tr_worker_create. Not while a thread decodes. */
void tr_worker_set_threads(tr_worker *worker, int threads);

/* Decodes all sentences of the feed. All threads of the worker call this together with the same arguments, thread =
 * 0..threads-1; it returns once the feed has no sentence for an empty batch. It allocates nothing, takes no lock and calls
 * no system function (the callbacks may), but for the first sentence with constraints of its own (no_repeat_ngram,
 * repetition_penalty) in a search without any: then thread 0 reserves address space, once. Every thread gets the same
 * status; thread 0 alone writes error. Calls may follow each other without a tr_worker_barrier between them. After an error
 * the sentences in the batch are given up. TR_ERROR_NUMERIC: NaN among the logits. TR_ERROR_ARGUMENT: a token or a length is
 * out of range. TR_ERROR_CANCELLED: a callback stopped it. */
tr_status tr_decode(tr_worker *worker, int thread, const tr_decode_options *options, const tr_decode_callbacks *callbacks,
                    tr_error *error);

/* For tests; see tr_trace_function. */
void tr_worker_set_trace(tr_worker *worker, tr_trace_function *trace, void *argument);

/* From now on thread 0's times are added to profile; NULL: they are not measured. */
void tr_worker_set_profile(tr_worker *worker, tr_profile *profile);

/* A barrier for the threads of a worker. */
void tr_worker_barrier(tr_worker *worker);

#endif
