#include "api/translation_cache.h"

#include <stdlib.h>
#include <string.h>

#include "api/result.h"
#include "api/search.h"

struct tr_cached_translation {
    tr_result result;
    char key[]; /* the text */
};

/* Bytes that an entry takes besides its texts: struct, slot in the index, pointer, allocator. */
enum { OVERHEAD = sizeof(tr_cached_translation) + 2 * sizeof(tr_strmap_slot) + 2 * sizeof(void *) + 32 };

static void entry_free(tr_cached_translation *entry)
{
    tr_result_clear(&entry->result);
    free(entry);
}

static void generation_free(tr_cache_generation *generation)
{
    for (size_t i = 0; i < generation->count; i++)
        entry_free(generation->entries[i]);
    free(generation->entries);
    tr_strmap_free(&generation->index);
    *generation = (tr_cache_generation){0};
}

void tr_translation_cache_free(tr_translation_cache *cache)
{
    generation_free(&cache->young);
    generation_free(&cache->old);
}

static bool same_alignment(const tr_translate_options *a, const tr_translate_options *b)
{
    return a->align == b->align &&
           (!a->align || (a->alignment.layer == b->alignment.layer && a->alignment.head == b->alignment.head &&
                          a->alignment.threshold == b->alignment.threshold));
}

static bool same_options(const tr_translation_cache *cache, const tr_translate_options *options)
{
    const tr_translate_options *kept = &cache->options;
    return kept->max_length == options->max_length && kept->min_length == options->min_length &&
           kept->split == options->split && kept->scores == options->scores && kept->loop_guard == options->loop_guard &&
           same_alignment(kept, options) && tr_search_same(&kept->search, &options->search);
}

void tr_translation_cache_prepare(tr_translation_cache *cache, const tr_translate_options *options, int source, int target)
{
    if (same_options(cache, options) && cache->source == source && cache->target == target)
        return;
    tr_translation_cache_free(cache);
    cache->options = *options;
    cache->source = source;
    cache->target = target;
}

static const tr_cached_translation *generation_find(const tr_cache_generation *generation, const char *text, size_t size)
{
    const int32_t found = size <= UINT32_MAX ? tr_strmap_find(&generation->index, text, size) : -1;
    return found < 0 ? NULL : generation->entries[found];
}

tr_status tr_translation_cache_find(tr_translation_cache *cache, const char *text, size_t size, bool *found,
                                    tr_result *result, tr_error *error)
{
    const tr_cached_translation *entry = generation_find(&cache->young, text, size);
    const tr_cached_translation *old = entry ? NULL : generation_find(&cache->old, text, size);
    *found = entry || old;
    if (!*found)
        return TR_OK;
    const tr_status status = tr_result_copy(entry ? &entry->result : &old->result, result, error);
    if (old && status == TR_OK)
        tr_translation_cache_add(cache, text, size, result);
    return status;
}

static bool make_room(tr_cache_generation *generation)
{
    if (!generation->index.slots && !tr_strmap_init(&generation->index, 0))
        return false;
    if (generation->count < generation->capacity)
        return true;
    const size_t larger = generation->capacity ? generation->capacity * 2 : 64;
    tr_cached_translation **moved = realloc(generation->entries, larger * sizeof *moved);
    if (!moved)
        return false;
    generation->entries = moved;
    generation->capacity = larger;
    return true;
}

void tr_translation_cache_add(tr_translation_cache *cache, const char *text, size_t size, const tr_result *result)
{
    const size_t half = (cache->limit ? cache->limit : TR_TRANSLATION_CACHE_BYTES) / 2,
                 result_bytes = tr_result_bytes(result);
    if (size > half || result_bytes > half || OVERHEAD + size + result_bytes > half)
        return;
    const size_t bytes = OVERHEAD + size + result_bytes;
    if (cache->young.bytes + bytes > half) {
        generation_free(&cache->old);
        cache->old = cache->young;
        cache->young = (tr_cache_generation){0};
    }
    tr_cache_generation *young = &cache->young;
    tr_cached_translation *entry = make_room(young) ? malloc(sizeof *entry + size + 1) : NULL;
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
