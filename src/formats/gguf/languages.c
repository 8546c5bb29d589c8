/* The metadata of models with several languages. */
#include "formats/gguf/languages.h"

#include <string.h>

#include "formats/gguf/fields.h"

static tr_status read_place(const tr_gguf *gguf, const char *key, tr_language_place *place, tr_error *error)
{
    char name[32] = "";
    const tr_status status = tr_gguf_read_string(gguf, key, name, sizeof name, error);
    if (status == TR_OK && *name && !tr_language_place_parse(name, place))
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "key %s: %s is not supported", key, name);
    return status;
}

static tr_status read_codes(const tr_gguf *gguf, int vocabulary, tr_languages *languages, tr_error *error)
{
    const tr_gguf_entry *codes = tr_gguf_find(gguf, TR_KEY_LANGUAGES), *ids;
    tr_status status = tr_gguf_find_ids(gguf, TR_KEY_LANGUAGE_IDS, vocabulary, &ids, error);
    if (status != TR_OK || (!codes && !ids))
        return status;
    if (!codes || !codes->array || codes->type != TR_GGUF_STRING || !ids || ids->count != codes->count)
        return tr_gguf_fail_key(error, TR_KEY_LANGUAGES,
                                "is not an array of as many strings as " TR_KEY_LANGUAGE_IDS " has numbers");
    if (codes->count > TR_MAX_LANGUAGES)
        return tr_gguf_fail_key(error, TR_KEY_LANGUAGES, "holds too many languages");
    const unsigned char *at = codes->data;
    for (uint64_t i = 0; status == TR_OK && i < codes->count; i++) {
        size_t size;
        const char *code = tr_gguf_string(&at, &size);
        if (memchr(code, 0, size))
            return tr_gguf_fail_key(error, TR_KEY_LANGUAGES, "holds a NUL");
        status = tr_languages_add(languages, code, size, (int32_t)tr_gguf_element(ids, i), error);
    }
    return status;
}

static tr_status read_special(const tr_gguf *gguf, int vocabulary, tr_ids *special, tr_error *error)
{
    const tr_gguf_entry *entry;
    const tr_status status = tr_gguf_find_ids(gguf, TR_KEY_SPECIAL, vocabulary, &entry, error);
    if (status != TR_OK || !entry)
        return status;
    if (entry->count > (uint64_t)vocabulary)
        return tr_gguf_fail_key(error, TR_KEY_SPECIAL, "holds more ids than there are");
    for (uint64_t i = 0; i < entry->count; i++) {
        const int32_t id = (int32_t)tr_gguf_element(entry, i);
        if (!tr_ids_append(special, &id, 1))
            return tr_fail(error, TR_ERROR_MEMORY, "key " TR_KEY_SPECIAL ": out of memory");
    }
    return TR_OK;
}

tr_status tr_gguf_read_languages(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    const tr_config *c = &package->config;
    const int shared = c->source_vocabulary < c->target_vocabulary ? c->source_vocabulary : c->target_vocabulary;
    tr_languages *l = &package->languages;
    tr_status status = read_place(gguf, TR_KEY_SOURCE_PLACE, &l->source, error);
    if (status == TR_OK)
        status = read_place(gguf, TR_KEY_TARGET_PLACE, &l->target, error);
    const bool target_only = l->target >= TR_LANGUAGE_TARGET_START && l->source == TR_LANGUAGE_NOWHERE;
    const bool source_only = l->target < TR_LANGUAGE_TARGET_START;
    if (status == TR_OK)
        status = read_codes(gguf,
                            target_only   ? c->target_vocabulary
                            : source_only ? c->source_vocabulary
                                          : shared,
                            l, error);
    return status == TR_OK ? read_special(gguf, c->target_vocabulary, &package->special, error) : status;
}
