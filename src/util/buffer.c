#include "util/buffer.h"

#include <stdlib.h>
#include <string.h>

/* Doubles *capacity until it holds needed elements; false on overflow or lack of memory. */
static bool grow(void **data, size_t *capacity, size_t needed, size_t element)
{
    if (needed <= *capacity)
        return true;
    size_t larger = *capacity ? *capacity : 64;
    while (larger < needed) {
        if (larger > SIZE_MAX / 2 / element)
            return false;
        larger *= 2;
    }
    void *moved = realloc(*data, larger * element);
    if (!moved)
        return false;
    *data = moved;
    *capacity = larger;
    return true;
}

bool tr_buffer_reserve(tr_buffer *b, size_t more)
{
    void *data = b->data;
    if (more > SIZE_MAX - 1 - b->size || !grow(&data, &b->capacity, b->size + more + 1, 1))
        return false;
    b->data = data;
    return true;
}

bool tr_buffer_append(tr_buffer *b, const void *data, size_t size)
{
    if (!tr_buffer_reserve(b, size))
        return false;
    if (size)
        memcpy(b->data + b->size, data, size);
    b->size += size;
    b->data[b->size] = 0;
    return true;
}

bool tr_buffer_string(tr_buffer *b, const char *s)
{
    return tr_buffer_append(b, s, strlen(s));
}

void tr_buffer_clear(tr_buffer *b)
{
    b->size = 0;
    if (b->data)
        b->data[0] = 0;
}

void tr_buffer_free(tr_buffer *b)
{
    free(b->data);
    *b = (tr_buffer){0};
}

bool tr_ids_append(tr_ids *b, const int32_t *ids, size_t count)
{
    void *data = b->data;
    if (count > SIZE_MAX - b->size || !grow(&data, &b->capacity, b->size + count, sizeof *ids))
        return false;
    b->data = data;
    if (count)
        memcpy(b->data + b->size, ids, count * sizeof *ids);
    b->size += count;
    return true;
}

void tr_ids_free(tr_ids *b)
{
    free(b->data);
    *b = (tr_ids){0};
}
