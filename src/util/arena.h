/* Large memory: arenas of reserved address space, huge pages, and the settings of the C library's heap. */
#ifndef TR_UTIL_ARENA_H
#define TR_UTIL_ARENA_H

#include "util/error.h"

/* Memory from reserved address space, which never moves and is given back all at once. A page costs memory when it is first
 * touched, so a reservation may be generous. A zeroed struct is an arena without memory. */
typedef struct tr_arena {
    unsigned char *base;
    size_t reserved, used; /* bytes */
} tr_arena;

/* Reserves address space. TR_ERROR_MEMORY. */
tr_status tr_arena_init(tr_arena *arena, size_t bytes, tr_error *error);
void tr_arena_free(tr_arena *arena);

/* Returns 64-byte aligned memory, zero in pages not used before, or NULL if the reservation is used up. */
void *tr_arena_alloc(tr_arena *arena, size_t bytes);
/* Gives back all memory that was allocated since arena->used was mark. */
void tr_arena_rewind(tr_arena *arena, size_t mark);

/* Asks for huge pages for memory that will be used as a whole: reading many megabytes in order is 1.5 times as fast with
 * them. */
void tr_huge_pages(void *memory, size_t bytes);

/* For programs, not for the library, since the settings are those of the whole process: makes the heap start with so many
 * bytes in huge pages, if the system has them, and keep freed memory. A program that builds tables of some megabytes and
 * ends soon saves thousands of page faults. Call it first in main(). */
void tr_heap_prepare(size_t bytes);
/* Gives freed memory back to the system, wherever in the heap it is. Any thread may call it. */
void tr_heap_trim(void);

#endif
