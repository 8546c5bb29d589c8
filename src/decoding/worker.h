/* A worker: the parts that decode.c and forced.c put together. Each part has one owner, the file of its name, and knows
 * nothing of the worker. Parts that only some searches need are zeroed until a search needs them. */
#ifndef TR_DECODING_WORKER_H
#define TR_DECODING_WORKER_H

#include "decoding/batch.h"
#include "decoding/candidates.h"
#include "decoding/sample.h"
#include "decoding/score.h"
#include "model/transformer.h"

/* What the threads do together until the next barrier. */
typedef enum tr_phase { TR_PHASE_END, TR_PHASE_ENCODE, TR_PHASE_DECODE } tr_phase;

struct tr_worker {
    tr_ensemble models;
    tr_model_state *states; /* [models.count]; barriers of the worker are those of the first */
    int max_threads, max_positions;

    tr_batch batch;
    tr_hyp_memory hyps;
    tr_search search;
    tr_forbidden forbidden;
    tr_shortlist_outputs shortlists; /* with a shortlist */
    tr_candidates candidates;        /* with log-probabilities, constraints, or several models */
    tr_sampler sampler;              /* for sampling */
    tr_coverage coverage;            /* with a coverage penalty */
    struct tr_forced_work *forced;   /* for forced decoding; NULL before */
    float *traced_logits;            /* [rows, outputs] while tracing */

    /* the call at hand, written by thread 0 between two barriers */
    const tr_decode_callbacks *callbacks;
    bool forcing; /* forced decoding; else a search */
    tr_phase phase;
    bool by_candidates; /* this step chooses tokens by candidates or samples; else by argmax */
    tr_status status;
    tr_error error;
};

/* Thread 0: begins a call of tr_decode. */
tr_status tr_worker_start(tr_worker *worker, const tr_decode_options *options, const tr_decode_callbacks *callbacks,
                          tr_error *error);

/* Reserves the memory of candidates, if there is none yet. */
tr_status tr_worker_reserve_candidates(tr_worker *worker, tr_error *error);

/* Frees what tr_worker_prepare_forced has made (forced.c); NULL is allowed. */
void tr_forced_free(struct tr_forced_work *work);

#endif
