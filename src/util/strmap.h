/* A hash map from byte strings to 32-bit numbers, for vocabularies and tensor names. It keeps pointers to the keys, which
 * must outlive it. Any number of threads may read a map that no thread changes. */
#ifndef TR_UTIL_STRMAP_H
#define TR_UTIL_STRMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

typedef struct tr_strmap_slot {
    const char *key;
    uint32_t size;
    int32_t value;
} tr_strmap_slot;

typedef struct tr_strmap {
    tr_strmap_slot *slots;
    size_t mask, count; /* mask: number of slots - 1 */
} tr_strmap;

/* Makes an empty map with slots for `expected` keys. Returns false without memory. */
bool tr_strmap_init(tr_strmap *map, size_t expected) TR_CHECKED;
void tr_strmap_free(tr_strmap *map);
/* Adds a key, shorter than 4 GiB, with a value >= 0, unless the map has the key already. Returns the value that the map now
 * has for the key, or -1 without memory. */
int32_t tr_strmap_add(tr_strmap *map, const char *key, size_t size, int32_t value) TR_CHECKED;
/* Returns the value of a key, or -1 if the map does not have it. A zeroed map has no keys. */
int32_t tr_strmap_find(const tr_strmap *map, const char *key, size_t size);

#endif
