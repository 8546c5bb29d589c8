#include "attention/linear.h"

#include <string.h>

enum {
    PART = 2048, /* keys whose sum is a unit of work */
    TILE = 256
};

void tr_linear_kind_lay_out(tr_linear_kind *kind, const tr_call *call, int threads, tr_room *room)
{
    const uint64_t key_size = (uint64_t)call->key_size;
    kind->call = call;
    kind->width = tr_pad16(call->value_size);
    kind->weights = (size_t)call->key_size * (size_t)kind->width;
    kind->state = kind->weights + (size_t)tr_pad16(call->key_size);
    kind->tile = call->asked.tile && call->asked.tile < TILE ? (int)call->asked.tile : TILE;
    kind->tiles = (call->queries - 1) / kind->tile + 1;
    kind->parts = (call->keys - 1) / PART + 1;
    if (call->mask.causal)
        kind->states = tr_rooms_take(room, threads, kind->state, sizeof(float));
    else
        kind->sums = tr_room_take(room, (uint64_t)call->pairs * (uint64_t)kind->parts, kind->state * sizeof(float));
    kind->at = tr_rooms_take(room, threads, TR_KEY_CHUNK, sizeof(int));
    kind->keys = tr_rooms_take(room, threads, TR_KEY_CHUNK * key_size, sizeof(float));
    kind->values = tr_rooms_take(room, threads, TR_KEY_CHUNK * (uint64_t)kind->width, sizeof(float));
    kind->across = tr_rooms_take(room, threads, TR_BLOCK * (uint64_t)tr_pad16(call->key_size), sizeof(float));
    kind->queries = tr_rooms_take(room, threads, TR_KEY_CHUNK * key_size, sizeof(float));
    kind->results = tr_rooms_take(room, threads, TR_KEY_CHUNK * (uint64_t)kind->width, sizeof(float));
    kind->totals = tr_rooms_take(room, threads, TR_KEY_CHUNK, sizeof(float));
    kind->scores = tr_rooms_take(room, threads, TR_KEY_CHUNK * TR_KEY_CHUNK, sizeof(float));
    kind->scratch = tr_rooms_take(
        room, threads, tr_matmul_scratch(call->key_size > TR_KEY_CHUNK ? call->key_size : TR_KEY_CHUNK), sizeof(float));
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
        tr_phases_add(phases, pairs * kind->tiles, tr_linear_weights, kind);
}
