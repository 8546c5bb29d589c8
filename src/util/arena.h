/* An arena: memory handed out from reserved address space, never moved, given back all at once. Pages cost memory only once
 * they are touched, so a reservation may be generous. */
#ifndef TR_UTIL_ARENA_H
#define TR_UTIL_ARENA_H

#include "util/error.h"

typedef struct tr_arena {
    unsigned char *base;
    size_t reserved, used;
} tr_arena;

tr_status tr_arena_init(tr_arena *arena, size_t bytes, tr_error *error);
void tr_arena_free(tr_arena *arena); /* a zeroed arena is allowed */

/* Asks for huge pages for memory that will be used whole: reading many megabytes in order is half as fast again with
 * them. */
void tr_huge_pages(void *memory, size_t bytes);

/* 64-byte aligned, zero when the pages are fresh. NULL once the reservation is used up. */
void *tr_arena_alloc(tr_arena *arena, size_t bytes);
/* Gives back everything handed out since used was mark. */
static inline void tr_arena_rewind(tr_arena *arena, size_t mark)
{
    arena->used = mark;
}

#endif
