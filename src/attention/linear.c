#include "attention/linear.h"

#include <string.h>

enum {
    PART = 2048, /* keys that are summed in one unit of work */
    TILE = 256
};

void tr_linear_kind_add_buffers(tr_linear_kind *kind, const tr_call *call, int threads, tr_layout *layout)
{
    const uint64_t d_k = (uint64_t)call->d_k;
    kind->call = call;
    kind->width = tr_pad16(call->d_v);
    kind->weights = (size_t)call->d_k * (size_t)kind->width;
    kind->state = kind->weights + (size_t)tr_pad16(call->d_k);
    kind->tile = call->options.tile && call->options.tile < TILE ? (int)call->options.tile : TILE;
    kind->tiles = (call->queries - 1) / kind->tile + 1;
    kind->parts = (call->keys - 1) / PART + 1;
    if (call->mask.causal)
        kind->states = tr_layout_add_per_thread(layout, threads, kind->state, sizeof(float));
    else
        kind->sums = tr_layout_add(layout, (uint64_t)call->pairs * (uint64_t)kind->parts, kind->state * sizeof(float));
    kind->at = tr_layout_add_per_thread(layout, threads, TR_KEY_CHUNK, sizeof(int));
    kind->keys = tr_layout_add_per_thread(layout, threads, TR_KEY_CHUNK * d_k, sizeof(float));
    kind->values = tr_layout_add_per_thread(layout, threads, TR_KEY_CHUNK * (uint64_t)kind->width, sizeof(float));
    kind->keys_transposed =
        tr_layout_add_per_thread(layout, threads, TR_BLOCK * (uint64_t)tr_pad16(call->d_k), sizeof(float));
    kind->queries = tr_layout_add_per_thread(layout, threads, TR_KEY_CHUNK * d_k, sizeof(float));
    kind->results = tr_layout_add_per_thread(layout, threads, TR_KEY_CHUNK * (uint64_t)kind->width, sizeof(float));
    kind->totals = tr_layout_add_per_thread(layout, threads, TR_KEY_CHUNK, sizeof(float));
    kind->scores = tr_layout_add_per_thread(layout, threads, TR_KEY_CHUNK * TR_KEY_CHUNK, sizeof(float));
    kind->scratch = tr_layout_add_per_thread(
        layout, threads, tr_matmul_scratch(call->d_k > TR_KEY_CHUNK ? call->d_k : TR_KEY_CHUNK), sizeof(float));
}

/* Unit: a part of a pair's keys. */
static void sum_part(const void *work, int thread, int64_t unit)
{
    const tr_linear_kind *l = work;
    const int first = (int)(unit % l->parts) * PART, last = l->call->keys - first < PART ? l->call->keys : first + PART;
    float *sum = l->sums + (size_t)unit * l->state;
    memset(sum, 0, l->state * sizeof *sum);
    for (int key = first; key < last; key += TR_KEY_CHUNK) {
        const tr_key_chunk chunk = tr_key_chunk_read(l, thread, unit / l->parts, key);
        tr_key_chunk_add(l, thread, &chunk, sum);
    }
}

/* Unit: a pair. */
static void add_parts(const void *work, int thread, int64_t unit)
{
    const tr_linear_kind *l = work;
    float *all = l->sums + (size_t)unit * (size_t)l->parts * l->state;
    (void)thread;
    for (int part = 1; part < l->parts; part++)
        l->call->kernels->add(all, all, all + (size_t)part * l->state, (int)l->state);
}

/* Unit: a tile of a pair's queries. */
static void apply(const void *work, int thread, int64_t unit)
{
    const tr_linear_kind *l = work;
    const tr_call *call = l->call;
    const int64_t pair = unit / l->tiles;
    const int begin = (int)(unit % l->tiles) * l->tile,
              end = call->queries - begin < l->tile ? call->queries : begin + l->tile;
    const float *all = l->sums + (size_t)pair * (size_t)l->parts * l->state;
    for (int first = begin, n; first < end; first += n) {
        n = end - first < TR_KEY_CHUNK ? end - first : TR_KEY_CHUNK;
        tr_linear_apply(l, thread, all, tr_key_chunk_queries(l, thread, pair, first, n), n);
        tr_linear_write(l, thread, pair, first, n);
    }
}

/* Weights, computed from the scores: the sums over keys do not contain them. */

/* The queries first .. first + count - 1: writes the scores, then divides them by their sum. */
static void write_weights(const tr_linear_kind *l, int thread, int64_t pair, int first, int count)
{
    const tr_call *call = l->call;
    const float *queries = tr_key_chunk_queries(l, thread, pair, first, count);
    double totals[TR_KEY_CHUNK] = {0};
    memset(tr_row_weights(call, pair, first), 0, (size_t)count * (size_t)call->columns * sizeof(float));
    const int64_t end = call->mask.causal ? call->mask.position + first + count : call->keys;
    for (int key = 0; key < call->keys && key < end; key += TR_KEY_CHUNK) {
        const tr_key_chunk chunk = tr_key_chunk_read(l, thread, pair, key);
        if (!chunk.count)
            continue;
        const float *scores = tr_key_chunk_scores(l, thread, &chunk, queries, first, count);
        for (int i = 0; i < count; i++) {
            float *row = tr_row_weights(call, pair, first + i);
            for (int j = 0; j < chunk.count; j++) {
                row[chunk.at[j]] = scores[i * TR_KEY_CHUNK + j];
                totals[i] += scores[i * TR_KEY_CHUNK + j];
            }
        }
    }
    for (int i = 0; i < count; i++) {
        float *row = tr_row_weights(call, pair, first + i);
        const float factor = totals[i] == 0 ? 0 : (float)(1 / totals[i]);
        for (int j = 0; j < call->columns; j++)
            row[j] = row[j] == 0 ? 0 : row[j] * factor; /* 0 where the query does not attend, even if its sum is NaN */
    }
}

static void write_tile_weights(const void *work, int thread, int64_t unit)
{
    const tr_linear_kind *l = work;
    const int begin = (int)(unit % l->tiles) * l->tile, left = l->call->queries - begin,
              end = begin + (left < l->tile ? left : l->tile);
    for (int first = begin; first < end; first += TR_KEY_CHUNK)
        write_weights(l, thread, unit / l->tiles, first, end - first < TR_KEY_CHUNK ? end - first : TR_KEY_CHUNK);
}

void tr_linear_kind_phases(const tr_linear_kind *kind, tr_phases *phases)
{
    const int64_t pairs = kind->call->pairs;
    if (kind->call->mask.causal) {
        tr_phases_add(phases, pairs, tr_linear_causal, kind);
    } else {
        tr_phases_add(phases, pairs * kind->parts, sum_part, kind);
        if (kind->parts > 1)
            tr_phases_add(phases, pairs, add_parts, kind);
        tr_phases_add(phases, pairs * kind->tiles, apply, kind);
    }
    if (kind->call->weights)
        tr_phases_add(phases, pairs * kind->tiles, write_tile_weights, kind);
}
