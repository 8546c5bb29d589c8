#include "util/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

/* Doubles *capacity until it is at least `needed` elements. Returns false on overflow or without memory. */
static bool grow_array(void **data, size_t *capacity, size_t needed, size_t element)
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

int tr_compare_bytes(const char *a, size_t a_size, const char *b, size_t b_size)
{
    const int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

bool tr_buffer_reserve(tr_buffer *b, size_t more)
{
    void *data = b->data;
    if (more > SIZE_MAX - 1 - b->size || !grow_array(&data, &b->capacity, b->size + more + 1, 1))
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

bool tr_utf8_clean(const char *text, size_t size, tr_buffer *out)
{
    if (!tr_buffer_append(out, "", 0)) /* a string, even if nothing follows */
        return false;
    while (size) {
        size_t good = tr_utf8_valid_prefix(text, size);
        if (!tr_buffer_append(out, text, good))
            return false;
        if (good < size) {
            size_t bad;
            tr_utf8_decode(text + good, size - good, &bad);
            if (!tr_buffer_append(out, "\xef\xbf\xbd", 3))
                return false;
            good += bad;
        }
        text += good;
        size -= good;
    }
    return true;
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
    if (count > SIZE_MAX - b->size || !grow_array(&data, &b->capacity, b->size + count, sizeof *ids))
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

void *tr_copy_bytes(const void *from, size_t size)
{
    void *copy = malloc(size ? size : 1);
    if (copy && size)
        memcpy(copy, from, size);
    return copy;
}
