/* LibreTranslate's interface, https://docs.libretranslate.com. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "serve/files.h"
#include "serve/keys.h"
#include "serve/languages.h"
#include "serve/metrics.h"
#include "serve/models.h"
#include "serve/routes.h"
#include "serve/translation.h"

static json_t *error(unsigned status, const char *message)
{
    (void)status;
    return json_pack("{s: s}", "error", message);
}

/* ------------------------------------------------------------------------------------------------------------- translate */

static json_t *alternatives_of(const translated *t)
{
    json_t *const list = json_array();
    for (size_t i = 0; i < t->alternative_count; i++)
        json_array_append_new(list, json_string(t->alternatives[i]));
    return list;
}

static json_t *language_of_result(const translated *t)
{
    return json_pack("{s: i, s: s}", "confidence", t->confidence, "language", t->source);
}

/* A value for a text, or a list of values for a list of texts. */
static json_t *values_of(const translated *results, size_t count, bool list, json_t *(*value)(const translated *t))
{
    if (!list)
        return value(results);
    json_t *const values = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(values, value(&results[i]));
    return values;
}

static json_t *text_of(const translated *t)
{
    return json_stringn(t->text, t->size);
}

static void on_translated(request *r, const translated *results, size_t count)
{
    const bool list = json_is_array(json_object_get(r->fields, "q"));
    json_t *const answer = json_pack("{s: o}", "translatedText", values_of(results, count, list, text_of));
    if (count && results->confidence >= 0)
        json_object_set_new(answer, "detectedLanguage", values_of(results, count, list, language_of_result));
    if (request_number(r, "alternatives", 0, NULL) > 0)
        json_object_set_new(answer, "alternatives", values_of(results, count, list, alternatives_of));
    answer_json(r, 200, answer);
}

static void translate(request *r)
{
    source_text *texts = NULL;
    size_t count = 0;
    bool valid;
    const char *const source = request_text(r, "source"), *const target = request_text(r, "target");
    const char *const format = request_text(r, "format");
    const int64_t alternatives = request_number(r, "alternatives", 0, &valid);
    if (!json_object_get(r->fields, "q") && json_object_get(r->fields, "text"))
        mtran_translate(r);
    else if (!json_object_get(r->fields, "q"))
        answer_error(r, 400, "Invalid request: missing q parameter");
    else if (!request_texts(r, "q", &texts, &count, NULL))
        answer_error(r, 400, "Invalid request: q must be a text or a list of texts");
    else if (!source || !target)
        answer_error(r, 400, "Invalid request: missing %s parameter", source ? "target" : "source");
    else if (format && strcmp(format, "text") != 0 && strcmp(format, "html") != 0)
        answer_error(r, 400, "%.40s format is not supported", format);
    else if (!valid || alternatives < 0 || alternatives > INT_MAX)
        answer_error(r, 400, "Invalid request: alternatives must be a number");
    else
        translate_texts(r, texts, count,
                        &(translation_options){.source = source,
                                               .target = target,
                                               .html = format && strcmp(format, "html") == 0,
                                               .alternatives = (int)alternatives},
                        on_translated);
    free(texts);
}

/* ------------------------------------------------------------------------------------------------------------- languages */

static void add_language(json_t *list, const models *m, const char *code)
{
    const json_t *const targets = models_targets_of(m, code);
    json_array_append_new(list, json_pack("{s: s, s: s, s: o}", "code", code, "name", language_name(code), "targets",
                                          targets ? json_incref((json_t *)targets) : json_array()));
}

/* Sources, then languages that are targets alone: clients choose from the list for both. */
static void list_languages(request *r)
{
    const models *const m = r->server->models;
    const json_t *const sources = models_sources(m), *const targets = models_targets(m);
    json_t *const list = json_array();
    for (size_t i = 0; i < json_array_size(sources); i++)
        add_language(list, m, json_string_value(json_array_get(sources, i)));
    for (size_t i = 0; i < json_array_size(targets); i++) {
        const char *const code = json_string_value(json_array_get(targets, i));
        if (!models_targets_of(m, code))
            add_language(list, m, code);
    }
    answer_json(r, 200, list);
}

static void detect(request *r)
{
    source_text *texts;
    size_t count;
    detected found;
    if (!request_texts(r, "q", &texts, &count, NULL)) {
        answer_error(r, 400, "Invalid request: missing q parameter");
        return;
    }
    if (!count || keys_take(r->server->keys, r, text_characters(texts->data, texts->size))) {
        json_t *list = json_array();
        if (count) {
            language_detect(r->server, texts->data, texts->size, NULL, &found);
            json_array_append_new(list, json_pack("{s: i, s: s}", "confidence", found.confidence, "language", found.code));
        }
        answer_json(r, 200, list);
    }
    free(texts);
}

static json_t *named(const char *code)
{
    return json_pack("{s: s, s: s}", "code", code, "name", language_name(code));
}

static void frontend_settings(request *r)
{
    const cli_settings *const s = r->server->settings;
    const char *const source = json_string_value(json_array_get(models_sources(r->server->models), 0));
    const char *const target = json_string_value(json_array_get(models_targets_of(r->server->models, source), 0));
    const bool required = keys_required(r->server->keys);
    answer_json(r, 200,
                json_pack("{s: b, s: i, s: b, s: b, s: i, s: b, s: o, s: {s: o, s: o}}", "apiKeys", required, "charLimit",
                          s->char_limit ? s->char_limit : -1, "filesTranslation", true, "keyRequired", required,
                          "frontendTimeout", 500, "suggestions", false, "supportedFilesFormat", files_endings(), "language",
                          "source", named(source), "target", named(target)));
}

static void suggest(request *r)
{
    answer_error(r, 403, "Suggestions are disabled on this server.");
}

void libretranslate_health(request *r)
{
    answer_json(r, 200, json_pack("{s: s}", "status", "ok"));
}

const route libretranslate_routes[] = {
    {"POST", "/translate", translate, error, 0},
    {"POST", "/translate_file", files_translate, error, ROUTE_UPLOAD},
    {"GET", "/download_file/*", files_download, error, ROUTE_OPEN},
    {"GET", "/languages", list_languages, error, ROUTE_OPEN | ROUTE_FREE},
    {"POST", "/detect", detect, error, 0},
    {"GET", "/frontend/settings", frontend_settings, error, ROUTE_OPEN | ROUTE_FREE},
    {"POST", "/suggest", suggest, error, 0},
    {"GET", "/health", libretranslate_health, error, ROUTE_OPEN | ROUTE_FREE},
    {"GET", "/metrics", metrics_handle, error, ROUTE_FREE},
    {0},
};
