/* The items of a Marian model, wherever they lie. */
#include "import/marian/marian.h"

#include <stdlib.h>
#include <string.h>

const tr_marian_item *tr_marian_find(const tr_marian_items *items, const char *name)
{
    const int32_t i = tr_strmap_find(&items->index, name, strlen(name));
    return i < 0 ? NULL : &items->items[i];
}

static tr_status no_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
}

static tr_status check_item(const tr_marian_item *item, tr_error *error)
{
    uint64_t bytes = item->type & 0xff; /* of an element */
    bool fits = true;
    if (item->rank < 1 || item->rank > TR_MAX_RANK)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "item %.100s: has %d dimensions, must have 1 to %d", item->name,
                       item->rank, TR_MAX_RANK);
    for (int i = 0; i < item->rank; i++) {
        if (item->shape[i] < 1)
            return tr_fail(error, TR_ERROR_FORMAT, "item %.100s: has a size of %lld", item->name, (long long)item->shape[i]);
        fits = fits && bytes <= item->bytes / (uint64_t)item->shape[i];
        bytes *= (uint64_t)item->shape[i];
    }
    if (!fits)
        return tr_fail(error, TR_ERROR_FORMAT, "item %.100s: its shape needs more than the %zu bytes it has", item->name,
                       item->bytes);
    return TR_OK;
}

tr_status tr_marian_items_add(tr_marian_items *items, const tr_marian_item *item, tr_error *error)
{
    const tr_status status = check_item(item, error);
    const size_t length = strlen(item->name);
    if (status != TR_OK)
        return status;
    if (items->count == items->capacity) {
        const size_t capacity = items->capacity ? 2 * items->capacity : 256;
        tr_marian_item *larger = realloc(items->items, capacity * sizeof *larger);
        if (!larger)
            return no_memory(error);
        items->items = larger;
        items->capacity = capacity;
    }
    if (!items->index.slots && !tr_strmap_init(&items->index, 256))
        return no_memory(error);
    if (tr_strmap_find(&items->index, item->name, length) >= 0)
        return tr_fail(error, TR_ERROR_FORMAT, "item %.100s: is there twice", item->name);
    if (tr_strmap_add(&items->index, item->name, length, (int32_t)items->count) < 0)
        return no_memory(error);
    items->items[items->count++] = *item;
    return TR_OK;
}

tr_status tr_marian_items_keep(tr_marian_items *items, void *block, tr_error *error)
{
    void **blocks = realloc(items->blocks, (items->block_count + 1) * sizeof *blocks);
    if (!blocks) {
        free(block);
        return no_memory(error);
    }
    items->blocks = blocks;
    items->blocks[items->block_count++] = block;
    return TR_OK;
}

void tr_marian_items_free(tr_marian_items *items)
{
    for (size_t i = 0; i < items->block_count; i++)
        free(items->blocks[i]);
    free(items->blocks);
    free(items->items);
    tr_strmap_free(&items->index);
    *items = (tr_marian_items){0};
}
