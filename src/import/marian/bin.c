/* Marian's .bin container (src/common/binary.cpp):
 *     u64 version = 1, u64 n, n x {u64 bytes of name, u64 type, u64 rank, u64 bytes of data}, n names with their NUL,
 *     n shapes of i32, u64 gap, gap bytes, n blocks of data
 * Nothing is relied on to be aligned. */
#include "import/marian/marian.h"

#include <string.h>

enum { VERSION = 1, HEADER = 32, MOST_NAME = 256 };

typedef struct reader {
    const unsigned char *data;
    uint64_t size, at;
    tr_error *error;
} reader;

static uint64_t u64_at(const unsigned char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

/* The next bytes of the file; NULL: it does not have them. */
static const unsigned char *take(reader *r, uint64_t bytes)
{
    if (bytes > r->size - r->at)
        return NULL;
    r->at += bytes;
    return r->data + (r->at - bytes);
}

static tr_status truncated(const reader *r, const char *where)
{
    return tr_fail(r->error, TR_ERROR_FORMAT, "is truncated or damaged: %.100s lies beyond its end", where);
}

bool tr_marian_bin_recognise(const void *data, size_t size)
{
    enum { MOST = 1 << 20 };
    const unsigned char *p = data;
    if (size < 16 + HEADER || u64_at(p) != VERSION || u64_at(p + 8) == 0 || u64_at(p + 8) > MOST)
        return false;
    const uint64_t name = u64_at(p + 16), rank = u64_at(p + 16 + 16);
    return name >= 2 && name <= MOST_NAME && rank >= 1 && rank <= 8;
}

/* The headers, names and shapes of all items, which lie in that order; then their data. */
typedef struct parts {
    const unsigned char *headers;
    reader names, shapes, blocks;
} parts;

static tr_status measure(reader *r, uint64_t count, parts *p)
{
    uint64_t names = 0, shapes = 0;
    if (count > (r->size - r->at) / HEADER || !(p->headers = take(r, count * HEADER)))
        return truncated(r, "the list of items");
    for (uint64_t i = 0; i < count; i++) { /* each number is checked, so that no sum overflows */
        const uint64_t name = u64_at(p->headers + i * HEADER), rank = u64_at(p->headers + i * HEADER + 16);
        if (name < 2 || name > MOST_NAME)
            return tr_fail(r->error, TR_ERROR_FORMAT, "item %llu: has a name of %llu bytes", (unsigned long long)i,
                           (unsigned long long)name);
        if (rank < 1 || rank > TR_MAX_RANK)
            return tr_fail(r->error, TR_ERROR_UNSUPPORTED, "item %llu: has %llu dimensions, must have 1 to %d",
                           (unsigned long long)i, (unsigned long long)rank, TR_MAX_RANK);
        names += name;
        shapes += rank * sizeof(int32_t);
    }
    p->names = *r;
    if (!take(r, names))
        return truncated(r, "the list of names");
    p->shapes = *r;
    if (!take(r, shapes))
        return truncated(r, "the list of shapes");
    const unsigned char *gap = take(r, 8);
    if (!gap || !take(r, u64_at(gap)))
        return truncated(r, "the beginning of the data");
    p->blocks = *r;
    return TR_OK;
}

static tr_status read_item(parts *p, uint64_t number, tr_marian_items *items)
{
    const unsigned char *header = p->headers + number * HEADER;
    const uint64_t name = u64_at(header), bytes = u64_at(header + 24);
    tr_marian_item item = {
        .name = (const char *)take(&p->names, name), .type = u64_at(header + 8), .rank = (int)u64_at(header + 16)};
    if (memchr(item.name, 0, name) != item.name + name - 1)
        return tr_fail(p->names.error, TR_ERROR_FORMAT, "item %llu: its name is not a string that ends in NUL",
                       (unsigned long long)number);
    const unsigned char *shape = take(&p->shapes, (uint64_t)item.rank * sizeof(int32_t));
    for (int i = 0; i < item.rank; i++) {
        int32_t size;
        memcpy(&size, shape + (size_t)i * sizeof size, sizeof size);
        item.shape[i] = size;
    }
    item.data = take(&p->blocks, bytes);
    if (!item.data)
        return truncated(&p->blocks, item.name);
    item.bytes = (size_t)bytes;
    return tr_marian_items_add(items, &item, p->names.error);
}

tr_status tr_marian_bin_read(tr_bytes file, tr_marian_items *items, tr_error *error)
{
    reader r = {file.data, file.size, 0, error};
    parts p = {0};
    const unsigned char *head = take(&r, 16);
    if (!head)
        return truncated(&r, "its header");
    if (u64_at(head) != VERSION)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "is of version %llu of Marian's binary files, only 1 is supported",
                       (unsigned long long)u64_at(head));
    const uint64_t count = u64_at(head + 8);
    tr_status status = measure(&r, count, &p);
    for (uint64_t i = 0; status == TR_OK && i < count; i++)
        status = read_item(&p, i, items);
    return status;
}
