#include "api/results.h"

#include "util/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "api/options.h"
#include "run/requests.h"
#include "text/language_pair.h"
#include "text/terms.h"

const struct tr_flag_name tr_flag_names[TR_FLAG_NAMES] = {
    {TR_FLAG_LOOP, "loop"},
    {TR_FLAG_CUT, "cut"},
    {TR_FLAG_INVALID_UTF8, "invalid_utf8"},
    {TR_FLAG_MAX_LENGTH, "max_length"},
    {TR_FLAG_NUMBER, "number"},
    {TR_FLAG_PASSED_THROUGH, "passed_through"},
    {TR_FLAG_DOUBTFUL, "doubtful"},
};

/* Copies count elements to *to, NULL if there is no array. Returns false if out of memory. */
static bool copy_array(const void *from, size_t count, size_t size, void **to)
{
    *to = NULL;
    if (!from)
        return true;
    *to = tr_copy_bytes(from, count * size);
    return *to != NULL;
}

static bool copy_tokens(const tr_tokens *from, const tr_span *spans, tr_tokens *to, tr_span **to_spans)
{
    void *ids, *copied_spans = NULL;
    const bool good = copy_array(from->ids, from->count, sizeof *from->ids, &ids) &&
                      copy_array(spans, from->count, sizeof *spans, &copied_spans);
    *to = (tr_tokens){ids, from->count};
    *to_spans = copied_spans;
    return good;
}

static bool copy_links(const tr_alignment *from, tr_alignment *to)
{
    void *links;
    const bool good = copy_array(from->links, from->count, sizeof *from->links, &links);
    *to = (tr_alignment){links, from->count};
    return good;
}

static bool copy_hypothesis(const tr_translation *from, tr_translation *to)
{
    void *text;
    const bool good = copy_array(from->text, from->size + 1, 1, &text);
    *to = *from;
    to->text = text;
    to->target = (tr_tokens){0};
    to->target_spans = NULL;
    to->alignment = (tr_alignment){0};
    return good && copy_tokens(&from->target, from->target_spans, &to->target, &to->target_spans) &&
           copy_links(&from->alignment, &to->alignment);
}

static bool copy_hypotheses(const tr_result *from, tr_result *to)
{
    if (!from->hypotheses)
        return true;
    to->hypotheses = calloc(from->hypothesis_count + 1, sizeof *to->hypotheses);
    bool good = to->hypotheses;
    for (size_t i = 0; good && i < from->hypothesis_count; i++)
        good = copy_hypothesis(&from->hypotheses[i], &to->hypotheses[i]);
    return good;
}

static bool copy_sentences(const tr_result *from, tr_result *to)
{
    const size_t count = (size_t)from->sentences;
    void *source, *target = NULL, *flags = NULL;
    const bool good = copy_array(from->source_sentences, count, sizeof(tr_span), &source) &&
                      copy_array(from->target_sentences, count, sizeof(tr_span), &target) &&
                      copy_array(from->sentence_flags, count, sizeof(unsigned), &flags);
    to->source_sentences = source;
    to->target_sentences = target;
    to->sentence_flags = flags;
    return good;
}

/* A copy of the result with NULL in place of all that it owns. */
static tr_result without_arrays(const tr_result *from)
{
    tr_result to = *from;
    to.text = NULL;
    to.scored = NULL;
    to.hypotheses = NULL;
    to.source = to.target = (tr_tokens){0};
    to.source_spans = to.target_spans = NULL;
    to.source_sentences = to.target_sentences = NULL;
    to.sentence_flags = NULL;
    to.alignment = (tr_alignment){0};
    return to;
}

tr_status tr_result_copy(const tr_result *from, tr_result *to, tr_error *error)
{
    void *text, *scored = NULL;
    *to = without_arrays(from);
    bool good = copy_array(from->text, from->size + 1, 1, &text) &&
                copy_array(from->scored, from->scored_count, sizeof *from->scored, &scored);
    to->text = text;
    to->scored = scored;
    good = good && copy_sentences(from, to) && copy_hypotheses(from, to) &&
           copy_tokens(&from->source, from->source_spans, &to->source, &to->source_spans) &&
           copy_tokens(&from->target, from->target_spans, &to->target, &to->target_spans) &&
           copy_links(&from->alignment, &to->alignment);
    if (good)
        return TR_OK;
    tr_result_clear(to);
    return tr_fail_memory(error, "result");
}

static void clear_hypothesis(tr_translation *hypothesis)
{
    free(hypothesis->text);
    free(hypothesis->target.ids);
    free(hypothesis->target_spans);
    free(hypothesis->alignment.links);
}

void tr_result_clear(tr_result *result)
{
    for (size_t i = 0; result->hypotheses && i < result->hypothesis_count; i++)
        clear_hypothesis(&result->hypotheses[i]);
    free(result->hypotheses);
    free(result->scored);
    free(result->text);
    free(result->source.ids);
    free(result->target.ids);
    free(result->source_spans);
    free(result->target_spans);
    free(result->source_sentences);
    free(result->target_sentences);
    free(result->sentence_flags);
    free(result->alignment.links);
    *result = (tr_result){0};
}

void tr_result_array_free(tr_result *results, size_t count)
{
    for (size_t i = 0; results && i < count; i++)
        tr_result_clear(&results[i]);
    free(results);
}

void tr_hypotheses_free(tr_hypotheses *hypotheses, size_t count)
{
    for (size_t i = 0; hypotheses && i < count; i++)
        tr_hypotheses_clear(&hypotheses[i]);
    free(hypotheses);
}

/* --------------------------------------------------------------------------------------------------------------- cache */

/* Bytes of tokens with their spans, and of links. */
static size_t aligned_bytes(const tr_tokens *tokens, const tr_alignment *alignment)
{
    return tokens->count * (sizeof *tokens->ids + sizeof(tr_span)) + alignment->count * sizeof *alignment->links;
}

/* Bytes that a copy takes. */
static size_t result_bytes(const tr_result *result)
{
    size_t bytes = result->size + 1 + result->scored_count * sizeof *result->scored;
    bytes += (size_t)result->sentences * (2 * sizeof(tr_span) + sizeof *result->sentence_flags);
    bytes += aligned_bytes(&result->target, &result->alignment) + aligned_bytes(&result->source, &(tr_alignment){0});
    for (size_t i = 0; result->hypotheses && i < result->hypothesis_count; i++) {
        const tr_translation *h = &result->hypotheses[i];
        bytes += sizeof *h + h->size + 1 + aligned_bytes(&h->target, &h->alignment);
    }
    return bytes;
}

struct tr_cached_translation {
    tr_result result;
    char key[]; /* the text */
};

/* Bytes that an entry takes besides its texts: struct, slot in the index, pointer, allocator. */
enum { OVERHEAD = sizeof(tr_cached_translation) + 2 * sizeof(tr_strmap_slot) + 2 * sizeof(void *) + 32 };

static void free_cached(tr_cached_translation *entry)
{
    tr_result_clear(&entry->result);
    free(entry);
}

static void free_generation(tr_cache_generation *generation)
{
    for (size_t i = 0; i < generation->count; i++)
        free_cached(generation->entries[i]);
    free(generation->entries);
    tr_strmap_free(&generation->index);
    *generation = (tr_cache_generation){0};
}

void tr_translation_cache_free(tr_translation_cache *cache)
{
    free_generation(&cache->young);
    free_generation(&cache->old);
}

void tr_translation_cache_prepare(tr_translation_cache *cache, const tr_translate_options *options,
                                  const struct tr_language_pair *pair)
{
    const bool traditional = pair->traditional.size > 0;
    const uint64_t terms = tr_terms_key(options->glossary);
    if (tr_translate_options_same(&cache->options, options) && cache->terms == terms && cache->source == pair->source &&
        cache->target == pair->target && cache->traditional == traditional)
        return;
    tr_translation_cache_free(cache);
    cache->options = *options;
    cache->options.glossary = NULL; /* it may be freed */
    cache->terms = terms;
    cache->source = pair->source;
    cache->target = pair->target;
    cache->traditional = traditional;
}

static const tr_cached_translation *find_in_generation(const tr_cache_generation *generation, const char *text, size_t size)
{
    const int32_t found = size <= UINT32_MAX ? tr_strmap_find(&generation->index, text, size) : -1;
    return found < 0 ? NULL : generation->entries[found];
}

tr_status tr_translation_cache_find(tr_translation_cache *cache, const char *text, size_t size, bool *found,
                                    tr_result *result, tr_error *error)
{
    const tr_cached_translation *entry = find_in_generation(&cache->young, text, size);
    const tr_cached_translation *old = entry ? NULL : find_in_generation(&cache->old, text, size);
    *found = entry || old;
    if (!*found)
        return TR_OK;
    const tr_status status = tr_result_copy(entry ? &entry->result : &old->result, result, error);
    if (old && status == TR_OK)
        tr_translation_cache_add(cache, text, size, result);
    return status;
}

static bool reserve_entry(tr_cache_generation *generation)
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
    const size_t half = cache->limit / 2, copy_bytes = result_bytes(result);
    if (size > half || copy_bytes > half || OVERHEAD + size + copy_bytes > half)
        return;
    const size_t bytes = OVERHEAD + size + copy_bytes;
    if (cache->young.bytes + bytes > half) {
        free_generation(&cache->old);
        cache->old = cache->young;
        cache->young = (tr_cache_generation){0};
    }
    tr_cache_generation *young = &cache->young;
    tr_cached_translation *entry = reserve_entry(young) ? malloc(sizeof *entry + size + 1) : NULL;
    if (!entry)
        return;
    if (size)
        memcpy(entry->key, text, size);
    if (tr_result_copy(result, &entry->result, NULL) != TR_OK ||
        tr_strmap_add(&young->index, entry->key, size, (int32_t)young->count) != (int32_t)young->count) {
        free_cached(entry); /* out of memory, or the text is in the cache already */
        return;
    }
    young->entries[young->count++] = entry;
    young->bytes += bytes;
}
