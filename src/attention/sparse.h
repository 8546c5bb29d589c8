/* Which keys the queries of a block see in block-sparse attention. */
#ifndef TR_ATTENTION_SPARSE_H
#define TR_ATTENTION_SPARSE_H

#include "attention/call.h"
#include "attention/room.h"

/* What each thread needs for it. */
typedef struct tr_sparse_rooms {
    tr_rooms seen;  /* uint64_t: a bit for each block of keys */
    tr_rooms parts; /* tr_attn_part [ceil(keys / 32)] */
} tr_sparse_rooms;

void tr_sparse_lay_out(tr_sparse_rooms *rooms, const tr_call *call, int threads, tr_room *room);

/* Queries from first on, up to last, that see the same keys. *all: these are all keys. */
int tr_sparse_same(const tr_call *call, int first, int last, bool *all);

/* The parts of the first keys keys that a query of a head sees; returns how many. */
int tr_sparse_parts(const tr_call *call, const tr_sparse_rooms *rooms, int thread, int head, int query, int keys);

#endif
