#define _GNU_SOURCE
#include "util/heap.h"

#include "util/arena.h"

#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

void tr_heap_prepare(size_t bytes)
{
#if defined(__GLIBC__) && defined(M_TOP_PAD)
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* tables that grow by doubling stay in the heap */
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 4 << 20);
    void *memory = malloc(bytes);
    if (memory)
        tr_huge_pages(memory, bytes);
    free(memory); /* stays at the top of the heap, for what comes next */
#else
    (void)bytes;
#endif
}
