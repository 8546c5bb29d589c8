/* Parameters of requests: of the query, of forms and of JSON, as one JSON object. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/exchange.h"

/* --------------------------------------------------------------------------------------------------------------- reading */

enum {
    MOST_VALUES = 100000, /* of a body */
    VALUE_BYTES = 128,    /* of memory, at most, besides its text */
    LONGEST_KEY = 256,
};

typedef struct form {
    request *request;
    char *name; /* of the field being read */
    bool file;  /* it is one */
    tr_buffer value;
    size_t count;
    const char *problem; /* NULL: none */
} form;

/* A field that comes again becomes a list. */
static const char *add_field(json_t *fields, const char *name, const char *value, size_t size)
{
    json_t *const text = json_stringn(value, size), *const old = json_object_get(fields, name);
    int failed;
    if (!text)
        return "a parameter is not valid UTF-8";
    if (json_is_array(old))
        failed = json_array_append_new(old, text);
    else if (old)
        failed = json_object_set_new(fields, name, json_pack("[O, o]", old, text));
    else
        failed = json_object_set_new(fields, name, text);
    return failed ? "a parameter's name is not valid UTF-8" : NULL;
}

static void end_field(form *f)
{
    upload *const up = &f->request->upload;
    if (!f->name)
        return;
    const char *const value = f->value.data ? f->value.data : "";
    if (!f->file) {
        if (!f->problem)
            f->problem = add_field(f->request->fields, f->name, value, f->value.size);
    } else if (up->data) {
        f->problem = "more than one file";
    } else {
        up->data = f->value.data ? f->value.data : calloc(1, 1);
        up->size = f->value.size;
        f->value = (tr_buffer){0};
    }
    tr_buffer_clear(&f->value);
    free(f->name);
    f->name = NULL;
}

/* Without folders, as some browsers send them. */
static char *name_of_file(const char *name)
{
    for (const char *c = name; *c; c++)
        if (*c == '/' || *c == '\\')
            name = c + 1;
    return strdup(name);
}

static enum MHD_Result on_part(void *argument, enum MHD_ValueKind kind, const char *key, const char *file,
                               const char *content_type, const char *encoding, const char *data, uint64_t offset,
                               size_t size)
{
    form *const f = argument;
    (void)kind, (void)content_type, (void)encoding;
    if (offset == 0) {
        end_field(f);
        if (++f->count > MOST_VALUES / 10)
            f->problem = "the form has too many fields";
        f->name = strdup(key ? key : "");
        f->file = file != NULL;
        if (file && !f->request->upload.name)
            f->request->upload.name = name_of_file(file);
    }
    if (!f->name || !tr_buffer_append(&f->value, data, size))
        f->problem = "out of memory";
    return f->problem ? MHD_NO : MHD_YES;
}

static tr_status read_form(exchange *x)
{
    form f = {.request = &x->request};
    struct MHD_PostProcessor *const processor = MHD_create_post_processor(x->connection->mhd, 4096, on_part, &f);
    if (!processor)
        return tr_fail(&x->parse_error, TR_ERROR_FORMAT, "the body is neither JSON nor a form");
    const enum MHD_Result good = MHD_post_process(processor, x->body.data, x->body.size);
    MHD_destroy_post_processor(processor);
    end_field(&f);
    tr_buffer_free(&f.value);
    if (!f.problem && good != MHD_YES)
        f.problem = "the form is damaged";
    return f.problem ? tr_fail(&x->parse_error, TR_ERROR_FORMAT, "%s", f.problem) : TR_OK;
}

/* Whether the body is JSON: by its type, or, as several programs send no or another type, by its first character. */
static bool is_json(const exchange *x)
{
    const char *const type = request_header(&x->request, "Content-Type");
    if (type && (strcasestr(type, "json") || strncasecmp(type, "multipart/", 10) == 0))
        return type[0] != 'm' && type[0] != 'M';
    for (size_t i = 0; i < x->body.size && i < 1024; i++)
        if (!strchr(" \t\r\n", x->body.data[i]))
            return x->body.data[i] == '{' || x->body.data[i] == '[';
    return false;
}

/* Each value takes memory of its own, however short it is. */
void fields_count(value_count *of, const char *json, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (of->escaped)
            of->escaped = false;
        else if (json[i] == '"')
            of->quoted = !of->quoted;
        else if (of->quoted)
            of->escaped = json[i] == '\\';
        else
            of->count += json[i] == ',' || json[i] == '[' || json[i] == '{';
    }
}

static tr_status read_json(exchange *x)
{
    request *const r = &x->request;
    json_error_t problem;
    json_t *const json = json_loadb(x->body.data, x->body.size, JSON_DECODE_ANY, &problem);
    if (!json)
        return tr_fail(&x->parse_error, TR_ERROR_FORMAT, "the body is not valid JSON: line %d, column %d: %s", problem.line,
                       problem.column, problem.text);
    if (json_is_object(json)) /* nobody asks for other values: their fields are missing */
        json_object_update(r->fields, json);
    json_decref(json);
    return TR_OK;
}

/* Decodes a part of a query, and ends it with a NUL; returns its size. */
static size_t decode(char *part)
{
    for (char *c = part; (c = strchr(c, '+'));)
        *c = ' ';
    return MHD_http_unescape(part);
}

/* Adds the fields of a query, which it decodes in place. libmicrohttpd would take memory of the connection for each, and
 * 0.9.75 does not answer when that is too little. */
static const char *read_query(json_t *fields, char *query)
{
    const char *problem = NULL;
    for (char *at = query, *next; !problem && *at; at = next) {
        const size_t size = strcspn(at, "&");
        next = at + size + (at[size] == '&');
        at[size] = 0;
        char *const equals = strchr(at, '=');
        if (equals)
            *equals = 0;
        const size_t value_size = equals ? decode(equals + 1) : 0;
        if (size) {
            decode(at);
            problem = add_field(fields, at, equals ? equals + 1 : "", value_size);
        }
    }
    return problem;
}

/* "SCHEME KEY", with any of the schemes that interfaces use; else the header or field that they have. */
static const char *look_for_key(const request *r)
{
    static const char *const schemes[] = {"Bearer ", "DeepL-Auth-Key ", "Token "};
    static const char *const names[] = {"api_key", "key", "token"};
    const char *const header = request_header(r, "Authorization"), *google = request_header(r, "X-Goog-Api-Key");
    for (size_t i = 0; header && i < sizeof schemes / sizeof *schemes; i++)
        if (strncasecmp(header, schemes[i], strlen(schemes[i])) == 0)
            return header + strlen(schemes[i]);
    if (google)
        return google;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *const key = json_string_value(json_object_get(r->fields, names[i]));
        if (key && *key)
            return key;
    }
    return NULL;
}

/* NULL: there is none, or it is longer than any can be. */
static const char *find_key(const request *r)
{
    const char *const key = look_for_key(r);
    return key && strlen(key) <= LONGEST_KEY ? key : NULL;
}

bool fields_begin(exchange *x, char *query)
{
    request *const r = &x->request;
    const char *problem = NULL;
    r->fields = json_object();
    if (!r->fields)
        answer_error(r, 503, "out of memory");
    else if (query && (problem = read_query(r->fields, query)))
        answer_error(r, 400, "%s", problem);
    r->key = find_key(r);
    return r->fields && !problem;
}

bool fields_may_parse(exchange *x)
{
    request *const r = &x->request;
    x->json = is_json(x);
    if (x->json && x->values.count > MOST_VALUES) {
        answer_error(r, 400, "the body has more than %d values", MOST_VALUES);
        return false;
    }
    if (x->json && !exchange_charge(x, (x->values.count + 1) * VALUE_BYTES)) {
        answer_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
        answer_error(r, 503, "too much is being asked at this moment");
        return false;
    }
    return true;
}

void fields_parse(exchange *x)
{
    x->parse_error.status = !x->body.size ? TR_OK : x->json ? read_json(x) : read_form(x);
    tr_buffer_free(&x->body);
}

bool fields_end(exchange *x)
{
    request *const r = &x->request;
    r->key = find_key(r); /* the body may have replaced the field of the query */
    if (x->parse_error.status != TR_OK)
        answer_error(r, 400, "%s", x->parse_error.message);
    return x->parse_error.status == TR_OK;
}

void fields_free(request *r)
{
    json_decref(r->fields);
    free(r->upload.name);
    free(r->upload.data);
}

/* ---------------------------------------------------------------------------------------------------------------- asking */

const char *request_text(const request *r, const char *name)
{
    return json_string_value(json_object_get(r->fields, name));
}

bool request_option(request *r, const char *name, const char **value)
{
    const json_t *const json = json_object_get(r->fields, name);
    *value = json_string_value(json);
    if (*value || !json || json_is_null(json))
        return true;
    answer_error(r, 400, "%s: must be a text", name);
    return false;
}

int64_t request_number(const request *r, const char *name, int64_t fallback, bool *valid)
{
    const json_t *const value = json_object_get(r->fields, name);
    int64_t number = fallback;
    bool good = !value || json_is_integer(value) || json_is_null(value);
    if (json_is_integer(value)) {
        number = json_integer_value(value);
    } else if (json_is_string(value)) {
        const char *const text = json_string_value(value);
        char *end;
        const long long parsed = strtoll(text, &end, 10);
        good = *text && !*end && parsed > INT32_MIN && parsed < INT32_MAX;
        number = good ? parsed : fallback;
    }
    if (valid)
        *valid = good;
    return number;
}

bool request_flag(const request *r, const char *name)
{
    const json_t *const value = json_object_get(r->fields, name);
    const char *const text = json_string_value(value);
    if (text)
        return strcmp(text, "1") == 0 || strcasecmp(text, "true") == 0 || strcasecmp(text, "on") == 0;
    return json_is_true(value) || (json_is_integer(value) && json_integer_value(value) == 1);
}

bool request_is_flag(const request *r, const char *name)
{
    const json_t *const value = json_object_get(r->fields, name);
    const char *const text = json_string_value(value);
    if (!value || json_is_null(value) || json_is_boolean(value) || request_flag(r, name))
        return true;
    if (text)
        return !*text || strcmp(text, "0") == 0 || strcasecmp(text, "false") == 0 || strcasecmp(text, "off") == 0;
    return json_is_integer(value) && json_integer_value(value) == 0;
}

bool request_texts(const request *r, const char *name, source_text **items, size_t *count, bool *list)
{
    json_t *const value = json_object_get(r->fields, name);
    const bool many = json_is_array(value);
    const size_t n = many ? json_array_size(value) : 1;
    if (list)
        *list = many;
    source_text *const found = !many && !json_is_string(value) ? NULL : calloc(n + 1, sizeof *found);
    for (size_t i = 0; found && i < n; i++) {
        const json_t *const item = many ? json_array_get(value, i) : value;
        found[i] = (source_text){json_string_value(item), json_string_length(item)};
        if (!found[i].data) {
            free(found);
            return false;
        }
    }
    *items = found;
    *count = n;
    return found != NULL;
}
