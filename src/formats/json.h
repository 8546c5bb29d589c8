/* Reading settings from JSON: jansson, with messages that name the file and the key. */
#ifndef TR_FORMATS_JSON_H
#define TR_FORMATS_JSON_H

#include <jansson.h>

#include "util/error.h"

enum { TR_JSON_MAX_SIZE = 64 << 20 }; /* bytes; the largest vocabulary published has 6 MB */

/* Parses an object; duplicate keys are refused. name (a file's) begins the messages. *root is a new reference. */
tr_status tr_json_parse(const void *data, size_t size, const char *name, json_t **root, tr_error *error);

/* The same for a list. */
tr_status tr_json_parse_list(const void *data, size_t size, const char *name, json_t **root, tr_error *error);

/* One object of settings. The first failure sticks: later calls then return their fallback, and the caller looks at status
 * once, at the end. A key that is absent or null gives the fallback. */
typedef struct tr_json_fields {
    const json_t *object; /* NULL: as if empty */
    const char *name;     /* of the file, for messages */
    tr_status status;
    tr_error *error;
} tr_json_fields;

const json_t *tr_json_get(const tr_json_fields *fields, const char *key);    /* NULL if absent or null */
int tr_json_int(tr_json_fields *fields, const char *key, int fallback);      /* a whole number that fits int */
float tr_json_real(tr_json_fields *fields, const char *key, float fallback); /* any number */
bool tr_json_bool(tr_json_fields *fields, const char *key, bool fallback);
const char *tr_json_string(tr_json_fields *fields, const char *key, const char *fallback);

/* Stores a failure "NAME: KEY WHY" unless there is one already. */
void tr_json_fail(tr_json_fields *fields, tr_status status, const char *key, const char *why);

#endif
