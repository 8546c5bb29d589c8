#include "serve/cache.h"

#include <stdlib.h>
#include <string.h>

#include "util/siphash.h"

enum { FIRST_SLOTS = 64, MALLOC_OVERHEAD = 16 };

typedef struct entry {
    struct entry *next;          /* in the same slot */
    struct entry *newer, *older; /* by their last use */
    uint64_t hash;
    size_t key_size, size;
    max_align_t bytes[]; /* the value, then the key */
} entry;

struct cache {
    tr_siphash_key seed;
    size_t limit, bytes; /* bytes: of all entries and slots */
    size_t count, slot_count;
    entry **slots; /* [slot_count], a power of two */
    entry *newest, *oldest;
};

static size_t entry_bytes(const entry *e)
{
    return sizeof *e + e->key_size + e->size + MALLOC_OVERHEAD;
}

static char *entry_key(entry *e)
{
    return (char *)e->bytes + e->size;
}

static entry **slot_of(const cache *c, uint64_t hash)
{
    return &c->slots[hash & (c->slot_count - 1)];
}

static void list_add(cache *c, entry *e)
{
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

static void list_remove(cache *c, const entry *e)
{
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static entry *find_entry(const cache *c, uint64_t hash, const void *key, size_t key_size)
{
    entry *e = *slot_of(c, hash);
    while (e && (e->hash != hash || e->key_size != key_size || memcmp(entry_key(e), key, key_size) != 0))
        e = e->next;
    return e;
}

static void remove_entry(cache *c, entry *e)
{
    entry **at = slot_of(c, e->hash);
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    list_remove(c, e);
    c->bytes -= entry_bytes(e);
    c->count--;
    free(e);
}

/* Without memory the slots' lists become longer. */
static void grow_slots(cache *c)
{
    entry **slots = calloc(2 * c->slot_count, sizeof *slots);
    if (!slots)
        return;
    free(c->slots);
    c->bytes += c->slot_count * sizeof *slots;
    c->slots = slots;
    c->slot_count *= 2;
    for (entry *e = c->newest; e; e = e->older) {
        entry **slot = slot_of(c, e->hash);
        e->next = *slot;
        *slot = e;
    }
}

cache *cache_create(size_t bytes)
{
    cache *c = calloc(1, sizeof *c);
    entry **slots = calloc(FIRST_SLOTS, sizeof *slots);
    if (c && slots && tr_siphash_choose(&c->seed)) {
        c->limit = bytes;
        c->slots = slots;
        c->slot_count = FIRST_SLOTS;
        c->bytes = FIRST_SLOTS * sizeof *slots;
        return c;
    }
    free(slots);
    free(c);
    return NULL;
}

void cache_free(cache *c)
{
    if (!c)
        return;
    while (c->oldest)
        remove_entry(c, c->oldest);
    free(c->slots);
    free(c);
}

const void *cache_find(cache *c, const void *key, size_t key_size, size_t *size)
{
    entry *e = find_entry(c, tr_siphash(&c->seed, key, key_size), key, key_size);
    *size = e ? e->size : 0;
    if (!e)
        return NULL;
    list_remove(c, e);
    list_add(c, e);
    return e->bytes;
}

/* NULL: it does not fit, or there is no memory. */
static entry *make_entry(const cache *c, uint64_t hash, const void *key, size_t key_size, const void *value, size_t size)
{
    const entry made = {.hash = hash, .key_size = key_size, .size = size};
    const size_t slots = c->slot_count * sizeof *c->slots, room = c->limit > slots ? c->limit - slots : 0;
    if (key_size > room || size > room || entry_bytes(&made) > room)
        return NULL;
    entry *e = malloc(sizeof *e + size + key_size);
    if (!e)
        return NULL;
    *e = made;
    memcpy(e->bytes, value, size);
    memcpy(entry_key(e), key, key_size);
    return e;
}

static void insert_entry(cache *c, entry *e)
{
    entry **slot = slot_of(c, e->hash);
    e->next = *slot;
    *slot = e;
    list_add(c, e);
    c->bytes += entry_bytes(e);
    c->count++;
}

void cache_add(cache *c, const void *key, size_t key_size, const void *value, size_t size)
{
    const uint64_t hash = tr_siphash(&c->seed, key, key_size);
    entry *e = make_entry(c, hash, key, key_size, value, size); /* first, because value may be that of an entry */
    entry *before = find_entry(c, hash, key, key_size);
    if (before)
        remove_entry(c, before);
    if (!e)
        return;
    if (c->count >= c->slot_count)
        grow_slots(c);
    insert_entry(c, e);
    while (c->bytes > c->limit && c->oldest)
        remove_entry(c, c->oldest);
}

size_t cache_bytes(const cache *c)
{
    return c->bytes;
}

size_t cache_count(const cache *c)
{
    return c->count;
}
