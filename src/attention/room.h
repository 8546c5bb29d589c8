/* Working memory in one piece: what lays it out runs once without memory, to learn how much it takes, and once with it. */
#ifndef TR_ATTENTION_ROOM_H
#define TR_ATTENTION_ROOM_H

#include "util/error.h"

typedef struct tr_room {
    unsigned char *base; /* NULL: sizes are only added up */
    size_t used;
    bool too_much; /* more than can be addressed */
} tr_room;

/* 64-byte aligned room for count elements; NULL without memory. */
void *tr_room_take(tr_room *room, uint64_t count, size_t size);

/* The same once for each thread. */
typedef struct tr_rooms {
    unsigned char *base;
    size_t stride;
} tr_rooms;

tr_rooms tr_rooms_take(tr_room *room, int threads, uint64_t count, size_t size);

static inline void *tr_rooms_at(const tr_rooms *rooms, int thread)
{
    return rooms->base + (size_t)thread * rooms->stride;
}

/* What lays out something: it takes its rooms, the same ones each time. */
typedef void tr_room_plan(void *plan, tr_room *room);

/* Bytes that a plan takes; SIZE_MAX: more than can be addressed. */
size_t tr_room_measure(tr_room_plan *lay_out, void *plan);
/* Memory for a plan, whose rooms are then set; room->base is to be given to tr_room_free. TR_ERROR_MEMORY. */
tr_status tr_room_make(tr_room *room, tr_room_plan *lay_out, void *plan, tr_error *error);
void tr_room_free(tr_room *room);

#endif
