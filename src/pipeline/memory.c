#include "pipeline/memory.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/result.h"
#include "pipeline/search.h"

struct tr_memory_entry {
    tr_result result;
    char key[]; /* the text */
};

/* Bytes that an entry takes besides its texts: struct, slot in the index, pointer, allocator. */
enum { OVERHEAD = sizeof(tr_memory_entry) + 2 * sizeof(tr_strmap_slot) + 2 * sizeof(void *) + 32 };

static void entry_free(tr_memory_entry *entry)
{
    tr_result_clear(&entry->result);
    free(entry);
}

static void generation_free(tr_generation *generation)
{
    for (size_t i = 0; i < generation->count; i++)
        entry_free(generation->entries[i]);
    free(generation->entries);
    tr_strmap_free(&generation->index);
    *generation = (tr_generation){0};
}

void tr_memory_free(tr_memory *memory)
{
    generation_free(&memory->young);
    generation_free(&memory->old);
}

static bool same_alignment(const tr_translate_options *a, const tr_translate_options *b)
{
    return a->align == b->align &&
           (!a->align || (a->alignment.layer == b->alignment.layer && a->alignment.head == b->alignment.head &&
                          a->alignment.threshold == b->alignment.threshold));
}

static bool same_options(const tr_memory *memory, const tr_translate_options *options)
{
    const tr_translate_options *kept = &memory->options;
    return kept->max_length == options->max_length && kept->min_length == options->min_length &&
           kept->split == options->split && kept->scores == options->scores && kept->loop_guard == options->loop_guard &&
           same_alignment(kept, options) && tr_search_same(&kept->search, &options->search);
}

void tr_memory_prepare(tr_memory *memory, const tr_translate_options *options, int source, int target)
{
    if (same_options(memory, options) && memory->source == source && memory->target == target)
        return;
    tr_memory_free(memory);
    memory->options = *options;
    memory->source = source;
    memory->target = target;
}

static const tr_memory_entry *generation_find(const tr_generation *generation, const char *text, size_t size)
{
    const int32_t found = size <= UINT32_MAX ? tr_strmap_find(&generation->index, text, size) : -1;
    return found < 0 ? NULL : generation->entries[found];
}

tr_status tr_memory_find(tr_memory *memory, const char *text, size_t size, bool *found, tr_result *result, tr_error *error)
{
    const tr_memory_entry *entry = generation_find(&memory->young, text, size);
    const tr_memory_entry *old = entry ? NULL : generation_find(&memory->old, text, size);
    *found = entry || old;
    if (!*found)
        return TR_OK;
    const tr_status status = tr_result_copy(entry ? &entry->result : &old->result, result, error);
    if (old && status == TR_OK)
        tr_memory_add(memory, text, size, result);
    return status;
}

static bool make_room(tr_generation *generation)
{
    if (!generation->index.slots && !tr_strmap_init(&generation->index, 0))
        return false;
    if (generation->count < generation->capacity)
        return true;
    const size_t larger = generation->capacity ? generation->capacity * 2 : 64;
    tr_memory_entry **moved = realloc(generation->entries, larger * sizeof *moved);
    if (!moved)
        return false;
    generation->entries = moved;
    generation->capacity = larger;
    return true;
}

void tr_memory_add(tr_memory *memory, const char *text, size_t size, const tr_result *result)
{
    const size_t half = (memory->limit ? memory->limit : TR_MEMORY_BYTES) / 2, result_bytes = tr_result_bytes(result);
    if (size > half || result_bytes > half || OVERHEAD + size + result_bytes > half)
        return;
    const size_t bytes = OVERHEAD + size + result_bytes;
    if (memory->young.bytes + bytes > half) {
        generation_free(&memory->old);
        memory->old = memory->young;
        memory->young = (tr_generation){0};
    }
    tr_generation *young = &memory->young;
    tr_memory_entry *entry = make_room(young) ? malloc(sizeof *entry + size + 1) : NULL;
    if (!entry)
        return;
    if (size)
        memcpy(entry->key, text, size);
    if (tr_result_copy(result, &entry->result, NULL) != TR_OK ||
        tr_strmap_add(&young->index, entry->key, size, (int32_t)young->count) != (int32_t)young->count) {
        entry_free(entry); /* no memory, or it is there already */
        return;
    }
    young->entries[young->count++] = entry;
    young->bytes += bytes;
}
