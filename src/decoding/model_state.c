#include "decoding/model_state.h"

#include <stdlib.h>

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static size_t encoder_block_bytes(const tr_kv_shape *shape)
{
    return (tr_kv_block_floats(shape) * sizeof(float) + 63) & ~(size_t)63;
}

/* The encoder takes chunks of TR_ENCODER_ROWS tokens, or one sentence that is longer. */
static int workspace_rows(tr_model_memory m)
{
    return larger(larger(m.positions, TR_ENCODER_ROWS), m.sentences * m.hypotheses);
}

static size_t workspace_bytes(const tr_model_state *state, const tr_network *network, tr_model_memory m)
{
    const int rows = workspace_rows(m);
    const size_t blocks = (size_t)tr_blocks_for(rows) + (size_t)m.sentences; /* every sentence may leave one partly filled */
    return tr_workspace_bytes(network, m.threads, rows) + encoder_block_bytes(&state->encoder_shape) * blocks;
}

tr_status tr_model_state_init(tr_model_state *state, const tr_network *network, tr_model_memory m, tr_error *error)
{
    const size_t sentences = (size_t)m.sentences, rows = sentences * (size_t)m.hypotheses;
    const size_t blocks = sentences * (size_t)(1 + m.hypotheses) * (size_t)tr_blocks_for(m.positions);
    tr_profile *profile = state->ws.profile;
    const int threads = state->ws.threads ? state->ws.threads : m.threads;
    tr_model_state_free(state);
    *state = (tr_model_state){.encoder_shape = tr_encoder_kv_shape(network),
                              .self_attends = network->config.mixer == TR_MIXER_SELF_ATTENTION,
                              .recurrent_floats = tr_recurrent_floats(&network->config),
                              .max_rows = workspace_rows(m)};
    tr_status status = tr_workspace_init(&state->ws, network, m.threads, workspace_bytes(state, network, m), error);
    state->ws.profile = profile;
    tr_model_state_set_threads(state, threads);
    if (status == TR_OK)
        status = tr_kv_pool_init(&state->pool, tr_decoder_kv_shape(network), blocks, rows, error);
    state->encoder_seqs = calloc(sentences, sizeof *state->encoder_seqs);
    state->cross_seqs = calloc(2 * sentences, sizeof *state->cross_seqs);
    state->self_seqs = calloc(3 * rows, sizeof *state->self_seqs);
    if (status == TR_OK && !(state->encoder_seqs && state->cross_seqs && state->self_seqs))
        status = tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    return status;
}

void tr_model_state_free(tr_model_state *state)
{
    tr_workspace_free(&state->ws);
    tr_kv_pool_free(&state->pool);
    free(state->encoder_seqs);
    free(state->cross_seqs);
    free(state->self_seqs);
}

void tr_model_state_set_threads(tr_model_state *state, int threads)
{
    state->ws.threads = threads;
    tr_barrier_init(&state->ws.barrier, threads);
}

tr_status tr_model_state_set_rows(tr_model_state *state, int rows, tr_error *error)
{
    if (!tr_workspace_set_rows(&state->ws, rows))
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: too small for the batch");
    return TR_OK;
}
