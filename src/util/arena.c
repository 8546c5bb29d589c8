#define _GNU_SOURCE
#include "util/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

tr_status tr_arena_init(tr_arena *arena, size_t bytes, tr_error *error)
{
    *arena = (tr_arena){0};
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: cannot reserve %zu MB: %s", bytes >> 20, strerror(errno));
    *arena = (tr_arena){base, bytes, 0};
    return TR_OK;
}

void tr_arena_free(tr_arena *arena)
{
    if (arena->base)
        munmap(arena->base, arena->reserved);
    *arena = (tr_arena){0};
}

void tr_huge_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = 4096, first = ((uintptr_t)memory + page - 1) & ~(page - 1),
                    last = ((uintptr_t)memory + bytes) & ~(page - 1);
    if (first < last)
        madvise((void *)first, last - first, MADV_HUGEPAGE); /* a wish: failing is fine */
#else
    (void)memory, (void)bytes;
#endif
}

void *tr_arena_alloc(tr_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX - 63)
        return NULL;
    const size_t rounded = (bytes + 63) & ~(size_t)63;
    if (rounded > arena->reserved - arena->used)
        return NULL;
    void *memory = arena->base + arena->used;
    arena->used += rounded;
    return memory;
}
