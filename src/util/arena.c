#define _GNU_SOURCE
#include "util/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

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
        madvise((void *)first, last - first, MADV_HUGEPAGE); /* a hint: failure does not matter */
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

void tr_arena_rewind(tr_arena *arena, size_t mark)
{
    arena->used = mark;
}

void tr_heap_prepare(size_t bytes)
{
#if defined(__GLIBC__) && defined(M_TOP_PAD)
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* so that tables which grow by doubling stay in the heap */
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 4 << 20);
    void *memory = malloc(bytes);
    if (memory)
        tr_huge_pages(memory, bytes);
    free(memory); /* it stays at the top of the heap for later allocations */
#else
    (void)bytes;
#endif
}

void tr_heap_trim(void)
{
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}
