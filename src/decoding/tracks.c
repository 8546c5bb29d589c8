/* What a worker has for each of the models that decode together; mostly there is one. */
#include "decoding/worker.h"

#include <stdlib.h>
#include <string.h>

/* A model's places in the blocks and histories, behind those of the models before it. */
static tr_status add_track(tr_worker *w, tr_model_state *state, const tr_network *network, tr_error *error)
{
    const tr_config *c = &network->config;
    state->encoder_shape = tr_encoder_kv_shape(network);
    state->decoder_shape = tr_decoder_kv_shape(network);
    state->decoder_shape.base = w->block_floats;
    const tr_status status = tr_workspace_init(&state->ws, network, w->max_threads, 4096, error);
    state->ws.recurrent_base = w->recurrent_floats;
    state->ws.no_capture = state != w->model_states;
    const size_t block = (tr_kv_block_floats(&state->encoder_shape) * sizeof(float) + 63) & ~(size_t)63;
    w->encoder_block = block > w->encoder_block ? block : w->encoder_block;
    w->block_floats += tr_kv_block_floats(&state->decoder_shape);
    w->recurrent_floats += tr_recurrent_floats(c);
    w->attends = w->attends || c->mixer == TR_MIXER_SELF_ATTENTION;
    w->max_positions = w->max_positions && w->max_positions < c->max_positions ? w->max_positions : c->max_positions;
    return status;
}

tr_status tr_worker_make_model_states(tr_worker *w, tr_error *error)
{
    const size_t bytes = (size_t)w->models.count * sizeof *w->model_states;
    w->model_states = aligned_alloc(64, bytes); /* for the barriers inside */
    if (!w->model_states)
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    memset(w->model_states, 0, bytes);
    w->ws = &w->model_states[0].ws;
    tr_status status = TR_OK;
    for (int t = 0; t < w->models.count && status == TR_OK; t++)
        status = add_track(w, &w->model_states[t], w->models.networks[t], error);
    return status;
}

void tr_worker_free_model_states(tr_worker *w)
{
    for (int t = 0; w->model_states && t < w->models.count; t++)
        tr_workspace_free(&w->model_states[t].ws);
    free(w->model_states);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* The encoder works on turns of TR_ENCODER_ROWS tokens, or on one sentence that is longer. */
static size_t arena_bytes(const tr_worker *w, int track)
{
    const int longest = larger(w->max_positions, TR_ENCODER_ROWS), rows = larger(longest, tr_worker_max_rows(w));
    const size_t blocks =
        (size_t)tr_blocks_for(rows) + (size_t)w->batch_size; /* every sentence may leave one partly filled */
    return tr_workspace_bytes(w->models.networks[track], w->max_threads, rows) + (track ? 0 : w->encoder_block * blocks);
}

tr_status tr_worker_make_arenas(tr_worker *w, tr_error *error)
{
    tr_status status = TR_OK;
    for (int t = 0; t < w->models.count && status == TR_OK; t++) {
        tr_arena_free(&w->model_states[t].ws.arena);
        status = tr_arena_init(&w->model_states[t].ws.arena, arena_bytes(w, t), error);
    }
    return status;
}

void tr_worker_rewind(tr_worker *w)
{
    for (int t = 0; t < w->models.count; t++)
        tr_arena_rewind(&w->model_states[t].ws.arena, 0);
}

bool tr_worker_rows(tr_worker *w, int rows)
{
    bool complete = true;
    for (int t = 0; t < w->models.count; t++)
        complete = complete && tr_workspace_set_rows(&w->model_states[t].ws, rows);
    return complete || tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: too small for the batch");
}
