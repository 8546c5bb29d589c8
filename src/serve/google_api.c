/* Google Translate v2: /language/translate/v2 with /languages and /detect, and what Google's web pages use instead,
 * /translate_a/single. Both also below /google, where MTranServer has them. */
#define _GNU_SOURCE /* memmem, strncasecmp */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/google_api.h"
#include "serve/keys.h"
#include "serve/languages.h"
#include "serve/routes.h"
#include "serve/translation.h"
#include "util/utf8.h"

enum { RELIABLE = 50 }; /* per cent, of a detected language */

const char *google_code(const char *code)
{
    static const char *const codes[][2] = {{"zh-Hans", "zh-CN"}, {"zh-Hant", "zh-TW"}, {"nb", "no"}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(code, codes[i][0]) == 0)
            return codes[i][1];
    return code;
}

static json_t *google_error(unsigned status, const char *message)
{
    const char *reason = status >= 500 ? "backendError" : "invalid";
    if (status == 401 || status == 403)
        reason = "forbidden";
    else if (status == 404)
        reason = "notFound";
    else if (status == 429)
        reason = "rateLimitExceeded";
    return json_pack("{s: {s: i, s: s, s: [{s: s, s: s, s: s}]}}", "error", "code", (int)status, "message", message,
                     "errors", "message", message, "domain", "global", "reason", reason);
}

/* ------------------------------------------------------------------------------------------------------------------ HTML */

enum { LONGEST_ENTITY = 32 }; /* the longest name has 31 characters */

static bool is_entity(const char *html, size_t size, size_t at)
{
    const size_t begin = at + 1 + (at + 1 < size && html[at + 1] == '#');
    size_t end = begin;
    while (end < size && end - begin < LONGEST_ENTITY && tr_is_ascii_word(html[end]))
        end++;
    return end > begin && end < size && html[end] == ';';
}

/* Whether html[at], which is '<', begins a tag, a comment or a declaration. */
static bool is_markup(const char *html, size_t size, size_t at)
{
    const size_t name = at + 1 + (at + 1 < size && html[at + 1] == '/');
    return name < size && (tr_is_ascii_letter(html[name]) || html[name] == '!' || html[name] == '?');
}

/* What follows html[at] up to and with `end`; at: it does not come. */
static size_t find_after(const char *html, size_t size, size_t at, const char *end)
{
    const char *found = memmem(html + at, size - at, end, strlen(end));
    return found ? (size_t)(found - html) + strlen(end) : at;
}

/* The end of a script or style that a tag at html[at..end) begins, which holds no text; end: it begins none. */
static size_t find_raw_end(const char *html, size_t size, size_t at, size_t end)
{
    static const char *const names[] = {"script", "style"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t length = strlen(names[i]);
        if (end - at < length + 2 || strncasecmp(html + at + 1, names[i], length) != 0 ||
            tr_is_ascii_word(html[at + 1 + length]))
            continue;
        for (size_t j = end; j + length + 2 <= size; j++)
            if (html[j] == '<' && html[j + 1] == '/' && strncasecmp(html + j + 2, names[i], length) == 0)
                return j;
        return size;
    }
    return end;
}

/* The end of the markup that begins at html[at]; at: it has none. */
static size_t find_markup_end(const char *html, size_t size, size_t at)
{
    if (size - at >= 4 && memcmp(html + at, "<!--", 4) == 0)
        return find_after(html, size, at, "-->");
    bool value = false; /* of an attribute may begin, which may be quoted */
    for (size_t i = at + 1; i < size; i++) {
        if (html[i] == '>')
            return find_raw_end(html, size, at, i + 1);
        if (value && (html[i] == '"' || html[i] == '\'')) {
            const char *const close = memchr(html + i + 1, html[i], size - i - 1);
            if (!close)
                return at;
            i = (size_t)(close - html);
        }
        value = html[i] == '=' || (value && tr_is_ascii_space(html[i]));
    }
    return at;
}

static const char *entity_of(const char *html, size_t size, size_t at)
{
    switch (html[at]) {
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '&': return is_entity(html, size, at) ? NULL : "&amp;";
    default: return NULL;
    }
}

/* Appends HTML with special characters of its text as entities; quotation marks, too, as Google does it. Markup that has no
 * end is text, and so is all that follows, which keeps the time linear. */
static bool append_google_html(const char *html, size_t size, tr_buffer *out)
{
    bool markup = true;
    size_t copied = 0;
    for (size_t at = 0; at < size;) {
        const char *entity;
        if (markup && html[at] == '<' && is_markup(html, size, at)) {
            const size_t end = find_markup_end(html, size, at);
            markup = end > at;
            at = end;
        } else if ((entity = entity_of(html, size, at))) {
            if (!tr_buffer_append(out, html + copied, at - copied) || !tr_buffer_string(out, entity))
                return false;
            copied = ++at;
        } else {
            at++;
        }
    }
    return tr_buffer_append(out, html + copied, size - copied);
}

/* ----------------------------------------------------------------------------------------------------------- translations
 */

static bool wants_html(const request *r)
{
    const char *const format = request_text(r, "format");
    return !format || strcmp(format, "text") != 0;
}

static json_t *translation_json(const translated *result, bool html)
{
    tr_buffer escaped = {0};
    json_t *json = NULL;
    if (!html)
        json = json_pack("{s: s%}", "translatedText", result->text, result->size);
    else if (append_google_html(result->text, result->size, &escaped))
        json = json_pack("{s: s%}", "translatedText", escaped.data, escaped.size);
    tr_buffer_free(&escaped);
    if (json && result->confidence >= 0 &&
        json_object_set_new(json, "detectedSourceLanguage", json_string(google_code(result->source))) != 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static void answer_translations(request *r, const translated *results, size_t count)
{
    json_t *const list = json_array();
    bool good = list != NULL;
    for (size_t i = 0; good && i < count; i++)
        good = json_array_append_new(list, translation_json(&results[i], wants_html(r))) == 0;
    answer_json(r, 200, good ? json_pack("{s: {s: O}}", "data", "translations", list) : NULL);
    json_decref(list);
}

static void translate(request *r)
{
    source_text *texts;
    size_t count;
    const char *format;
    translation_options options = {0};
    if (!request_option(r, "source", &options.source) || !request_option(r, "format", &format))
        return;
    options.target = request_text(r, "target");
    options.html = wants_html(r);
    if (!options.target)
        answer_error(r, 400, "target: must be the code of a language");
    else if (format && options.html && strcmp(format, "html") != 0)
        answer_error(r, 400, "format: must be html or text");
    else if (!request_texts(r, "q", &texts, &count, NULL))
        answer_error(r, 400, "q: must be a text or a list of texts");
    else {
        translate_texts(r, texts, count, &options, answer_translations);
        free(texts);
    }
}

/* -------------------------------------------------------------------------------------------------------------- languages
 */

/* name_of NULL: codes alone. */
static bool add_languages(json_t *list, const json_t *codes, const json_t *known, const char *(*name_of)(const char *code))
{
    size_t i, j;
    json_t *code, *other;
    json_array_foreach((json_t *)codes, i, code)
    {
        bool is_known = false;
        json_array_foreach((json_t *)known, j, other) is_known = is_known || json_equal(code, other);
        const char *const text = json_string_value(code);
        if (!is_known && json_array_append_new(list, json_pack("{s: s, s: s*}", "language", google_code(text), "name",
                                                               name_of ? name_of(text) : NULL)) != 0)
            return false;
    }
    return true;
}

/* Names come in Chinese or English, if a target asks for them. */
static void list_languages(request *r)
{
    const models *const all = r->server->models;
    const char *target;
    char code[LANGUAGE];
    if (!request_option(r, "target", &target))
        return;
    const bool names = target && *target;
    if (names && !language_of(target, code)) {
        answer_error(r, 400, "target: '%.40s' is no language", target);
        return;
    }
    const char *(*const name_of)(const char *) = !names                        ? NULL
                                                 : strncmp(code, "zh", 2) == 0 ? language_chinese_name
                                                                               : language_name;
    json_t *const list = json_array();
    const bool good = list && add_languages(list, models_sources(all), NULL, name_of) &&
                      add_languages(list, models_targets(all), models_sources(all), name_of);
    answer_json(r, 200, good ? json_pack("{s: {s: O}}", "data", "languages", list) : NULL);
    json_decref(list);
}

static json_t *detection_json(const server *s, const source_text *text)
{
    detected found;
    language_detect(s, text->data, text->size, NULL, &found);
    return json_pack("[{s: s, s: b, s: f}]", "language", google_code(found.code), "isReliable", found.confidence >= RELIABLE,
                     "confidence", found.confidence / 100.0);
}

static void detect(request *r)
{
    source_text *texts;
    size_t count, characters = 0;
    if (!request_texts(r, "q", &texts, &count, NULL)) {
        answer_error(r, 400, "q: must be a text or a list of texts");
        return;
    }
    for (size_t i = 0; i < count; i++)
        characters += text_characters(texts[i].data, texts[i].size);
    const int limit = r->server->settings->batch_limit;
    if (limit && count > (size_t)limit) {
        answer_error(r, 400, "q: %zu texts, more than the %d that are allowed", count, limit);
    } else if (keys_take(r->server->keys, r, characters)) {
        json_t *const list = json_array();
        bool good = list != NULL;
        for (size_t i = 0; good && i < count; i++)
            good = json_array_append_new(list, detection_json(r->server, &texts[i])) == 0;
        answer_json(r, 200, good ? json_pack("{s: {s: O}}", "data", "detections", list) : NULL);
        json_decref(list);
    }
    free(texts);
}

/* ------------------------------------------------------------------------------------------------------------ of web pages
 */

/* Arrays whose places have a meaning, of which the first three are used; with dj=1 an object. */
static void answer_single(request *r, const translated *results, size_t count)
{
    const char *const original = request_text(r, "q"), *const source = google_code(results->source);
    (void)count;
    if (request_flag(r, "dj"))
        answer_json(r, 200,
                    json_pack("{s: [{s: s%, s: s}], s: s}", "sentences", "trans", results->text, results->size, "orig",
                              original, "src", source));
    else
        answer_json(r, 200, json_pack("[[[s%, s, n, n, i]], n, s]", results->text, results->size, original, 1, source));
}

static void translate_single(request *r)
{
    translation_options options = {.target = request_text(r, "tl")};
    const char *const q = request_text(r, "q");
    if (!request_option(r, "sl", &options.source))
        return;
    if (!q)
        answer_error(r, 400, "q: must be a text");
    else if (!options.target)
        answer_error(r, 400, "tl: must be the code of a language");
    else
        translate_texts(r, &(source_text){q, strlen(q)}, 1, &options, answer_single);
}

const route google_routes[] = {
    {"GET", "/language/translate/v2", translate, google_error, 0},
    {"POST", "/language/translate/v2", translate, google_error, 0},
    {"GET", "/language/translate/v2/detect", detect, google_error, 0},
    {"POST", "/language/translate/v2/detect", detect, google_error, 0},
    {"GET", "/language/translate/v2/languages", list_languages, google_error, ROUTE_FREE},
    {"POST", "/language/translate/v2/languages", list_languages, google_error, ROUTE_FREE},
    {"GET", "/translate_a/single", translate_single, google_error, 0},
    {"POST", "/translate_a/single", translate_single, google_error, 0},
    {0},
};
