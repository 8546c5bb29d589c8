#include "attention/sparse.h"

#include <string.h>

#include "util/numbers.h"

enum { WORD = 64 };

static int blocks_of_keys(const tr_call *call)
{
    return (int)((call->keys + call->options.block - 1) / call->options.block);
}

void tr_sparse_add_buffers(tr_sparse_buffers *buffers, const tr_call *call, int threads, tr_layout *layout)
{
    buffers->seen = tr_layout_add_per_thread(layout, threads, (uint64_t)blocks_of_keys(call) / WORD + 1, sizeof(uint64_t));
    buffers->parts = tr_layout_add_per_thread(layout, threads, (uint64_t)call->keys / TR_BLOCK + 1, sizeof(tr_attn_part));
}

int tr_sparse_same(const tr_call *call, int first, int last, bool *all)
{
    const tr_attention_options *o = &call->options;
    const int64_t at = call->mask.position + first;
    *all = at < o->global_tokens;
    const int64_t end = *all ? o->global_tokens : (at / o->block + 1) * o->block;
    return end - at < last - first ? first + (int)(end - at) : last;
}

/* -------------------------------------------------------------------------------------------------------------- blocks */

static bool is_marked(const uint64_t *seen, int64_t block)
{
    return seen[block / WORD] >> (block % WORD) & 1;
}

static void mark(uint64_t *seen, int64_t block)
{
    seen[block / WORD] |= (uint64_t)1 << (block % WORD);
}

/* The blocks to draw from: first <= block, except near <= block < near_end. */
typedef struct others {
    int64_t first, near, near_end;
    int64_t count; /* of blocks to draw from */
} others;

static int64_t other_block(const others *o, int64_t number)
{
    const int64_t block = o->first + number;
    return block < o->near ? block : block + o->near_end - o->near;
}

/* Marks `count` of them, drawn without repetition (Floyd's algorithm: Bentley and Floyd, 1987): each step draws from one
 * block more, and takes the new block if the drawn one is already marked. */
static void mark_random(uint64_t *seen, uint64_t key, int64_t count, const others *o)
{
    for (int64_t i = o->count - count; i < o->count; i++) {
        const uint64_t drawn = tr_random_add(key, (uint64_t)i) >> 32;
        const int64_t block = other_block(o, (int64_t)(drawn * (uint64_t)(i + 1) >> 32));
        mark(seen, is_marked(seen, block) ? other_block(o, i) : block);
    }
}

/* Marks the blocks that a block of queries attends to, except global tokens. */
static void mark_blocks(const tr_call *call, int head, int64_t query_block, uint64_t *seen)
{
    const tr_attention_options *o = &call->options;
    const int64_t blocks = blocks_of_keys(call),
                  global = o->global_tokens < call->keys ? o->global_tokens / o->block : blocks;
    others rest = {.first = global,
                   .near = tr_clamp_int64(query_block - o->local_blocks, global, blocks),
                   .near_end = tr_clamp_int64(query_block + o->local_blocks + 1, global, blocks)};
    rest.count = blocks - global - (rest.near_end - rest.near);
    memset(seen, 0, ((size_t)blocks / WORD + 1) * sizeof *seen);
    for (int64_t b = rest.near; b < rest.near_end; b++)
        mark(seen, b);
    const uint64_t key = tr_random_add(tr_random_add(tr_random_key(o->seed), (uint64_t)head), (uint64_t)query_block);
    mark_random(seen, key, o->random_blocks < rest.count ? o->random_blocks : rest.count, &rest);
}

/* --------------------------------------------------------------------------------------------------------------- parts */

static uint32_t bits_between(int first, int last)
{
    return (uint32_t)(((uint64_t)1 << last) - ((uint64_t)1 << first));
}

/* Adds keys first .. last - 1 to the parts. They must not precede the keys of the last part's block. Returns the new count.
 */
static int add_keys(tr_attn_part *parts, int count, int64_t first, int64_t last)
{
    while (first < last) {
        const int block = (int)(first / TR_BLOCK);
        const int64_t start = (int64_t)block * TR_BLOCK, end = last < start + TR_BLOCK ? last : start + TR_BLOCK;
        if (!count || parts[count - 1].block != block)
            parts[count++] = (tr_attn_part){block, 0};
        parts[count - 1].positions |= bits_between((int)(first - start), (int)(end - start));
        first = end;
    }
    return count;
}

int tr_sparse_parts(const tr_call *call, const tr_sparse_buffers *buffers, int thread, int head, int query, int keys)
{
    const tr_attention_options *o = &call->options;
    uint64_t *seen = tr_thread_buffer(&buffers->seen, thread);
    tr_attn_part *parts = tr_thread_buffer(&buffers->parts, thread);
    mark_blocks(call, head, (call->mask.position + query) / o->block, seen);
    const int64_t global = o->global_tokens < keys ? o->global_tokens : keys;
    int count = add_keys(parts, 0, 0, global);
    const int words = blocks_of_keys(call) / WORD + 1;
    for (int w = 0; w < words; w++)
        for (uint64_t left = seen[w]; left; left &= left - 1) {
            const int64_t first = ((int64_t)w * WORD + __builtin_ctzll(left)) * o->block, last = first + o->block;
            count = add_keys(parts, count, first < global ? global : first, last < keys ? last : keys);
        }
    return count;
}
