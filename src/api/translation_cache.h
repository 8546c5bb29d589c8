/* Texts already translated by a context, so that a text seen again costs a look-up. Two generations: when the young one is
 * full, the old one is forgotten and the young one becomes old; what is found in the old one becomes young again. */
#ifndef TR_API_TRANSLATION_CACHE_H
#define TR_API_TRANSLATION_CACHE_H

#include "util/error.h"
#include "util/strmap.h"

enum { TR_TRANSLATION_CACHE_BYTES = 64 << 20 }; /* both generations together */

typedef struct tr_cached_translation tr_cached_translation;

typedef struct tr_cache_generation {
    tr_strmap index;
    tr_cached_translation **entries; /* owned */
    size_t count, capacity, bytes;
} tr_cache_generation;

/* A zeroed struct is an empty memory. */
typedef struct tr_translation_cache {
    tr_cache_generation young, old;
    size_t limit;                 /* bytes of both; 0: TR_TRANSLATION_CACHE_BYTES */
    tr_translate_options options; /* that what is kept was made with */
    int source, target;           /* languages */
} tr_translation_cache;

void tr_translation_cache_free(tr_translation_cache *cache);

/* Forgets everything if options or languages (numbers of tr_pair) are not those of what is kept; nor, so far as
 * can be told, the same list of forbidden tokens. */
void tr_translation_cache_prepare(tr_translation_cache *cache, const tr_translate_options *options, int source, int target);

/* A copy of what was kept for text, *found false if nothing was. TR_ERROR_MEMORY */
tr_status tr_translation_cache_find(tr_translation_cache *cache, const char *text, size_t size, bool *found,
                                    tr_result *result, tr_error *error);

/* Keeps a copy. It is no failure where that does not work: memory is short, or the text is too large. */
void tr_translation_cache_add(tr_translation_cache *cache, const char *text, size_t size, const tr_result *result);

#endif
