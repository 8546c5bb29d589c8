/* Finished translations, so that a text that comes again costs a look-up: at most so many bytes (--cache-size), the least
 * recently used are dropped first. */
#ifndef TR_SERVE_CACHE_H
#define TR_SERVE_CACHE_H

#include "serve/server.h"

cache *cache_create(size_t bytes); /* NULL: out of memory */
void cache_free(cache *c);

/* The value of a key; NULL: there is none. Valid until the next call with this cache. */
const void *cache_find(cache *c, const void *key, size_t key_size, size_t *size);
/* Keeps a copy, in place of an older value. What does not fit, or finds no memory, is not kept. */
void cache_add(cache *c, const void *key, size_t key_size, const void *value, size_t size);
size_t cache_bytes(const cache *c);
size_t cache_count(const cache *c);

#endif
