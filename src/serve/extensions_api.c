/* What browser extensions send to servers of their users' own: Immersive Translate, Kiss Translator and HCFY; and
 * MTranServer, which answers them, too. Shapes of errors are MTranServer's. */
#include <stdlib.h>
#include <string.h>

#include "serve/google_api.h"
#include "serve/languages.h"
#include "serve/routes.h"
#include "serve/translation.h"

typedef void answer_call(request *r, const translated *results, size_t count);

static json_t *extension_error(unsigned status, const char *message)
{
    (void)status;
    return json_pack("{s: s}", "error", message);
}

/* Answers { name: list }, with an item for each result. */
static void answer_list(request *r, const char *name, json_t *(*item)(const request *r, const translated *result),
                        const translated *results, size_t count)
{
    json_t *const list = json_array();
    bool good = list != NULL;
    for (size_t i = 0; good && i < count; i++)
        good = json_array_append_new(list, item(r, &results[i])) == 0;
    answer_json(r, 200, good ? json_pack("{s: O}", name, list) : NULL);
    json_decref(list);
}

/* Translates the texts of the field `name` between the languages of the fields source and target. */
static void translate_fields(request *r, const char *name, const char *source, const char *target, bool html,
                             answer_call *done)
{
    source_text *texts;
    size_t count;
    translation_options options = {.target = request_text(r, target), .html = html};
    if (!request_option(r, source, &options.source))
        return;
    if (!options.target)
        answer_error(r, 400, "%s: must be the code of a language", target);
    else if (!request_texts(r, name, &texts, &count, NULL))
        answer_error(r, 400, "%s: must be a text or a list of texts", name);
    else {
        translate_texts(r, texts, count, &options, done);
        free(texts);
    }
}

/* ---------------------------------------------------------------------------------------------------- Immersive Translate
 */

static json_t *immersive_item(const request *r, const translated *result)
{
    (void)r;
    return json_pack("{s: s, s: s%}", "detected_source_lang", google_code(result->source), "text", result->text,
                     result->size);
}

static void answer_immersive(request *r, const translated *results, size_t count)
{
    answer_list(r, "translations", immersive_item, results, count);
}

static void translate_immersive(request *r)
{
    translate_fields(r, "text_list", "source_lang", "target_lang", false, answer_immersive);
}

/* -------------------------------------------------------------------------------------------------------- Kiss Translator
 */

/* The source language as the client spells it, who compares it with the target. */
static const char *kiss_source(const request *r, const translated *result)
{
    const char *const from = request_text(r, "from"), *const to = request_text(r, "to");
    char code[LANGUAGE];
    if (result->confidence < 0)
        return from;
    return language_of(to, code) && language_same(code, result->source) ? to : google_code(result->source);
}

static json_t *kiss_item(const request *r, const translated *result)
{
    return json_pack("{s: s%, s: s}", "text", result->text, result->size, "src", kiss_source(r, result));
}

static void answer_kiss_list(request *r, const translated *results, size_t count)
{
    answer_list(r, "translations", kiss_item, results, count);
}

static void answer_kiss(request *r, const translated *results, size_t count)
{
    const char *const source = kiss_source(r, results);
    (void)count;
    answer_json(r, 200,
                json_pack("{s: s%, s: s, s: s, s: s}", "text", results->text, results->size, "from", source, "to",
                          request_text(r, "to"), "src", source));
}

static void translate_kiss(request *r)
{
    const json_t *const texts = json_object_get(r->fields, "texts");
    if (texts && !json_is_null(texts))
        translate_fields(r, "texts", "from", "to", false, answer_kiss_list);
    else if (!request_text(r, "text"))
        answer_error(r, 400, "text: must be a text");
    else
        translate_fields(r, "text", "from", "to", false, answer_kiss);
}

/* ------------------------------------------------------------------------------------------------------------------- HCFY
 */

static void answer_hcfy(request *r, const translated *results, size_t count)
{
    json_t *const list = json_array();
    bool good = list != NULL;
    for (size_t i = 0; good && i < count; i++)
        good = json_array_append_new(list, json_stringn(results[i].text, results[i].size)) == 0;
    answer_json(r, 200,
                good ? json_pack("{s: s, s: s, s: s, s: O}", "text", request_text(r, "text"), "from",
                                 language_chinese_name(results->source), "to", language_chinese_name(results->target),
                                 "result", list)
                     : NULL);
    json_decref(list);
}

/* The paragraphs of a text, for free(); NULL: out of memory. */
static source_text *split_paragraphs(const char *text, size_t *count)
{
    *count = 1;
    for (const char *c = text; *c; c++)
        *count += *c == '\n';
    source_text *const paragraphs = calloc(*count, sizeof *paragraphs);
    for (size_t i = 0; paragraphs && i < *count; i++) {
        const size_t size = strcspn(text, "\n");
        paragraphs[i] = (source_text){text, size - (size && text[size - 1] == '\r')};
        text += size + 1;
    }
    return paragraphs;
}

/* The language of the text decides between the first destination and the second. */
static void translate_hcfy(request *r)
{
    const char *const text = request_text(r, "text");
    source_text *destinations;
    size_t count;
    translation_options options = {0};
    if (!request_option(r, "source", &options.source))
        return;
    if (!text) {
        answer_error(r, 400, "text: must be a text");
        return;
    }
    if (!request_texts(r, "destination", &destinations, &count, NULL)) {
        answer_error(r, 400, "destination: must be a list of languages");
        return;
    }
    detected found;
    char first[LANGUAGE];
    if (!options.source || !language_of(options.source, found.code)) {
        language_detect(r->server, text, strlen(text), NULL, &found);
        options.source = found.code;
    }
    options.target = count ? destinations[0].data : NULL;
    if (count > 1 && language_of(options.target, first) && language_same(first, found.code))
        options.target = destinations[1].data;
    free(destinations);
    source_text *const paragraphs = split_paragraphs(text, &count);
    if (!options.target)
        answer_error(r, 400, "destination: has no language");
    else if (!paragraphs)
        answer_error(r, 503, "out of memory");
    else
        translate_texts(r, paragraphs, count, &options, answer_hcfy);
    free(paragraphs);
}

/* ------------------------------------------------------------------------------------------------------------ MTranServer
 */

static void answer_mtran(request *r, const translated *results, size_t count)
{
    (void)count;
    answer_json(r, 200, json_pack("{s: s%}", "result", results->text, results->size));
}

void mtran_translate(request *r)
{
    if (!request_text(r, "text"))
        answer_error(r, 400, "text: must be a text");
    else
        translate_fields(r, "text", "from", "to", request_flag(r, "html"), answer_mtran);
}

static json_t *mtran_item(const request *r, const translated *result)
{
    (void)r;
    return json_stringn(result->text, result->size);
}

static void answer_mtran_list(request *r, const translated *results, size_t count)
{
    answer_list(r, "results", mtran_item, results, count);
}

static void translate_batch(request *r)
{
    translate_fields(r, "texts", "from", "to", request_flag(r, "html"), answer_mtran_list);
}

static void show_version(request *r)
{
    answer_json(r, 200, json_pack("{s: s}", "version", tr_version()));
}

/* All languages once, and each pair of source and target. */
static void list_languages(request *r)
{
    const models *const all = r->server->models;
    json_t *const codes = json_object(), *const languages = json_array(), *const pairs = json_array();
    size_t i, j;
    json_t *source, *target;
    bool good = codes && languages && pairs;
    json_array_foreach((json_t *)models_sources(all), i, source)
    {
        good = good && json_object_set(codes, json_string_value(source), source) == 0;
        json_array_foreach((json_t *)models_targets_of(all, json_string_value(source)), j, target) good =
            good && json_object_set(codes, json_string_value(target), target) == 0 &&
            json_array_append_new(pairs, json_pack("{s: O, s: O}", "from", source, "to", target)) == 0;
    }
    const char *code;
    json_object_foreach(codes, code, source) good = good && json_array_append(languages, source) == 0;
    answer_json(r, 200, good ? json_pack("{s: O, s: O}", "languages", languages, "pairs", pairs) : NULL);
    json_decref(codes);
    json_decref(languages);
    json_decref(pairs);
}

const route extensions_routes[] = {
    {"POST", "/imme", translate_immersive, extension_error, 0},
    {"POST", "/kiss", translate_kiss, extension_error, 0},
    {"POST", "/hcfy", translate_hcfy, extension_error, 0},
    {"POST", "/translate/batch", translate_batch, extension_error, 0},
    {"GET", "/mt/languages", list_languages, extension_error, ROUTE_FREE},
    {"GET", "/version", show_version, extension_error, ROUTE_OPEN | ROUTE_FREE},
    {"GET", "/__heartbeat__", libretranslate_health, extension_error, ROUTE_OPEN | ROUTE_FREE},
    {"GET", "/__lbheartbeat__", libretranslate_health, extension_error, ROUTE_OPEN | ROUTE_FREE},
    {0},
};
