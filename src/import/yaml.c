#include "import/yaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "import/json.h"

enum { DEPTH = 8, SHOWN = 100, NUMBER = 32 };

/* A mapping or a list being read; it is added to its parent when it is complete. */
typedef struct level {
    json_t *value;
    json_t *key; /* of a mapping: a string, until its value has been read */
} level;

typedef struct parser {
    yaml_parser_t yaml;
    const char *name;
    level levels[DEPTH];
    int depth;
    json_t *root; /* set when the document is complete */
    tr_status status;
    tr_error *error;
} parser;

static void fail(parser *p, tr_status status, const char *why)
{
    if (p->status == TR_OK)
        p->status = tr_fail(p->error, status, "%s: %s", p->name, why);
}

static void fail_at(parser *p, const yaml_event_t *event, tr_status status, const char *why)
{
    if (p->status == TR_OK)
        p->status = tr_fail(p->error, status, "%s: line %zu: %s", p->name, event->start_mark.line + 1, why);
}

/* A plain scalar as YAML's core schema has it, as far as files of settings go. */
static json_t *plain_value(const char *text, size_t size)
{
    char number[NUMBER];
    if (size == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)
        return json_null();
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return json_boolean(text[0] == 't');
    if (size < NUMBER && strspn(text, "+-.0123456789eE") == size && strpbrk(text, "0123456789")) {
        char *end;
        memcpy(number, text, size + 1);
        errno = 0;
        const long long whole = strtoll(number, &end, 10);
        if (!*end && !errno)
            return json_integer(whole);
        errno = 0;
        const double real = strtod(number, &end);
        if (!*end && !errno)
            return json_real(real); /* NULL: not finite, which it cannot be here */
    }
    return json_stringn(text, size);
}

/* NULL: p->status and p->error are set. */
static json_t *scalar(parser *p, const yaml_event_t *event, bool key)
{
    const char *text = (const char *)event->data.scalar.value;
    const size_t size = event->data.scalar.length;
    if (strlen(text) != size) {
        fail_at(p, event, TR_ERROR_FORMAT, "a scalar holds NUL");
        return NULL;
    }
    const bool plain = !key && event->data.scalar.plain_implicit && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    json_t *value = plain ? plain_value(text, size) : json_stringn(text, size);
    if (!value)
        fail_at(p, event, TR_ERROR_MEMORY, "out of memory"); /* libyaml has seen to valid UTF-8 */
    return value;
}

/* Puts value, whose reference is taken, where it belongs. */
static void put(parser *p, const yaml_event_t *event, json_t *value)
{
    level *top = p->depth ? &p->levels[p->depth - 1] : NULL;
    if (!top) {
        p->root = value;
    } else if (json_is_array(top->value)) {
        top->value = tr_json_append(top->value, value);
    } else if (!top->key) {
        top->key = value;
        if (!json_is_string(value))
            fail_at(p, event, TR_ERROR_UNSUPPORTED, "a key is not a scalar");
        else if (json_object_get(top->value, json_string_value(value)))
            fail_at(p, event, TR_ERROR_FORMAT, "a key is there twice");
    } else {
        top->value = tr_json_set(top->value, json_string_value(top->key), value);
        json_decref(top->key);
        top->key = NULL;
    }
    if (top && !top->value)
        fail_at(p, event, TR_ERROR_MEMORY, "out of memory");
}

static bool wants_key(const parser *p)
{
    return p->depth && json_is_object(p->levels[p->depth - 1].value) && !p->levels[p->depth - 1].key;
}

static void begin(parser *p, const yaml_event_t *event, json_t *value)
{
    if (!value) {
        fail_at(p, event, TR_ERROR_MEMORY, "out of memory");
    } else if (p->depth == DEPTH || wants_key(p)) {
        fail_at(p, event, TR_ERROR_UNSUPPORTED, p->depth == DEPTH ? "is nested too deep" : "a key is not a scalar");
        json_decref(value);
    } else {
        p->levels[p->depth++] = (level){value, NULL};
    }
}

static void take(parser *p, const yaml_event_t *event)
{
    json_t *value;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        if (event->data.scalar.anchor)
            fail_at(p, event, TR_ERROR_UNSUPPORTED, "an anchor, which is not supported");
        else if ((value = scalar(p, event, wants_key(p))) != NULL)
            put(p, event, value);
        break;
    case YAML_ALIAS_EVENT: fail_at(p, event, TR_ERROR_UNSUPPORTED, "an alias, which is not supported"); break;
    case YAML_MAPPING_START_EVENT:
        if (event->data.mapping_start.anchor)
            fail_at(p, event, TR_ERROR_UNSUPPORTED, "an anchor, which is not supported");
        else
            begin(p, event, json_object());
        break;
    case YAML_SEQUENCE_START_EVENT:
        if (event->data.sequence_start.anchor)
            fail_at(p, event, TR_ERROR_UNSUPPORTED, "an anchor, which is not supported");
        else
            begin(p, event, json_array());
        break;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT: put(p, event, p->levels[--p->depth].value); break;
    case YAML_DOCUMENT_START_EVENT:
        if (p->root)
            fail_at(p, event, TR_ERROR_UNSUPPORTED, "a second document, which is not supported");
        break;
    default: break;
    }
}

static void explain(parser *p)
{
    const yaml_parser_t *y = &p->yaml;
    if (y->error == YAML_MEMORY_ERROR)
        fail(p, TR_ERROR_MEMORY, "out of memory");
    else if (p->status == TR_OK)
        p->status = tr_fail(p->error, TR_ERROR_FORMAT, "%s: is not valid YAML: line %zu: %.*s", p->name,
                            y->problem_mark.line + 1, SHOWN, y->problem ? y->problem : "unreadable");
}

static void parse(parser *p)
{
    bool more = true;
    while (more && p->status == TR_OK) {
        yaml_event_t event;
        if (!yaml_parser_parse(&p->yaml, &event)) {
            explain(p);
            break;
        }
        take(p, &event);
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    while (p->depth) { /* after a failure */
        json_decref(p->levels[--p->depth].key);
        json_decref(p->levels[p->depth].value);
    }
}

tr_status tr_yaml_parse(const void *data, size_t size, const char *name, json_t **root, tr_error *error)
{
    parser p = {.name = name, .error = error};
    *root = NULL;
    if (size > TR_JSON_MAX_SIZE)
        return tr_fail(error, TR_ERROR_FORMAT, "%s: %zu bytes of YAML, more than the %d that are read", name, size,
                       (int)TR_JSON_MAX_SIZE);
    if (size == 0) /* data may be NULL, which libyaml does not take */
        return tr_fail(error, TR_ERROR_FORMAT, "%s: is empty", name);
    if (!yaml_parser_initialize(&p.yaml))
        return tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", name);
    yaml_parser_set_encoding(&p.yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p.yaml, data, size);
    parse(&p);
    yaml_parser_delete(&p.yaml);
    if (!json_is_object(p.root))
        fail(&p, TR_ERROR_FORMAT, "is not a YAML mapping");
    if (p.status == TR_OK)
        *root = p.root;
    else
        json_decref(p.root);
    return p.status;
}
