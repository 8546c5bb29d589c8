/* A worker's memory. Everything is made by tr_worker_create and tr_worker_set_search; decoding only hands out what is there.
 */
#ifndef TR_DECODING_WORKER_H
#define TR_DECODING_WORKER_H

#include "decoding/candidates.h"
#include "decoding/decoding.h"
#include "decoding/hypotheses.h"
#include "decoding/pool.h"
#include "decoding/sampling.h"
#include "decoding/shortlist.h"
#include "model/embedding.h"
#include "model/output.h"
#include "model/transformer.h"

/* What the threads do together next. */
typedef enum tr_phase { TR_PHASE_END, TR_PHASE_ENCODE, TR_PHASE_DECODE } tr_phase;

/* A row of the decoder: the newest token of a hypothesis. */
typedef struct tr_row {
    tr_slot *slot;
    tr_live_hyp *path;
} tr_row;

/* One of the models that decode together, as the threads run it. Sentences, hypotheses, segments and cache blocks are those
 * of all: a block holds keys and values of every model, one behind the other, and so does a history. */
typedef struct tr_model_state {
    tr_workspace ws;
    tr_kv_shape encoder_shape; /* of one layer: layers take turns, and so do models */
    tr_kv_shape decoder_shape; /* its part of a block */
} tr_model_state;

struct tr_worker {
    tr_ensemble models;
    tr_model_state *model_states; /* [models.count] */
    tr_workspace *ws;             /* the first one's: what it says of tokens holds for all, its barrier is the worker's */
    int max_positions;            /* tokens that all of them can take */
    bool attends;                 /* one of them has self-attention: a hypothesis has blocks of its own */
    size_t block_floats;          /* of all models */
    size_t recurrent_floats;      /* likewise */
    size_t encoder_block;         /* bytes, of the model that needs most */
    int max_threads, batch_size;
    tr_pool pool;
    tr_slot *slots;                    /* [batch_size] */
    tr_hyp_memory hyps;                /* their hypotheses */
    tr_seq *encoder_seqs, *cross_seqs; /* [batch_size] */
    struct tr_forced_work *forced;     /* NULL: there was no forced decoding yet */
    tr_shortlist_outputs shortlists;   /* shortlist NULL: any token can come */

    tr_search_options search;
    bool probabilities;     /* log-probabilities are wanted */
    tr_beam_shape shape;    /* of the search at hand */
    tr_beam_shape capacity; /* what there is memory for */
    int32_t *forbidden;     /* [forbidden_count] that never come */
    int forbidden_count;
    const float *bias;       /* [target_vocabulary] logits bias, -inf for those */
    float *bias_without_end; /* and for the end mark */
    float *own_bias;         /* memory of bias where the search forbids more than the model */

    tr_row *rows_of;          /* [batch_size * lanes * beam] */
    tr_seq *self_seqs;        /* the same */
    tr_copies copies;         /* what the next step begins with */
    tr_candidates candidates; /* questions NULL before they were first needed */
    int32_t *banned;          /* [rows, max_positions] of the questions */
    float *seen_logits;       /* the same */
    tr_candidate *lists;      /* [beam, most] of one lane */
    tr_continuation *next;    /* [most] */
    tr_search_result *found;  /* [lanes or kept] of the sentence that is handed over */
    tr_sampler sampler;       /* logits NULL before it was first needed */
    float *attended;          /* [rows, heads, max_positions] what a step's rows attend to, where coverage is looked at */
    tr_attention_capture *watches; /* [batch_size] the same */

    /* the work at hand: written by thread 0 between two barriers */
    tr_decode_options options;
    tr_decoder_start start;
    const tr_decode_callbacks *callbacks;
    tr_phase phase;
    bool needs_candidates; /* this step looks at probabilities, not just for the best token */
    int *order;     /* [batch_size] slots: order[0..decoded) are decoded, in the order of their rows, those with more tokens
                       first; order[decoded..taken) wait for the encoder; the rest is free */
    int *freed;     /* [batch_size] */
    int decoded;    /* sentences that are decoded */
    int rows;       /* rows of the decoder: of all their hypotheses */
    int taken;      /* sentences in the batch */
    int tokens;     /* their source tokens */
    int chunk;      /* sentences in the encoder: order[decoded..decoded + chunk) */
    int chunk_rows; /* their tokens */
    tr_status status;
    tr_error error;
    float *traced_logits; /* [rows, target_vocabulary] while tracing */
};

/* Rows of the decoder in a full batch. */
static inline int tr_worker_max_rows(const tr_worker *worker)
{
    return worker->batch_size * worker->capacity.beams * worker->capacity.width;
}

static inline tr_slot *tr_worker_slot(tr_worker *worker, int i)
{
    return &worker->slots[worker->order[i]];
}

/* What a sentence may become; NULL: anything. */
static inline tr_shortlist_output *tr_worker_shortlist(tr_worker *worker, const tr_slot *slot)
{
    return worker->shortlists.shortlist ? &worker->shortlists.items[slot - worker->slots] : NULL;
}

/* The token that must come next in a sentence; -1: it is to be found. */
static inline int32_t tr_worker_forced(const tr_worker *worker, const tr_slot *slot)
{
    const tr_sequence *seq = slot->sequence;
    const int first = worker->start.first_id >= 0, at = slot->step - first;
    return at < 0 ? worker->start.first_id : at < seq->prefix_length ? seq->prefix[at] : -1;
}

/* Makes status and message those of the worker; false. */
bool tr_worker_fail(tr_worker *worker, tr_status status, const char *what);
bool tr_worker_fail_numeric(tr_worker *worker);

/* Member 0, before a step: tells the profile how much of the caches is in use. */
void tr_worker_count_caches(tr_worker *worker);
/* Member 0: takes sentences from the feed where enough places are free. False: failed. */
bool tr_worker_admit(tr_worker *worker);
/* Member 0: what a call begins with. False: failed, the options are out of range. */
bool tr_worker_start(tr_worker *worker, const tr_decode_options *options, const tr_decode_callbacks *callbacks);
/* What a run's threads do together, and how thread 0 prepares the next turn behind each, and the first. */
typedef struct tr_phase_functions {
    void (*encode)(tr_worker *worker, int thread);
    void (*decode)(tr_worker *worker, int thread);
    void (*next)(tr_worker *worker);
} tr_phase_functions;

/* All threads: the turns of a call, from tr_worker_start on to its end; see tr_decode. */
tr_status tr_worker_run(tr_worker *worker, int thread, const tr_decode_options *options,
                        const tr_decode_callbacks *callbacks, const tr_phase_functions *turns, tr_error *error);
/* The tracks of worker->models, and what they come to; their arenas, for the breadth there is room for. */
tr_status tr_worker_make_model_states(tr_worker *worker, tr_error *error);
tr_status tr_worker_make_arenas(tr_worker *worker, tr_error *error);
void tr_worker_free_model_states(tr_worker *worker);
/* Member 0: gives back what the states' arenas hold; and sets up so many rows there (see tr_workspace_set_rows). False:
 * failed. */
void tr_worker_rewind(tr_worker *worker);
bool tr_worker_rows(tr_worker *worker, int rows);
/* Member 0: adds a sentence's source to the encoder's chunk. False: failed. */
bool tr_worker_lay_out_source(tr_worker *worker, tr_slot *slot);
/* Member 0: lays out the encoder's next chunk of those that were taken. False: failed. */
bool tr_worker_lay_out_chunk(tr_worker *worker);
/* All threads: encodes the chunk and projects its output to the keys and values of every decoder layer's cross-attention. */
void tr_worker_encode_chunk(tr_worker *worker, int thread);
/* The same, and gathers what the sentences may become. */
void tr_worker_encode(tr_worker *worker, int thread);

/* All threads: finds the best token of each row that has to be found, by this thread's share of the outputs. */
void tr_worker_argmax(tr_worker *worker, tr_forward *fwd);
/* Member 0, behind it: a row's; id -1: nothing may come. False: NaN. */
bool tr_worker_best_token(tr_worker *worker, int row, tr_candidate *chosen);

/* Whether a sentence has constraints that a search for the best token alone cannot keep. */
bool tr_worker_constrains(const tr_worker *worker, const tr_sequence *sequence);
/* Member 0: what is asked about a row. */
void tr_worker_set_rules(tr_worker *worker, int row);

/* Member 0, behind a step: each hypothesis of a sentence gets its next token. False: failed. */
bool tr_worker_advance(tr_worker *worker, tr_slot *slot, bool *complete);
/* The same of beams; and of the first token behind the prefix where alternatives are asked for. */
bool tr_beam_advance(tr_worker *worker, tr_slot *slot, tr_beam *beam, int first_row);
bool tr_alternatives_begin(tr_worker *worker, tr_slot *slot);
/* Ends a lane whose hypotheses, which have length tokens now, reached a limit, or need not be followed any more. */
void tr_beam_check_limits(tr_worker *worker, tr_slot *slot, tr_beam *beam, int length);
/* Ends it where it is. */
void tr_beam_stop(tr_worker *worker, tr_slot *slot, tr_beam *beam, int length);
/* What was found for a sentence that is complete, as the feed gets it. */
void tr_worker_report(tr_worker *worker, tr_slot *slot);

/* A sum of log-probabilities / tokens^length_penalty, the end mark counted, a prefix not (Wu et al., 2016, without their 5 +
 * and 6). */
float tr_length_normalised(const tr_worker *worker, const tr_sequence *sequence, float sum, int tokens);

/* Coverage, where the search looks at it (breadth.coverage). Floats of worker.attended for so many rows. */
size_t tr_coverage_floats(const tr_worker *worker, int rows);
/* Member 0, before a step and behind it: the rows of sentence i are watched; and what they attended to is added up. */
void tr_coverage_capture(tr_worker *worker, int i);
void tr_coverage_add(tr_worker *worker, int i);
/* What a path is compared by, if its sum were this: its rate, and its coverage penalty. */
float tr_hyp_score(const tr_worker *worker, const tr_sequence *sequence, const tr_live_hyp *hyp, float sum, int tokens);

#endif
