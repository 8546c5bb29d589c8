/* Linear attention. Keys are taken in chunks, those that are masked left out; the sums over them have fixed parts, which are
 * added up in their order, so that nothing depends on who computes what. */
#ifndef TR_ATTENTION_LINEAR_H
#define TR_ATTENTION_LINEAR_H

#include "attention/call.h"
#include "attention/phases.h"
#include "attention/room.h"

enum { TR_KEY_CHUNK = 64 }; /* keys, or queries, at a time */

/* Keys of a chunk that queries may attend to. */
typedef struct tr_key_chunk {
    int count;
    int *at;             /* [count]: which ones, in their order */
    float *keys;         /* [count, key_size]: f(k) */
    const float *values; /* [count, value_stride] */
    size_t value_stride;
} tr_key_chunk;

typedef struct tr_linear_kind {
    const tr_call *call;
    int tile, tiles;
    int parts;
    int width;       /* value_size, padded */
    size_t weights;  /* where in a state the sum of f(k) begins: behind the sum of f(k) v^T, [key_size, width] */
    size_t state;    /* floats of both */
    float *sums;     /* [pairs, parts, state]: of each part; then in the first, of all */
    tr_rooms states; /* causal: float [state], the sum so far */
    tr_rooms at, keys, values;
    tr_rooms across;          /* float [pad16(key_size), 32]: f(k) across, as the product wants it */
    tr_rooms queries;         /* float [TR_KEY_CHUNK, key_size]: f(q) */
    tr_rooms results, totals; /* float [TR_KEY_CHUNK, width], [TR_KEY_CHUNK]: sums of weights */
    tr_rooms scores, scratch; /* float [TR_KEY_CHUNK, TR_KEY_CHUNK]: f(q)·f(k); for that product */
} tr_linear_kind;

void tr_linear_kind_lay_out(tr_linear_kind *kind, const tr_call *call, int threads, tr_room *room);
void tr_linear_kind_phases(const tr_linear_kind *kind, tr_phases *phases);

/* The chunk that begins with key first, a multiple of TR_KEY_CHUNK. */
tr_key_chunk tr_key_chunk_read(const tr_linear_kind *kind, int thread, int64_t pair, int first);
/* f(q) of queries [first, first + count), one after the other. */
const float *tr_key_chunk_queries(const tr_linear_kind *kind, int thread, int64_t pair, int first, int count);
/* state += f(k) v^T and f(k) over a chunk. */
void tr_key_chunk_add(const tr_linear_kind *kind, int thread, const tr_key_chunk *chunk, float *state);
/* The room's results [count, width] and totals [count] become what queries get of a state. */
void tr_linear_apply(const tr_linear_kind *kind, int thread, const float *state, const float *queries, int count);
/* scores[count, TR_KEY_CHUNK] = f(q)·f(k) of queries from first on with a chunk; 0 where a query does not attend. */
const float *tr_key_chunk_scores(const tr_linear_kind *kind, int thread, const tr_key_chunk *chunk, const float *queries,
                                 int first, int count);
/* How many of a chunk's keys a query attends to: the first ones. */
int tr_key_chunk_seen(const tr_call *call, const tr_key_chunk *chunk, int query);
/* Writes results over totals as the results of queries from first on; zero where a query attends to nothing. */
void tr_linear_write(const tr_linear_kind *kind, int thread, int64_t pair, int first, int count);

/* linear_causal.c: a phase's unit: a pair. */
void tr_linear_causal(const void *work, int thread, int64_t unit);
/* linear_weights.c: a tile of queries. */
void tr_linear_weights(const void *work, int thread, int64_t unit);

#endif
