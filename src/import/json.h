/* JSON, by jansson: reading settings with messages that name the file and the key, and building values that are complete or
 * NULL. */
#ifndef TR_IMPORT_JSON_H
#define TR_IMPORT_JSON_H

#include <jansson.h>

#include "util/buffer.h"

enum { TR_JSON_MAX_SIZE = 64 << 20 }; /* bytes; the largest vocabulary published has 6 MB */

/* Parses an object; duplicate keys are an error. Messages begin with name, a file's. *root is a new reference. */
tr_status tr_json_parse(const void *data, size_t size, const char *name, json_t **root, tr_error *error) TR_CHECKED;

/* The same for a list. */
tr_status tr_json_parse_list(const void *data, size_t size, const char *name, json_t **root, tr_error *error) TR_CHECKED;

/* One object of settings. After the first failure all calls return their fallback, so the caller checks status once, at the
 * end. A key that is absent or null gives the fallback. */
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

/* Building values. NULL means out of memory and is passed on from a part to the whole, as by json_pack()'s "o": a value that
 * is not NULL is complete. These functions take ownership of the values passed, also on failure. */
json_t *tr_json_append(json_t *array, json_t *value) TR_CHECKED;                /* returns array */
json_t *tr_json_set(json_t *object, const char *key, json_t *value) TR_CHECKED; /* returns object; key is UTF-8 */
/* Appends value as text with flags of json_dumps(). False: out of memory, nothing was appended. */
bool tr_json_print(json_t *value, size_t flags, tr_buffer *out) TR_CHECKED;

/* jansson's own functions would silently leave out a value when memory runs out. */
#ifndef TR_JSON_OWN
#pragma GCC poison json_array_append json_array_append_new json_array_insert json_array_insert_new json_array_extend
#pragma GCC poison json_array_set json_array_set_new json_object_set json_object_set_new json_object_set_nocheck
#pragma GCC poison json_object_set_new_nocheck json_object_update json_dumps json_dumpb json_dumpf
#pragma GCC poison json_dumpfd json_dump_file json_dump_callback
#endif

#endif
