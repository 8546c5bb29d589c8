/* The hypotheses of the sentences in a batch: live ones, each a row of the decoder, and finished ones. All memory is made at
 * once; hypotheses are taken from the free ones of their sentence. Thread 0 alone calls these functions. */
#ifndef TR_DECODING_HYPOTHESES_H
#define TR_DECODING_HYPOTHESES_H

#include "decoding/decoding.h"
#include "decoding/model_state.h"
#include "decoding/shortlist.h"

/* What one model's decoder keeps of a live hypothesis. */
typedef struct tr_hyp_cache {
    tr_kv_cache self; /* with self-attention */
    float *recurrent; /* else; see tr_recurrent_floats */
} tr_hyp_cache;

typedef struct tr_live_hyp {
    int32_t *tokens;          /* [slot's step] */
    float *log_probabilities; /* [slot's step] */
    float sum;                /* of log-probabilities, after a repetition penalty */
    tr_hyp_cache *caches;     /* [models] */
    float *coverage;          /* [source_length] attention that each source token has got; NULL without a coverage penalty */
} tr_live_hyp;

typedef struct tr_finished_hyp {
    int32_t *tokens;          /* [count] without EOS */
    float *log_probabilities; /* [count + finished] */
    int count;
    float score;   /* 0 where log-probabilities are not wanted */
    bool finished; /* it ended with EOS */
} tr_finished_hyp;

/* The hypotheses that compete with each other. A sentence has one beam; with sampling one of a single hypothesis for each
 * draw, with alternatives one for each first token. */
typedef struct tr_beam {
    tr_live_hyp **live;         /* [live_count] best first */
    tr_finished_hyp **finished; /* [finished_count] best first; after them the free ones */
    int live_count, finished_count;
    int first_row; /* of its live hypotheses in the decoder's step */
} tr_beam;

/* What one model keeps of a source. */
typedef struct tr_source_cache {
    tr_kv_cache encoder, cross;
} tr_source_cache;

/* A place in the batch, and the sentence that has it. */
typedef struct tr_slot {
    tr_sequence *sequence;
    uint64_t draw_key;              /* what its draws depend on, where the search samples */
    tr_source_cache *caches;        /* [models] */
    tr_shortlist_output *shortlist; /* NULL: any token can come */
    uint32_t strays;                /* bit i: config.copy_symbols[i] may not come, as the source lacks it */
    int step;                       /* tokens that each live hypothesis has */
    int first_row, rows;            /* its rows in the decoder's step: one for each live hypothesis, beam after beam */
    int prefill;                    /* known tokens that the step computes besides, for each of these hypotheses */
    int first_prefill_row;          /* [rows, prefill] */
    tr_beam *beams;
    tr_live_hyp **free_hyps; /* [free_hyp_count] */
    int free_hyp_count;
} tr_slot;

/* How many hypotheses a sentence has. */
typedef struct tr_beam_shape {
    int beams, width; /* beams of so many live hypotheses */
    int finished;     /* finished ones of a beam */
    bool coverage;    /* live ones have their coverage */
} tr_beam_shape;

/* A hypothesis of a beam, and a token that continues it. */
typedef struct tr_continuation {
    int hyp; /* live[hyp] */
    float sum;
    int32_t id;
    float log_probability;
} tr_continuation;

typedef struct tr_hyp_memory {
    tr_model_state *models; /* [model_count] */
    int model_count, positions;
    tr_beam_shape capacity;    /* of each slot; beams 0: there is no memory */
    tr_search_result *results; /* [capacity's beams or finished ones] of the sentence that is handed over */
    tr_arena arena;
} tr_hyp_memory;

/* Makes the hypotheses of slots [count]. h is zeroed but for models, model_count and positions. */
tr_status tr_hyp_memory_init(tr_hyp_memory *h, tr_slot *slots, int count, tr_beam_shape capacity, tr_error *error);
void tr_hyp_memory_free(tr_hyp_memory *h);

/* A sentence begins: each of the first `live` of its beams gets a hypothesis without tokens; the others are empty. */
void tr_slot_begin(const tr_hyp_memory *h, tr_slot *slot, int live, int beams);
/* Takes back the live hypotheses, whatever became of them; the pools are reset apart. */
void tr_slot_clear(const tr_hyp_memory *h, tr_slot *slot);

/* The hypothesis's token number step. value is added to the sum. */
void tr_live_hyp_append(tr_live_hyp *hyp, int step, int32_t id, float log_probability, float value);

/* Makes *fork a copy of a live hypothesis of the slot, which has `step` tokens and step + 1 positions in the caches. */
tr_status tr_live_hyp_fork(const tr_hyp_memory *h, tr_slot *slot, const tr_live_hyp *from, tr_live_hyp **fork,
                           tr_error *error);

/* Replaces the live hypotheses of a beam by next [count]. */
tr_status tr_beam_continue(const tr_hyp_memory *h, tr_slot *slot, tr_beam *beam, const tr_continuation *next, int count,
                           tr_error *error);

/* How a hypothesis ends. */
typedef struct tr_hyp_end {
    int length;            /* tokens of the live hypothesis that count */
    int32_t last;          /* one more token; -1: none */
    bool finished;         /* EOS follows */
    float log_probability; /* of EOS or last */
    float score;
} tr_hyp_end;

/* Adds a finished hypothesis if it is among the best `limit`; of equal scores the first counts as better. */
void tr_beam_add_finished(tr_beam *beam, int limit, const tr_live_hyp *hyp, tr_hyp_end end);
/* Gives back the live hypotheses of a beam. */
void tr_beam_end(const tr_hyp_memory *h, tr_slot *slot, tr_beam *beam);
/* Whether no beam has a live hypothesis. */
bool tr_slot_is_complete(const tr_slot *slot, int beams);

/* Makes the finished hypotheses the results of the slot's sentence, best first: the best `of_each` of every beam. */
void tr_slot_hand_over(const tr_hyp_memory *h, tr_slot *slot, int beams, int of_each, bool probabilities);

#endif
