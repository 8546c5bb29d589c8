/* What decoding keeps for one of the models that decode together (tr_ensemble): its working memory, its keys and values, and
 * the descriptions of its rows. A model meets nothing of the others. */
#ifndef TR_DECODING_MODEL_STATE_H
#define TR_DECODING_MODEL_STATE_H

#include "model/sequence.h"
#include "model/workspace.h"
#include "decoding/pool.h"

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
