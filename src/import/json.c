#define TR_JSON_OWN
#include "import/json.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

static tr_status parse(const void *data, size_t size, const char *name, json_type type, json_t **root, tr_error *error)
{
    *root = NULL;
    if (size == 0)
        return tr_fail(error, TR_ERROR_FORMAT, "%s: is empty", name);
    if (size > TR_JSON_MAX_SIZE)
        return tr_fail(error, TR_ERROR_FORMAT, "%s: %zu bytes of JSON, more than the %d that are read", name, size,
                       (int)TR_JSON_MAX_SIZE);
    json_error_t problem; /* jansson bounds the nesting itself (JSON_PARSER_MAX_DEPTH, 2048) */
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
    errno = 0;
    json_t *json = json_loadb(data, size, flags, &problem);
    /* transformers' model_max_length of 10^30 says that there is none: then all numbers are taken as reals */
    if (!json && json_error_code(&problem) == json_error_numeric_overflow)
        json = json_loadb(data, size, flags | JSON_DECODE_INT_AS_REAL, &problem);
    /* If an allocation fails, jansson reports a syntax error, no error, or even returns an incomplete value. */
    if (errno == ENOMEM || (!json && !*problem.text)) {
        json_decref(json);
        return tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", name);
    }
    if (!json)
        return tr_fail(error, TR_ERROR_FORMAT, "%s: is not valid JSON: line %d: %s", name, problem.line, problem.text);
    if (json_typeof(json) != type) {
        json_decref(json);
        return tr_fail(error, TR_ERROR_FORMAT, "%s: is not a JSON %s", name, type == JSON_OBJECT ? "object" : "list");
    }
    *root = json;
    return TR_OK;
}

tr_status tr_json_parse(const void *data, size_t size, const char *name, json_t **root, tr_error *error)
{
    return parse(data, size, name, JSON_OBJECT, root, error);
}

tr_status tr_json_parse_list(const void *data, size_t size, const char *name, json_t **root, tr_error *error)
{
    return parse(data, size, name, JSON_ARRAY, root, error);
}

void tr_json_fail(tr_json_fields *fields, tr_status status, const char *key, const char *why)
{
    if (fields->status == TR_OK)
        fields->status = tr_fail(fields->error, status, "%s: %s %s", fields->name, key, why);
}

const json_t *tr_json_get(const tr_json_fields *fields, const char *key)
{
    const json_t *value = json_object_get(fields->object, key);
    return json_is_null(value) ? NULL : value;
}

int tr_json_int(tr_json_fields *fields, const char *key, int fallback)
{
    const json_t *value = tr_json_get(fields, key);
    if (!value)
        return fallback;
    const double number = json_number_value(value); /* exact for all that fits int */
    const bool whole = json_is_number(value) && number == floor(number);
    if (whole && number >= INT_MIN && number <= INT_MAX)
        return (int)number;
    tr_json_fail(fields, TR_ERROR_FORMAT, key, whole ? "is out of range" : "is not a whole number");
    return fallback;
}

float tr_json_real(tr_json_fields *fields, const char *key, float fallback)
{
    const json_t *value = tr_json_get(fields, key);
    if (!value)
        return fallback;
    if (json_is_number(value))
        return (float)json_number_value(value);
    tr_json_fail(fields, TR_ERROR_FORMAT, key, "is not a number");
    return fallback;
}

bool tr_json_bool(tr_json_fields *fields, const char *key, bool fallback)
{
    const json_t *value = tr_json_get(fields, key);
    if (!value)
        return fallback;
    if (!json_is_boolean(value))
        tr_json_fail(fields, TR_ERROR_FORMAT, key, "is neither true nor false");
    return json_is_true(value);
}

const char *tr_json_string(tr_json_fields *fields, const char *key, const char *fallback)
{
    const json_t *value = tr_json_get(fields, key);
    if (!value)
        return fallback;
    if (json_is_string(value))
        return json_string_value(value);
    tr_json_fail(fields, TR_ERROR_FORMAT, key, "is not a string");
    return fallback;
}

/* ------------------------------------------------------------------------------------------------------------ building */

/* if it failed, it has freed value */
static json_t *whole(json_t *container, int failed)
{
    if (!failed)
        return container;
    json_decref(container);
    return NULL;
}

json_t *tr_json_append(json_t *array, json_t *value)
{
    return whole(array, json_array_append_new(array, value));
}

json_t *tr_json_set(json_t *object, const char *key, json_t *value)
{
    return whole(object, json_object_set_new(object, key, value));
}

/* jansson ignores some results of its callback, so the first failure is kept here. */
typedef struct printing {
    tr_buffer *out;
    bool good;
} printing;

static int append(const char *data, size_t size, void *argument)
{
    printing *p = argument;
    p->good = p->good && tr_buffer_append(p->out, data, size);
    return p->good ? 0 : -1;
}

bool tr_json_print(json_t *value, size_t flags, tr_buffer *out)
{
    const size_t before = out->size;
    printing p = {out, value != NULL};
    const bool good = p.good && json_dump_callback(value, append, &p, flags) == 0 && p.good;
    if (!good && out->data) {
        out->size = before;
        out->data[before] = 0;
    }
    json_decref(value);
    return good;
}
