#define _GNU_SOURCE
#include "serve/deepl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/glossaries.h"
#include "serve/keys.h"
#include "serve/models.h"
#include "serve/routes.h"
#include "serve/translation.h"
#include "util/clock.h"

enum { MAX_TEXTS = 50 };
#define NO_LIMIT INT64_C(1000000000000) /* what DeepL says of accounts without a limit */

json_t *deepl_error(unsigned status, const char *message)
{
    (void)status;
    return json_pack("{s: s}", "message", message);
}

/* ------------------------------------------------------------------------------------------------------------- languages */

/* DeepL's code for a source: the language alone. */
static void source_code(const char *own, char code[LANGUAGE])
{
    size_t size = 0;
    for (; own[size] && own[size] != '-' && size + 1 < LANGUAGE; size++)
        code[size] = (char)toupper((unsigned char)own[size]);
    code[size] = 0;
}

static bool append_language(json_t *list, const char *code, const char *name, size_t name_size, bool target)
{
    json_t *const language = json_pack("{s: s, s: s%}", "language", code, "name", name, name_size);
    if (target && language)
        json_object_set_new(language, "supports_formality", json_false());
    return json_array_append_new(list, language) == 0;
}

/* Chinese of both scripts is one source. */
static bool append_source(json_t *list, const char *own)
{
    const char *const name = language_name(own), *const script = strstr(name, " (");
    char code[LANGUAGE];
    source_code(own, code);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(list, i), "language")), code) == 0)
            return true;
    return append_language(list, code, name, script ? (size_t)(script - name) : strlen(name), false);
}

static bool append_target(json_t *list, const char *own)
{
    static const struct {
        const char *own, *code, *name;
    } variants[] = {
        {"en", "EN-GB", "English (British)"},
        {"en", "EN-US", "English (American)"},
        {"pt", "PT-PT", "Portuguese (European)"},
        {"pt-BR", "PT-BR", "Portuguese (Brazilian)"},
        {"zh-Hans", "ZH", "Chinese (simplified)"},
        {"zh-Hans", "ZH-HANS", "Chinese (simplified)"},
        {"zh-Hant", "ZH-HANT", "Chinese (traditional)"},
    };
    bool found = false, good = true;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (strcmp(variants[i].own, own) == 0) {
            found = true;
            good = good && append_language(list, variants[i].code, variants[i].name, strlen(variants[i].name), true);
        }
    char code[LANGUAGE];
    source_code(own, code);
    return found ? good : append_language(list, code, language_name(own), strlen(language_name(own)), true);
}

static void handle_languages(request *r)
{
    const models *const m = r->server->models;
    const char *type;
    if (!deepl_text(r, "type", &type))
        return;
    const bool target = type && strcmp(type, "target") == 0;
    if (type && !target && strcmp(type, "source") != 0) {
        answer_error(r, 400, "Parameter 'type' is invalid. 'source' and 'target' are valid values.");
        return;
    }
    const json_t *const codes = target ? models_targets(m) : models_sources(m);
    json_t *list = json_array();
    bool good = list != NULL;
    for (size_t i = 0; good && i < json_array_size(codes); i++) {
        const char *const own = json_string_value(json_array_get(codes, i));
        good = target ? append_target(list, own) : append_source(list, own);
    }
    if (!good) {
        json_decref(list);
        list = NULL;
    }
    answer_json(r, 200, list);
}

static bool is_listed(const json_t *codes, const char *any)
{
    char code[LANGUAGE];
    if (!language_of(any, code))
        return false;
    for (size_t i = 0; i < json_array_size(codes); i++)
        if (language_same(json_string_value(json_array_get(codes, i)), code))
            return true;
    return false;
}

/* --------------------------------------------------------------------------------------------------------------- options */

bool deepl_text(request *r, const char *name, const char **value)
{
    const json_t *const field = json_object_get(r->fields, name);
    const char *const text = json_string_value(field);
    *value = text && *text ? text : NULL;
    if (!field || json_is_null(field) || text)
        return true;
    answer_error(r, 400, "Value for '%s' not supported: it is not a text.", name);
    return false;
}

/* Whether a field has one of the values, which spaces separate; flags and numbers count as 0 and 1. */
static bool is_one_of(const json_t *field, const char *values)
{
    const json_int_t number = json_is_true(field) ? 1 : json_integer_value(field);
    const bool is_flag = json_is_boolean(field) || (json_is_integer(field) && (number == 0 || number == 1));
    const char *const value = is_flag ? (number ? "1" : "0") : json_string_value(field);
    for (size_t size; value && *values; values += size + (values[size] != 0)) {
        size = strcspn(values, " ");
        if (strncasecmp(values, value, size) == 0 && !value[size])
            return true;
    }
    return false;
}

/* Parameters whose values are checked, though only tag_handling matters here. */
static bool check_choices(request *r)
{
    static const struct {
        const char *name, *values;
    } choices[] = {
        {"formality", "default prefer_more prefer_less"},
        {"model_type", "latency_optimized quality_optimized prefer_quality_optimized"},
        {"outline_detection", "0 1 false true"},
        {"preserve_formatting", "0 1 false true"},
        {"show_billed_characters", "0 1 false true"},
        {"split_sentences", "0 1 nonewlines"},
        {"tag_handling", "html xml"},
        {"tag_handling_version", "v1 v2"},
    };
    static const char *const unsupported[] = {"custom_instructions", "style_id", "translation_memory_id"};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const json_t *const field = json_object_get(r->fields, choices[i].name);
        if (!field || json_is_null(field) || is_one_of(field, choices[i].values))
            continue;
        answer_error(r, 400, "Value for '%s' not supported. Supported values: %s", choices[i].name, choices[i].values);
        return false;
    }
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++) {
        const json_t *const field = json_object_get(r->fields, unsupported[i]);
        if (!field || json_is_null(field) || (json_is_array(field) && !json_array_size(field)))
            continue;
        answer_error(r, 400, "Parameter '%s' is not supported.", unsupported[i]);
        return false;
    }
    return true;
}

/* glossary_id, or glossary_ids, a list or a text with commas, which may have one. */
static bool read_glossary_id(request *r, const char **id)
{
    const json_t *ids = json_object_get(r->fields, "glossary_ids");
    if (!deepl_text(r, "glossary_id", id))
        return false;
    if (json_is_array(ids) && json_array_size(ids) <= 1)
        ids = json_array_get(ids, 0);
    const char *const text = json_string_value(ids);
    if ((ids && !json_is_null(ids) && !text) || (text && (*id || strchr(text, ',')))) {
        answer_error(r, 400, "Value for 'glossary_ids' not supported: there can be one glossary.");
        return false;
    }
    if (text && *text)
        *id = text;
    return true;
}

bool deepl_read_options(request *r, deepl_options *o)
{
    const models *const m = r->server->models;
    if (!deepl_text(r, "source_lang", &o->source) || !deepl_text(r, "target_lang", &o->target) ||
        !read_glossary_id(r, &o->glossary) || !check_choices(r))
        return false;
    if (!o->target)
        answer_error(r, 400, "Parameter 'target_lang' not specified.");
    else if (!is_listed(models_targets(m), o->target))
        answer_error(r, 400, "Value for 'target_lang' not supported.");
    else if (o->source && !is_listed(models_sources(m), o->source))
        answer_error(r, 400, "Value for 'source_lang' not supported.");
    else if (o->glossary && !o->source)
        answer_error(r, 400, "Use of a glossary requires the 'source_lang' parameter to be specified.");
    else
        return true;
    return false;
}

/* ----------------------------------------------------------------------------------------------------------------- texts */

/* "prefer_quality_optimized" asks for what it gets. */
static const char *model_used(const request *r)
{
    const char *const type = request_text(r, "model_type");
    return type && strncmp(type, "prefer_", 7) == 0 ? type + 7 : type;
}

static json_t *pack_translation(const request *r, const source_text *text, const translated *result)
{
    char source[LANGUAGE];
    source_code(result->source, source);
    return json_pack("{s: s, s: s%, s: I, s: s*}", "detected_source_language", source, "text", result->text, result->size,
                     "billed_characters", (json_int_t)text_characters(text->data, text->size), "model_type_used",
                     model_used(r));
}

static void answer_texts(request *r, const translated *results, size_t count)
{
    source_text *texts;
    size_t text_count;
    json_t *list = json_array();
    if (request_texts(r, "text", &texts, &text_count, NULL)) {
        for (size_t i = 0; i < count && list; i++)
            if (json_array_append_new(list, pack_translation(r, &texts[i], &results[i]))) {
                json_decref(list);
                list = NULL;
            }
        free(texts);
    }
    answer_json(r, 200, list ? json_pack("{s: o}", "translations", list) : NULL);
}

static void handle_translate(request *r)
{
    deepl_options o;
    source_text *texts;
    size_t count;
    if (!deepl_read_options(r, &o))
        return;
    translation_options options = {.source = o.source, .target = o.target, .html = request_text(r, "tag_handling")};
    if (!request_texts(r, "text", &texts, &count, NULL)) {
        answer_error(r, 400,
                     json_object_get(r->fields, "text") ? "Value for 'text' not supported: it is no list of texts."
                                                        : "Parameter 'text' not specified.");
        return;
    }
    if (!count || count > MAX_TEXTS)
        answer_error(r, 400, count ? "Too many texts: more than %d." : "Parameter 'text' not specified.", MAX_TEXTS);
    else if (o.glossary && !(options.glossary = glossaries_take(r, o.glossary, o.source, o.target)))
        answer_error(r, 404, "Glossary not found for this source and target language.");
    else
        translate_texts(r, texts, count, &options, answer_texts);
    dictionary_release(options.glossary);
    free(texts);
}

static void handle_usage(request *r)
{
    answer_json(r, 200,
                json_pack("{s: I, s: I}", "character_count", (json_int_t)keys_characters(r->server->keys, r),
                          "character_limit", (json_int_t)NO_LIMIT));
}

/* ---------------------------------------------------------------------------------------------------------------- DeepLX */

static json_t *deeplx_error(unsigned status, const char *message)
{
    return json_pack("{s: i, s: s}", "code", (int)status, "message", message);
}

static void answer_deeplx(request *r, const translated *results, size_t count)
{
    char source[LANGUAGE];
    const json_int_t id = (json_int_t)(tr_nanoseconds() / 1000 % UINT64_C(10000000000));
    (void)count;
    source_code(results->source, source);
    answer_json(r, 200,
                json_pack("{s: i, s: I, s: s%, s: [], s: s, s: s, s: s}", "code", 200, "id", id, "data", results->text,
                          results->size, "alternatives", "source_lang", source, "target_lang",
                          request_text(r, "target_lang"), "method", "Free"));
}

static void handle_deeplx(request *r)
{
    const char *text, *tags;
    translation_options options = {0};
    if (!deepl_text(r, "text", &text) || !deepl_text(r, "source_lang", &options.source) ||
        !deepl_text(r, "target_lang", &options.target) || !deepl_text(r, "tag_handling", &tags))
        return;
    options.html = tags;
    if (tags && strcmp(tags, "html") != 0 && strcmp(tags, "xml") != 0) {
        answer_error(r, 400, "Invalid tag_handling value. Allowed values are 'html' and 'xml'.");
    } else if (!text || !options.target) {
        answer_error(r, 404, text ? "No target language found" : "No translation text found");
    } else {
        const source_text item = {text, json_string_length(json_object_get(r->fields, "text"))};
        translate_texts(r, &item, 1, &options, answer_deeplx);
    }
}

/* ---------------------------------------------------------------------------------------------------------------- routes */

const route deepl_routes[] = {
    {"POST", "/v2/translate", handle_translate, deepl_error, 0},
    {"GET", "/v2/translate", handle_translate, deepl_error, 0},
    {"GET", "/v2/languages", handle_languages, deepl_error, 0},
    {"POST", "/v2/languages", handle_languages, deepl_error, 0},
    {"GET", "/v2/usage", handle_usage, deepl_error, 0},
    {"POST", "/v2/usage", handle_usage, deepl_error, 0},
    {"POST", "/v2/document", deepl_document_create, deepl_error, ROUTE_UPLOAD},
    {"POST", "/v2/document/*", deepl_document_status, deepl_error, ROUTE_FREE},
    {"GET", "/v2/document/*", deepl_document_status, deepl_error, ROUTE_FREE},
    {"POST", "/v2/document/*/result", deepl_document_result, deepl_error, ROUTE_FREE},
    {"GET", "/v2/document/*/result", deepl_document_result, deepl_error, ROUTE_FREE},
    {"GET", "/v2/glossary-language-pairs", deepl_glossary_pairs, deepl_error, 0},
    {"POST", "/v2/glossaries", deepl_glossaries_create, deepl_error, ROUTE_UPLOAD},
    {"GET", "/v2/glossaries", deepl_glossaries_list, deepl_error, 0},
    {"GET", "/v2/glossaries/*", deepl_glossary_get, deepl_error, 0},
    {"GET", "/v2/glossaries/*/entries", deepl_glossary_entries, deepl_error, 0},
    {"DELETE", "/v2/glossaries/*", deepl_glossary_delete, deepl_error, 0},
    {"POST", "/v3/glossaries", deepl_multilingual_create, deepl_error, ROUTE_UPLOAD},
    {"GET", "/v3/glossaries", deepl_multilingual_list, deepl_error, 0},
    {"GET", "/v3/glossaries/*", deepl_multilingual_get, deepl_error, 0},
    {"PATCH", "/v3/glossaries/*", deepl_multilingual_patch, deepl_error, ROUTE_UPLOAD},
    {"DELETE", "/v3/glossaries/*", deepl_glossary_delete, deepl_error, 0},
    {"GET", "/v3/glossaries/*/entries", deepl_multilingual_entries, deepl_error, 0},
    {"PUT", "/v3/glossaries/*/dictionaries", deepl_dictionary_put, deepl_error, ROUTE_UPLOAD},
    {"DELETE", "/v3/glossaries/*/dictionaries", deepl_dictionary_delete, deepl_error, 0},
    {"POST", "/deeplx", handle_deeplx, deeplx_error, 0},
    {"POST", "/deeplx/translate", handle_deeplx, deeplx_error, 0},
    {0},
};
