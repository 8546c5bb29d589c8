#include "attention/layout.h"

#include <stdlib.h>

#include "util/arena.h"

enum { ALIGNMENT = 64 };
/* From this size on memory is asked for in huge pages and aligned to them. */
static const size_t large = (size_t)4 << 20, huge_page = (size_t)2 << 20;

void *tr_layout_add(tr_layout *layout, uint64_t count, size_t size)
{
    size_t bytes, end;
    if (layout->too_large || __builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(layout->used, bytes, &end) || end > PTRDIFF_MAX - ALIGNMENT) {
        layout->too_large = true;
        return NULL;
    }
    void *at = layout->base ? layout->base + layout->used : NULL;
    layout->used = (end + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    return at;
}

tr_thread_buffers tr_layout_add_per_thread(tr_layout *layout, int threads, uint64_t count, size_t size)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX - ALIGNMENT)
        layout->too_large = true;
    const size_t stride = layout->too_large ? 0 : ((size_t)bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    return (tr_thread_buffers){tr_layout_add(layout, (uint64_t)threads, stride), stride};
}

size_t tr_layout_measure(tr_layout_function *add_buffers, void *plan)
{
    tr_layout layout = {0};
    add_buffers(plan, &layout);
    return layout.too_large ? SIZE_MAX : layout.used;
}

tr_status tr_layout_allocate(tr_layout *layout, tr_layout_function *add_buffers, void *plan, tr_error *error)
{
    *layout = (tr_layout){0};
    const size_t bytes = tr_layout_measure(add_buffers, plan);
    if (bytes == SIZE_MAX)
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: more than can be addressed is needed");
    const size_t alignment = bytes < large ? ALIGNMENT : huge_page;
    layout->base = aligned_alloc(alignment, (bytes + alignment) & ~(alignment - 1));
    if (!layout->base)
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: cannot get %zu MB; ask for less at a time", bytes >> 20);
    if (bytes >= large)
        tr_huge_pages(layout->base, bytes);
    add_buffers(plan, layout);
    return TR_OK;
}

void tr_layout_free(tr_layout *layout)
{
    free(layout->base);
    *layout = (tr_layout){0};
}
