/* What a worker has for each of the models that decode together; mostly there is one. */
#include "decoding/worker.h"

#include <stdlib.h>
#include <string.h>

/* A model's places in the blocks and histories, behind those of the models before it. */
static tr_status add_track(tr_worker *w, tr_track *track, const tr_network *network, tr_error *error)
{
    const tr_config *c = &network->config;
    track->encoder_shape = tr_encoder_cache_shape(network);
    track->decoder_shape = tr_decoder_cache_shape(network);
    track->decoder_shape.base = w->block_floats;
    const tr_status status = tr_state_init(&track->state, network, w->most_members, 4096, error);
    track->state.history_base = w->history_floats;
    track->state.unwatched = track != w->tracks;
    const size_t block = (tr_cache_block_floats(&track->encoder_shape) * sizeof(float) + 63) & ~(size_t)63;
    w->encoder_block = block > w->encoder_block ? block : w->encoder_block;
    w->block_floats += tr_cache_block_floats(&track->decoder_shape);
    w->history_floats += tr_history_floats(c);
    w->attends = w->attends || c->history == TR_HISTORY_ATTENTION;
    w->max_positions = w->max_positions && w->max_positions < c->max_positions ? w->max_positions : c->max_positions;
    return status;
}

tr_status tr_worker_make_tracks(tr_worker *w, tr_error *error)
{
    const size_t bytes = (size_t)w->models.count * sizeof *w->tracks;
    w->tracks = aligned_alloc(64, bytes); /* for the barriers inside */
    if (!w->tracks)
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    memset(w->tracks, 0, bytes);
    w->state = &w->tracks[0].state;
    tr_status status = TR_OK;
    for (int t = 0; t < w->models.count && status == TR_OK; t++)
        status = add_track(w, &w->tracks[t], w->models.networks[t], error);
    return status;
}

void tr_worker_free_tracks(tr_worker *w)
{
    for (int t = 0; w->tracks && t < w->models.count; t++)
        tr_state_free(&w->tracks[t].state);
    free(w->tracks);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* The encoder works on turns of TR_ENCODER_ROWS tokens, or on one sentence that is longer. */
static size_t arena_bytes(const tr_worker *w, int track)
{
    const int longest = larger(w->max_positions, TR_ENCODER_ROWS), rows = larger(longest, tr_worker_most_rows(w));
    const size_t blocks =
        (size_t)tr_blocks_for(rows) + (size_t)w->batch_size; /* every sentence may leave one partly filled */
    return tr_state_rows_bytes(w->models.networks[track], w->most_members, rows) + (track ? 0 : w->encoder_block * blocks);
}

tr_status tr_worker_make_arenas(tr_worker *w, tr_error *error)
{
    tr_status status = TR_OK;
    for (int t = 0; t < w->models.count && status == TR_OK; t++) {
        tr_arena_free(&w->tracks[t].state.arena);
        status = tr_arena_init(&w->tracks[t].state.arena, arena_bytes(w, t), error);
    }
    return status;
}

void tr_worker_rewind(tr_worker *w)
{
    for (int t = 0; t < w->models.count; t++)
        tr_arena_rewind(&w->tracks[t].state.arena, 0);
}

bool tr_worker_rows(tr_worker *w, int rows)
{
    bool complete = true;
    for (int t = 0; t < w->models.count; t++)
        complete = complete && tr_state_rows(&w->tracks[t].state, rows);
    return complete || tr_worker_fail(w, TR_ERROR_MEMORY, "working memory: too small for the batch");
}
