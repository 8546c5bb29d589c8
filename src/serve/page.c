#include "serve/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/keys.h"
#include "serve/languages.h"
#include "serve/models.h"
#include "serve/routes.h"
#include "serve/translation.h"
#include "util/siphash.h"

/* --------------------------------------------------------------------------------------------------------------- answers */

/* The page runs nothing but its own scripts, whatever a text holds. */
static void add_headers(request *r, const char *keep)
{
    char policy[512];
    snprintf(policy, sizeof policy,
             "default-src 'none'; script-src 'self' %s; style-src %s; connect-src 'self'; img-src 'self'; "
             "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
             page_files_inline, page_files_inline);
    answer_header(r, "Content-Security-Policy", policy);
    answer_header(r, "Referrer-Policy", "no-referrer"); /* the address may have a text */
    answer_header(r, "Cache-Control", keep);
}

/* Answers with what the client may keep, or 304 if it has it already. */
static void answer_kept(request *r, const char *type, const char *data, size_t size)
{
    static const tr_siphash_key key; /* the same in each process */
    const char *const known = request_header(r, "If-None-Match");
    char tag[32];
    snprintf(tag, sizeof tag, "\"%016llx\"", (unsigned long long)tr_siphash(&key, data, size));
    add_headers(r, "no-cache");
    answer_header(r, "ETag", tag);
    if (known && strstr(known, tag))
        answer_memory(r, 304, NULL, NULL, 0);
    else
        answer_bytes(r, 200, type, data, size);
}

static const embedded_file *find_page_file(const char *name)
{
    const embedded_file *file = page_files;
    while (file->name && strcmp(file->name, name) != 0)
        file++;
    return file->name ? file : NULL;
}

static void answer_file(request *r)
{
    const embedded_file *const file = find_page_file(request_part(r));
    if (file && strcmp(file->type, "text/html; charset=utf-8") != 0)
        answer_kept(r, file->type, file->data, file->size);
    else
        answer_error(r, 404, "/page/%s: there is no such file", request_part(r));
}

/* ------------------------------------------------------------------------------------------------------------------ page */

/* What is filled in. */
typedef struct view {
    request *r;
    bool chinese;
    const translated *result; /* NULL: none */
    const char *notice;       /* "": none */
} view;

/* The page's language: of the browser's list, which begins with what is liked best, the first that the page has. */
static bool is_chinese(const request *r)
{
    for (const char *tag = request_header(r, "Accept-Language"); tag && *tag; tag += strcspn(tag, ",")) {
        tag += strspn(tag, ", ");
        if (strncasecmp(tag, "zh", 2) == 0)
            return true;
        if (strncasecmp(tag, "en", 2) == 0)
            return false;
    }
    return false;
}

static bool append_escaped(tr_buffer *out, const char *text, size_t size)
{
    bool good = true;
    for (size_t at = 0; good && at < size;) {
        size_t plain = at;
        while (plain < size && !strchr("&<>\"'", text[plain]))
            plain++;
        good = tr_buffer_append(out, text + at, plain - at);
        if (good && plain < size) {
            char entity[8];
            snprintf(entity, sizeof entity, "&#%d;", text[plain++]);
            good = tr_buffer_string(out, entity);
        }
        at = plain;
    }
    return good;
}

static bool append_field(tr_buffer *out, const request *r, const char *name)
{
    const char *const value = request_text(r, name);
    return !value || append_escaped(out, value, strlen(value));
}

static const char *name_in(const view *v, const char *code)
{
    return v->chinese ? language_chinese_name(code) : language_name(code);
}

/* The options of a choice of languages; the field `name` tells which is chosen, else otherwise is, if it is among them. */
static bool append_options(tr_buffer *out, const view *v, const json_t *codes, const char *name, const char *otherwise)
{
    const char *const given = request_text(v->r, name);
    char chosen[LANGUAGE] = "";
    bool good = true;
    if (!language_of(given ? given : otherwise, chosen))
        *chosen = 0;
    for (size_t i = 0; good && i < json_array_size(codes); i++) {
        const char *const code = json_string_value(json_array_get(codes, i)), *const label = name_in(v, code);
        good = tr_buffer_string(out, "<option value=\"") && tr_buffer_string(out, code) &&
               tr_buffer_string(out, strcmp(code, chosen) == 0 ? "\" selected>" : "\">") &&
               append_escaped(out, label, strlen(label)) && tr_buffer_string(out, "</option>");
    }
    return good;
}

static bool append_value(tr_buffer *out, const view *v, const char *name, size_t size)
{
    const models *const m = v->r->server->models;
    const translated *const t = v->result;
    const bool required = keys_required(v->r->server->keys);
#define IS(text) (size == sizeof text - 1 && memcmp(name, text, size) == 0)
    if (IS("sources"))
        return append_options(out, v, models_sources(m), "source", "");
    if (IS("targets"))
        return append_options(out, v, models_targets(m), "target", v->chinese ? "zh" : "en");
    if (IS("text"))
        return append_field(out, v->r, "text");
    if (IS("key"))
        return append_field(out, v->r, "api_key");
    if (IS("no-key"))
        return required || tr_buffer_string(out, "hidden");
    if (IS("notice"))
        return append_escaped(out, v->notice, strlen(v->notice));
    if (IS("no-notice"))
        return *v->notice || tr_buffer_string(out, "hidden");
    if (IS("result"))
        return !t || append_escaped(out, t->text, t->size);
    if (IS("result-language"))
        return !t || tr_buffer_string(out, t->target);
    if (IS("detected"))
        return !t || t->confidence < 0 || (tr_buffer_string(out, ": ") && tr_buffer_string(out, name_in(v, t->source)));
#undef IS
    return false; /* tests/serve/test_page.py sees it */
}

/* Fills {{NAME}} of the page. */
static bool write_page(tr_buffer *out, const view *v)
{
    const embedded_file *const file = find_page_file(v->chinese ? "index.zh.html" : "index.en.html");
    const char *at = file->data, *open;
    bool good = true;
    while (good && (open = strstr(at, "{{"))) {
        const char *const name = open + 2, *const close = strstr(name, "}}");
        good = close && tr_buffer_append(out, at, (size_t)(open - at)) && append_value(out, v, name, (size_t)(close - name));
        at = close ? close + 2 : name;
    }
    return good && tr_buffer_string(out, at);
}

/* status 0: the page before anything is asked. It may be kept, unless it shows fields of the address: a text, a key. */
static void answer_page(request *r, unsigned status, const translated *result, const char *notice)
{
    const view v = {r, is_chinese(r), result, notice};
    tr_buffer page = {0};
    if (!write_page(&page, &v))
        tr_buffer_free(&page);
    answer_header(r, "Vary", "Accept-Language");
    if (page.data && !status && !json_object_size(r->fields)) {
        answer_kept(r, "text/html; charset=utf-8", page.data, page.size);
        tr_buffer_free(&page);
        return;
    }
    add_headers(r, "no-store");
    if (!status)
        status = 200;
    answer_memory(r, page.data ? status : 503, "text/html; charset=utf-8", page.data, page.data ? page.size : 1);
}

void page_refuse(request *r, unsigned status, const char *message)
{
    static const struct {
        unsigned status;
        const char *english, *chinese;
    } texts[] = {
        {403, "A key is needed: it is missing, or not valid.", "需要密钥：未填写或无效。"},
        {429, "Too many requests. Please try again in a minute.", "请求太频繁，请过一分钟再试。"},
        {503, "The server is busy. Please try again.", "服务器正忙，请再试一次。"},
        {504, "The translation took too long. Please try a shorter text.", "翻译用时过长，请把文字分成几段再试。"},
    };
    /* A name in Host is refused before there are fields. */
    const bool key = r->fields && !keys_know(r->server->keys, r);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].status == status && (status != 403 || key))
            message = is_chinese(r) ? texts[i].chinese : texts[i].english;
    answer_page(r, status, NULL, message);
}

/* The fields of the address fill the form. */
static void answer_form(request *r)
{
    answer_page(r, 0, NULL, "");
}

/* --url-prefix itself. What the page names is relative to the path with a slash at its end. */
static void answer_prefix(request *r)
{
    char place[260];
    snprintf(place, sizeof place, "%s/", strrchr(r->server->settings->url_prefix, '/') + 1);
    answer_header(r, "Location", place);
    answer_memory(r, 308, NULL, NULL, 0);
}

static void on_translated(request *r, const translated *results, size_t count)
{
    answer_page(r, 200, count ? results : NULL, "");
}

static void translate_form(request *r)
{
    const char *const text = request_text(r, "text");
    const source_text from = {text, text ? strlen(text) : 0};
    const translation_options options = {.source = request_text(r, "source"),
                                         .target = request_text(r, "target"),
                                         .ranks = text && text_characters(text, from.size) <= LONG_REQUEST};
    translate_texts(r, &from, from.size > 0, &options, on_translated);
}

const route page_routes[] = {
    {"GET", "/", answer_form, v1_error, ROUTE_OPEN | ROUTE_FREE | ROUTE_PAGE},
    {"POST", "/", translate_form, v1_error, ROUTE_PAGE},
    {"GET", "/page/*", answer_file, v1_error, ROUTE_OPEN | ROUTE_FREE},
    {"GET", "", answer_prefix, v1_error, ROUTE_OPEN | ROUTE_FREE},
    {0},
};
