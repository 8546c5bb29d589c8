/* Linear attention. Keys are taken in chunks, without those that are masked. Sums over keys are made in parts of fixed size,
 * which are added in order, so that no bit depends on the threads. f(x) = elu(x) + 1. */
#ifndef TR_ATTENTION_LINEAR_H
#define TR_ATTENTION_LINEAR_H

#include "attention/call.h"
#include "attention/layout.h"
#include "attention/phases.h"

enum { TR_KEY_CHUNK = 64 }; /* maximum keys of a chunk, and queries at a time */

/* The keys of a chunk that queries may attend to. */
typedef struct tr_key_chunk {
    int count;
    int *at;             /* [count]: the numbers of the keys, ascending */
    float *keys;         /* [count, d_k]: f(k) */
    const float *values; /* [count, value_stride] */
    size_t value_stride;
} tr_key_chunk;

/* A state is the sum of f(k) v^T, [d_k, width], followed by the sum of f(k), [pad16(d_k)]. */
typedef struct tr_linear_kind {
    const tr_call *call;
    int tile, tiles;          /* queries of a unit of work, units of a pair */
    int parts;                /* of the keys */
    int width;                /* pad16(d_v) */
    size_t weights;           /* offset of the sum of f(k) in a state */
    size_t state;             /* floats of a state */
    float *sums;              /* [pairs, parts, state]: the sum of each part; later, in part 0, of all */
    tr_thread_buffers states; /* causal: float [state], the sum so far */
    tr_thread_buffers at, keys, values;
    tr_thread_buffers keys_transposed; /* float [pad16(d_k), 32]: f(k) of 32 keys */
    tr_thread_buffers queries;         /* float [TR_KEY_CHUNK, d_k]: f(q) */
    tr_thread_buffers results;         /* float [TR_KEY_CHUNK, width]: sums of weight times value */
    tr_thread_buffers totals;          /* float [TR_KEY_CHUNK]: sums of weights */
    tr_thread_buffers scores;          /* float [TR_KEY_CHUNK, TR_KEY_CHUNK]: f(q)·f(k) */
    tr_thread_buffers scratch;         /* of matmul */
} tr_linear_kind;

void tr_linear_kind_add_buffers(tr_linear_kind *kind, const tr_call *call, int threads, tr_layout *layout);
void tr_linear_kind_phases(const tr_linear_kind *kind, tr_phases *phases);

/* chunk.c: in the thread's buffers. */

/* Reads the chunk that begins with key `first`, a multiple of TR_KEY_CHUNK. */
tr_key_chunk tr_key_chunk_read(const tr_linear_kind *kind, int thread, int64_t pair, int first);
/* Returns f(q) of the queries first .. first + count - 1: [count, d_k]. */
const float *tr_key_chunk_queries(const tr_linear_kind *kind, int thread, int64_t pair, int first, int count);
/* Adds the sums of f(k) v^T and f(k) over a chunk to state. */
void tr_key_chunk_add(const tr_linear_kind *kind, int thread, const tr_key_chunk *chunk, float *state);
/* Sets results [count, width] and totals [count] to the products of queries and state. */
void tr_linear_apply(const tr_linear_kind *kind, int thread, const float *state, const float *queries, int count);
/* Returns scores [count, TR_KEY_CHUNK] = f(q)·f(k) of the queries from `first` on with a chunk; 0 where they do not attend.
 */
const float *tr_key_chunk_scores(const tr_linear_kind *kind, int thread, const tr_key_chunk *chunk, const float *queries,
                                 int first, int count);
/* Returns how many of a chunk's keys a query attends to; these are the first ones. */
int tr_key_chunk_seen(const tr_call *call, const tr_key_chunk *chunk, int query);
/* Writes results / totals to the output of the queries from `first` on; 0 where a query attends to no key. */
void tr_linear_write(const tr_linear_kind *kind, int thread, int64_t pair, int first, int count);

/* linear_causal.c: a unit is a pair. */
void tr_linear_causal(const void *work, int thread, int64_t unit);

#endif
