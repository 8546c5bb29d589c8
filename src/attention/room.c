#include "attention/room.h"

#include <stdlib.h>

#include "util/arena.h"

enum { ALIGNMENT = 64 };
/* From here on memory is wanted in huge pages, and begins with one. */
static const size_t large = (size_t)4 << 20, huge_page = (size_t)2 << 20;

void *tr_room_take(tr_room *room, uint64_t count, size_t size)
{
    size_t bytes, end;
    if (room->too_much || __builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(room->used, bytes, &end) ||
        end > PTRDIFF_MAX - ALIGNMENT) {
        room->too_much = true;
        return NULL;
    }
    void *at = room->base ? room->base + room->used : NULL;
    room->used = (end + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    return at;
}

tr_rooms tr_rooms_take(tr_room *room, int threads, uint64_t count, size_t size)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX - ALIGNMENT)
        room->too_much = true;
    const size_t stride = room->too_much ? 0 : ((size_t)bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    return (tr_rooms){tr_room_take(room, (uint64_t)threads, stride), stride};
}

size_t tr_room_measure(tr_room_plan *lay_out, void *plan)
{
    tr_room room = {0};
    lay_out(plan, &room);
    return room.too_much ? SIZE_MAX : room.used;
}

tr_status tr_room_make(tr_room *room, tr_room_plan *lay_out, void *plan, tr_error *error)
{
    *room = (tr_room){0};
    const size_t bytes = tr_room_measure(lay_out, plan);
    if (bytes == SIZE_MAX)
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: more than can be addressed is needed");
    const size_t alignment = bytes < large ? ALIGNMENT : huge_page;
    room->base = aligned_alloc(alignment, (bytes + alignment) & ~(alignment - 1));
    if (!room->base)
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: cannot get %zu MB; ask for less at a time", bytes >> 20);
    if (bytes >= large)
        tr_huge_pages(room->base, bytes);
    lay_out(plan, room);
    return TR_OK;
}

void tr_room_free(tr_room *room)
{
    free(room->base);
    *room = (tr_room){0};
}
