/* Results of texts, and a context's cache of them: a text seen again costs a look-up. The cache has two generations. When
 * the young one is full, the old one is dropped and the young one becomes the old one; what is found in the old one is
 * copied to the young one. */
#ifndef TR_API_RESULTS_H
#define TR_API_RESULTS_H

#include "api/engine.h"
#include "util/error.h"
#include "util/strmap.h"

struct tr_language_pair;

/* Copies a result and all that it owns. On failure nothing needs freeing. */
tr_status tr_result_copy(const tr_result *from, tr_result *to, tr_error *error);
/* Frees what a result owns, and zeroes it. */
void tr_result_clear(tr_result *result);

/* The flags of results as JSON names them. */
enum { TR_FLAG_NAMES = 7 };
extern const struct tr_flag_name {
    unsigned flag; /* TR_FLAG_... */
    const char *name;
} tr_flag_names[TR_FLAG_NAMES];

enum { TR_TRANSLATION_CACHE_BYTES = 64 << 20 }; /* the default of tr_context_options.cache_bytes */

typedef struct tr_cached_translation tr_cached_translation;

typedef struct tr_cache_generation {
    tr_strmap index;
    tr_cached_translation **entries; /* [count], owned */
    size_t count, capacity, bytes;
} tr_cache_generation;

/* A zeroed struct is an empty cache. */
typedef struct tr_translation_cache {
    tr_cache_generation young, old;
    size_t limit;                 /* bytes of both */
    tr_translate_options options; /* the cached results were made with these, but for pointers */
    uint64_t terms;               /* and with this glossary, see tr_terms_key */
    int source, target;           /* and for these languages, see tr_language_pair */
    bool traditional;
} tr_translation_cache;

void tr_translation_cache_free(tr_translation_cache *cache);

/* Empties the cache if its options or languages are others. */
void tr_translation_cache_prepare(tr_translation_cache *cache, const tr_translate_options *options,
                                  const struct tr_language_pair *pair);

/* A copy of what is cached for text; *found: false if nothing is. TR_ERROR_MEMORY */
tr_status tr_translation_cache_find(tr_translation_cache *cache, const char *text, size_t size, bool *found,
                                    tr_result *result, tr_error *error);

/* Caches a copy. Does nothing if the text is too large or memory is short. */
void tr_translation_cache_add(tr_translation_cache *cache, const char *text, size_t size, const tr_result *result);

#endif
