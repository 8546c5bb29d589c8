#include "util/strmap.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a over 8-byte words with a final mix: fast for short keys. */
static uint32_t hash_bytes(const char *key, size_t size)
{
    uint64_t h = 0xcbf29ce484222325u ^ size, word;
    for (; size >= sizeof word; key += sizeof word, size -= sizeof word) {
        memcpy(&word, key, sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    word = 0;
    if (size)
        memcpy(&word, key, size);
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return (uint32_t)(h >> 32);
}

bool tr_strmap_init(tr_strmap *map, size_t expected)
{
    size_t slots = 16;
    while (slots < expected + expected / 2 && slots < SIZE_MAX / 64)
        slots *= 2;
    *map = (tr_strmap){calloc(slots, sizeof *map->slots), slots - 1, 0};
    return map->slots != NULL;
}

void tr_strmap_free(tr_strmap *map)
{
    free(map->slots);
    *map = (tr_strmap){0};
}

static tr_strmap_slot *find_slot(const tr_strmap *map, const char *key, size_t size)
{
    for (size_t i = hash_bytes(key, size) & map->mask;; i = (i + 1) & map->mask) {
        tr_strmap_slot *slot = &map->slots[i];
        if (!slot->key || (slot->size == size && memcmp(slot->key, key, size) == 0))
            return slot;
    }
}

static bool grow_map(tr_strmap *map)
{
    tr_strmap larger;
    if (!tr_strmap_init(&larger, (map->mask + 1) * 2))
        return false;
    for (size_t i = 0; i <= map->mask; i++)
        if (map->slots[i].key)
            *find_slot(&larger, map->slots[i].key, map->slots[i].size) = map->slots[i];
    larger.count = map->count;
    free(map->slots);
    *map = larger;
    return true;
}

int32_t tr_strmap_add(tr_strmap *map, const char *key, size_t size, int32_t value)
{
    if (map->count >= map->mask - map->mask / 4 && !grow_map(map))
        return -1;
    tr_strmap_slot *slot = find_slot(map, key, size);
    if (slot->key)
        return slot->value;
    *slot = (tr_strmap_slot){key, (uint32_t)size, value};
    map->count++;
    return value;
}

int32_t tr_strmap_find(const tr_strmap *map, const char *key, size_t size)
{
    if (!map->slots)
        return -1;
    const tr_strmap_slot *slot = find_slot(map, key, size);
    return slot->key ? slot->value : -1;
}
