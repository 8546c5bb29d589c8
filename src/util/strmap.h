/* A map from byte strings to 32-bit numbers, built once and then only read: vocabularies and tensor names.
 * It keeps pointers to the keys, not copies. Thread-safe for reading. */
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
    size_t mask, count; /* slots - 1 */
} tr_strmap;

bool tr_strmap_init(tr_strmap *map, size_t expected) TR_CHECKED; /* false: out of memory */
void tr_strmap_free(tr_strmap *map);
/* Adds a key that is not there yet. Returns the value stored under the key: value, or an older one (a duplicate), or -1
 * when memory ran out. Values must be >= 0. Keys are shorter than 4 GiB. */
int32_t tr_strmap_add(tr_strmap *map, const char *key, size_t size, int32_t value) TR_CHECKED;
int32_t tr_strmap_find(const tr_strmap *map, const char *key, size_t size); /* -1 if absent */

#endif
