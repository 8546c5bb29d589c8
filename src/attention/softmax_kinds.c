#include "attention/softmax_kinds.h"

#include <string.h>

enum {
    TILE = TR_STRIP,
    TILE_LEAST = 24,
    UNITS_EACH = 8, /* for each thread, so that all are done at about the same time */
    ROUND_EACH = 32 /* the same of a round, behind which all wait for each other */
};

static bool has_summaries(const tr_call *call)
{
    return call->asked.kind == TR_ATTENTION_LOW_RANK;
}

static int choose_tile(const tr_call *call, int threads)
{
    if (call->asked.tile)
        return call->asked.tile < call->queries ? (int)call->asked.tile : call->queries;
    const int64_t each = call->pairs * call->queries / ((int64_t)threads * UNITS_EACH) / TILE_LEAST * TILE_LEAST;
    return each < TILE_LEAST ? TILE_LEAST : each < TILE ? (int)each : TILE;
}

/* As many pairs as fit memory that stays in a large cache and need not be asked of the system anew each time, or as keep all
 * threads busy. */
static int64_t choose_together(const tr_softmax_kind *kind, int threads)
{
    const uint64_t enough = (uint64_t)12 << 20, each = (uint64_t)kind->blocks * kind->block_floats * sizeof(float);
    const int64_t fit = (int64_t)(enough / each), busy = ((int64_t)threads * ROUND_EACH - 1) / kind->tiles + 1;
    const int64_t most = fit > busy ? fit : busy, rounds = (kind->call->pairs - 1) / most + 1;
    return (kind->call->pairs - 1) / rounds + 1; /* all rounds alike */
}

void tr_softmax_kind_lay_out(tr_softmax_kind *kind, const tr_call *call, int threads, tr_room *room)
{
    const size_t keys = (size_t)tr_pad16(call->key_size) * TR_BLOCK, values = (size_t)tr_pad16(call->value_size) * TR_BLOCK;
    kind->call = call;
    kind->tile = choose_tile(call, threads);
    kind->tiles = (call->queries - 1) / kind->tile + 1;
    kind->blocks = (call->columns - 1) / TR_BLOCK + 1;
    kind->value_offset = keys;
    kind->block_floats = keys + values;
    kind->together = choose_together(kind, threads);
    const uint64_t pairs = (uint64_t)kind->together, blocks = pairs * (uint64_t)kind->blocks;
    kind->memory = tr_room_take(room, blocks, kind->block_floats * sizeof *kind->memory);
    kind->pointers = tr_room_take(room, blocks, sizeof *kind->pointers);
    kind->wild = tr_room_take(room, blocks, sizeof *kind->wild);
    kind->queries = tr_rooms_take(room, threads, TR_STRIP * (uint64_t)call->key_size, sizeof(float));
    if (has_summaries(call)) {
        kind->bias = tr_room_take(room, pairs * (uint64_t)call->columns, sizeof *kind->bias);
        tr_summaries_lay_out(&kind->summaries, call, threads, room);
    } else {
        tr_mask_lay_out(&kind->mask, call, threads, room);
    }
    if (call->asked.kind == TR_ATTENTION_BLOCK_SPARSE)
        tr_sparse_lay_out(&kind->sparse, call, threads, room);
}

/* ------------------------------------------------------------------------------------------------------------ packing */

static tr_type type_of(tr_element element)
{
    return element == TR_ELEMENT_BF16 ? TR_TYPE_BF16 : TR_TYPE_F32;
}

static size_t first_block(const tr_softmax_kind *k, int64_t pair)
{
    return (size_t)(pair % k->together) * (size_t)k->blocks;
}

/* A block of a pair's keys and values, unless no query may see any of it. */
static void pack_keys(const tr_softmax_kind *k, int64_t pair, int block, float *to, bool *wild)
{
    const tr_call *call = k->call;
    const tr_key_span seen = tr_mask_span(call, pair, 0, call->queries);
    const int first = block * TR_BLOCK, last = seen.end < first + TR_BLOCK ? seen.end : first + TR_BLOCK;
    *wild = first < last && seen.begin < last &&
            call->kernels->attn_pack(&(tr_attn_pack){.n = last - first,
                                                     .head_size = call->key_size,
                                                     .value_size = call->value_size,
                                                     .from = type_of(call->k.element),
                                                     .keys = tr_row(call, &call->k, pair, first),
                                                     .values = tr_row(call, &call->v, pair, first),
                                                     .key_stride = call->k.strides.row,
                                                     .value_stride = call->v.strides.row,
                                                     .packed_keys = to,
                                                     .packed_values = to + k->value_offset});
}

static float *summaries_bias(const tr_softmax_kind *k, int64_t pair)
{
    return k->bias + (size_t)(pair % k->together) * (size_t)k->call->columns;
}

static void pack_summaries(const tr_softmax_kind *k, int thread, int64_t pair, int block, float *to, bool *wild)
{
    const tr_call *call = k->call;
    const int first = block * TR_BLOCK, left = call->columns - first, n = left < TR_BLOCK ? left : TR_BLOCK;
    tr_summaries_make(call, &k->summaries, thread, pair, first, n, summaries_bias(k, pair) + first);
    *wild = call->kernels->attn_pack(&(tr_attn_pack){.n = n,
                                                     .head_size = call->key_size,
                                                     .value_size = call->value_size,
                                                     .from = TR_TYPE_F32,
                                                     .keys = tr_rooms_at(&k->summaries.keys, thread),
                                                     .values = tr_rooms_at(&k->summaries.values, thread),
                                                     .key_stride = (size_t)call->key_size,
                                                     .value_stride = (size_t)call->value_size,
                                                     .packed_keys = to,
                                                     .packed_values = to + k->value_offset});
}

static void pack_block(const void *work, int thread, int64_t unit)
{
    const tr_softmax_kind *k = work;
    const int64_t pair = unit / k->blocks;
    const int block = (int)(unit % k->blocks);
    if (pair >= k->call->pairs)
        return;
    const size_t at = first_block(k, pair) + (size_t)block;
    float *to = k->memory + at * k->block_floats;
    k->pointers[at] = to;
    if (has_summaries(k->call))
        pack_summaries(k, thread, pair, block, to, &k->wild[at]);
    else
        pack_keys(k, pair, block, to, &k->wild[at]);
}

/* ---------------------------------------------------------------------------------------------------------- attention */

static void set_queries(const tr_softmax_kind *k, int thread, int64_t pair, int first, tr_attn_prefill *op)
{
    const tr_call *call = k->call;
    const void *rows = tr_row(call, &call->q, pair, first);
    op->q = rows;
    op->q_stride = call->q.strides.row;
    if (call->q.element == TR_ELEMENT_F32)
        return;
    float *widened = tr_rooms_at(&k->queries, thread);
    tr_widen(call->kernels, &call->q, rows, op->queries, call->key_size, widened, (size_t)call->key_size);
    op->q = widened;
    op->q_stride = (size_t)call->key_size;
}

/* What queries from first on see, all of them the same but for their positions. */
static void set_keys(const tr_softmax_kind *k, int thread, int64_t pair, int first, bool all, tr_attn_prefill *op)
{
    const tr_call *call = k->call;
    if (has_summaries(call)) {
        op->keys = call->columns;
        op->back = op->on = TR_ATTN_ALL;
        op->bias = summaries_bias(k, pair);
        return;
    }
    tr_mask_set(call, &k->mask, thread, pair, first, op);
    if (all)
        return;
    op->part_count = tr_sparse_parts(call, &k->sparse, thread, (int)(pair % call->heads), first, op->keys);
    op->parts = tr_rooms_at(&k->sparse.parts, thread);
}

static void attend_strip(const tr_softmax_kind *k, int thread, int64_t pair, int first, int count, bool all)
{
    const tr_call *call = k->call;
    const size_t at = first_block(k, pair);
    tr_attn_prefill op = {.queries = count,
                          .head_size = call->key_size,
                          .value_size = call->value_size,
                          .scale = call->asked.scale,
                          .blocks = k->pointers + at,
                          .value_offset = k->value_offset,
                          .nonfinite = k->wild + at,
                          .out = tr_row_out(call, pair, first),
                          .out_stride = call->out_strides.row};
    set_queries(k, thread, pair, first, &op);
    set_keys(k, thread, pair, first, all, &op);
    if (call->weights) {
        op.weights = tr_row_weights(call, pair, first);
        op.weights_stride = (size_t)call->columns;
        memset(op.weights, 0, (size_t)count * op.weights_stride * sizeof *op.weights);
    }
    call->kernels->attn_prefill(&op);
}

/* Tiles from the last on: with a causal mask they are the long ones. */
static void attend_tile(const void *work, int thread, int64_t unit)
{
    const tr_softmax_kind *k = work;
    const tr_call *call = k->call;
    const int64_t pair = unit / k->tiles;
    const int begin = (k->tiles - 1 - (int)(unit % k->tiles)) * k->tile, most = tr_mask_strip(call);
    const int end = call->queries - begin < k->tile ? call->queries : begin + k->tile;
    for (int first = begin, last; pair < call->pairs && first < end; first = last) {
        bool all = true;
        last = end - first < most ? end : first + most;
        if (call->asked.kind == TR_ATTENTION_BLOCK_SPARSE)
            last = tr_sparse_same(call, first, last, &all);
        attend_strip(k, thread, pair, first, last - first, all);
    }
}

void tr_softmax_kind_phases(const tr_softmax_kind *kind, tr_phases *phases)
{
    const int first = phases->count;
    tr_phases_add(phases, kind->together * kind->blocks, pack_block, kind);
    tr_phases_add(phases, kind->together * kind->tiles, attend_tile, kind);
    tr_phases_repeat(phases, first, (kind->call->pairs - 1) / kind->together + 1);
}
