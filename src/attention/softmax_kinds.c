#include "attention/softmax_kinds.h"

#include <string.h>

#include "util/numbers.h"

enum {
    TILE = TR_STRIP,
    MIN_TILE = 24,
    UNITS_EACH = 8, /* units for each thread, so that all end at about the same time */
    ROUND_EACH = 32 /* the same in a round, after which all threads wait for each other */
};

static bool is_low_rank(const tr_call *call)
{
    return call->options.kind == TR_ATTENTION_LOW_RANK;
}

static int choose_tile(const tr_call *call, int threads)
{
    if (call->options.tile)
        return call->options.tile < call->queries ? (int)call->options.tile : call->queries;
    const int64_t each = call->pairs * call->queries / ((int64_t)threads * UNITS_EACH) / MIN_TILE * MIN_TILE;
    return each < MIN_TILE ? MIN_TILE : each < TILE ? (int)each : TILE;
}

/* As many pairs as fit in memory that stays in a large cache and that malloc keeps between calls, but enough to keep all
 * threads busy. */
static int64_t choose_resident_pairs(const tr_softmax_kind *kind, int threads)
{
    const uint64_t cached = (uint64_t)12 << 20, each = (uint64_t)kind->blocks * kind->block_floats * sizeof(float);
    const int64_t fit = (int64_t)(cached / each), busy = ((int64_t)threads * ROUND_EACH - 1) / kind->tiles + 1;
    const int64_t pairs = tr_max_int64(fit, busy), rounds = (kind->call->pairs - 1) / pairs + 1;
    return (kind->call->pairs - 1) / rounds + 1; /* rounds of equal size */
}

void tr_softmax_kind_add_buffers(tr_softmax_kind *kind, const tr_call *call, int threads, tr_layout *layout)
{
    const size_t keys = (size_t)tr_pad16(call->d_k) * TR_BLOCK, values = (size_t)tr_pad16(call->d_v) * TR_BLOCK;
    kind->call = call;
    kind->tile = choose_tile(call, threads);
    kind->tiles = (call->queries - 1) / kind->tile + 1;
    kind->blocks = (call->columns - 1) / TR_BLOCK + 1;
    kind->value_offset = keys;
    kind->block_floats = keys + values;
    kind->resident_pairs = choose_resident_pairs(kind, threads);
    const uint64_t pairs = (uint64_t)kind->resident_pairs, blocks = pairs * (uint64_t)kind->blocks;
    kind->memory = tr_layout_add(layout, blocks, kind->block_floats * sizeof *kind->memory);
    kind->pointers = tr_layout_add(layout, blocks, sizeof *kind->pointers);
    kind->nonfinite = tr_layout_add(layout, blocks, sizeof *kind->nonfinite);
    kind->queries = tr_layout_add_per_thread(layout, threads, TR_STRIP * (uint64_t)call->d_k, sizeof(float));
    if (is_low_rank(call)) {
        kind->bias = tr_layout_add(layout, pairs * (uint64_t)call->columns, sizeof *kind->bias);
        tr_low_rank_add_buffers(&kind->low_rank, call, threads, layout);
    } else {
        tr_mask_add_buffers(&kind->mask, call, threads, layout);
    }
    if (call->options.kind == TR_ATTENTION_BLOCK_SPARSE)
        tr_sparse_add_buffers(&kind->sparse, call, threads, layout);
}

/* ------------------------------------------------------------------------------------------------------------ packing */

static tr_type type_of(tr_element element)
{
    return element == TR_ELEMENT_BF16 ? TR_TYPE_BF16 : TR_TYPE_F32;
}

static size_t first_block(const tr_softmax_kind *k, int64_t pair)
{
    return (size_t)(pair % k->resident_pairs) * (size_t)k->blocks;
}

/* Packs a block of a pair's keys and values, unless no query may attend to it. */
static void pack_keys(const tr_softmax_kind *k, int64_t pair, int block, float *to, bool *nonfinite)
{
    const tr_call *call = k->call;
    const tr_key_span seen = tr_mask_span(call, pair, 0, call->queries);
    const int first = block * TR_BLOCK, last = seen.end < first + TR_BLOCK ? seen.end : first + TR_BLOCK;
    *nonfinite = first < last && seen.begin < last &&
                 call->kernels->attn_pack(&(tr_attn_pack){.n = last - first,
                                                          .head_size = call->d_k,
                                                          .value_size = call->d_v,
                                                          .from = type_of(call->k.element),
                                                          .keys = tr_row(call, &call->k, pair, first),
                                                          .values = tr_row(call, &call->v, pair, first),
                                                          .key_stride = call->k.strides.row,
                                                          .value_stride = call->v.strides.row,
                                                          .packed_keys = to,
                                                          .packed_values = to + k->value_offset});
}

static float *compressed_bias(const tr_softmax_kind *k, int64_t pair)
{
    return k->bias + (size_t)(pair % k->resident_pairs) * (size_t)k->call->columns;
}

static void pack_compressed(const tr_softmax_kind *k, int thread, int64_t pair, int block, float *to, bool *nonfinite)
{
    const tr_call *call = k->call;
    const int first = block * TR_BLOCK, left = call->columns - first, n = left < TR_BLOCK ? left : TR_BLOCK;
    tr_low_rank_compress(call, &k->low_rank, thread, pair, first, n, compressed_bias(k, pair) + first);
    *nonfinite = call->kernels->attn_pack(&(tr_attn_pack){.n = n,
                                                          .head_size = call->d_k,
                                                          .value_size = call->d_v,
                                                          .from = TR_TYPE_F32,
                                                          .keys = tr_thread_buffer(&k->low_rank.keys, thread),
                                                          .values = tr_thread_buffer(&k->low_rank.values, thread),
                                                          .key_stride = (size_t)call->d_k,
                                                          .value_stride = (size_t)call->d_v,
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
    if (is_low_rank(k->call))
        pack_compressed(k, thread, pair, block, to, &k->nonfinite[at]);
    else
        pack_keys(k, pair, block, to, &k->nonfinite[at]);
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
    float *widened = tr_thread_buffer(&k->queries, thread);
    tr_widen(call->kernels, &call->q, rows, op->queries, call->d_k, widened, (size_t)call->d_k);
    op->q = widened;
    op->q_stride = (size_t)call->d_k;
}

/* Sets the keys that the queries from `first` on attend to. all: every key of the sparse pattern. */
static void set_keys(const tr_softmax_kind *k, int thread, int64_t pair, int first, bool all, tr_attn_prefill *op)
{
    const tr_call *call = k->call;
    if (is_low_rank(call)) {
        op->keys = call->columns;
        op->back = op->on = TR_ATTN_ALL;
        op->bias = compressed_bias(k, pair);
        return;
    }
    tr_mask_set(call, &k->mask, thread, pair, first, op);
    if (all)
        return;
    op->part_count = tr_sparse_parts(call, &k->sparse, thread, (int)(pair % call->heads), first, op->keys);
    op->parts = tr_thread_buffer(&k->sparse.parts, thread);
}

static void attend_strip(const tr_softmax_kind *k, int thread, int64_t pair, int first, int count, bool all)
{
    const tr_call *call = k->call;
    const size_t at = first_block(k, pair);
    tr_attn_prefill op = {.queries = count,
                          .head_size = call->d_k,
                          .value_size = call->d_v,
                          .scale = call->options.scale,
                          .blocks = k->pointers + at,
                          .value_offset = k->value_offset,
                          .nonfinite = k->nonfinite + at,
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

/* Takes tiles from the last one on: with a causal mask those take longest. */
static void attend_tile(const void *work, int thread, int64_t unit)
{
    const tr_softmax_kind *k = work;
    const tr_call *call = k->call;
    const int64_t pair = unit / k->tiles;
    const int begin = (k->tiles - 1 - (int)(unit % k->tiles)) * k->tile, strip = tr_mask_strip(call);
    const int end = call->queries - begin < k->tile ? call->queries : begin + k->tile;
    for (int first = begin, last; pair < call->pairs && first < end; first = last) {
        bool all = true;
        last = end - first < strip ? end : first + strip;
        if (call->options.kind == TR_ATTENTION_BLOCK_SPARSE)
            last = tr_sparse_same(call, first, last, &all);
        attend_strip(k, thread, pair, first, last - first, all);
    }
}

void tr_softmax_kind_phases(const tr_softmax_kind *kind, tr_phases *phases)
{
    const int first = phases->count;
    tr_phases_add(phases, kind->resident_pairs * kind->blocks, pack_block, kind);
    tr_phases_add(phases, kind->resident_pairs * kind->tiles, attend_tile, kind);
    tr_phases_repeat(phases, first, (kind->call->pairs - 1) / kind->resident_pairs + 1);
}
