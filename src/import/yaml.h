/* YAML, by libyaml, read into the same objects as JSON: code that reads settings or vocabularies works with both. */
#ifndef TR_IMPORT_YAML_H
#define TR_IMPORT_YAML_H

#include "import/json.h"

/* Parses a document whose root is a mapping. Plain scalars have the type they look like (null, true, 12, 0.5);
 * others, and keys, are strings. Messages begin with name, a file's. *root is a new reference. Duplicate keys, anchors and
 * aliases, a second document, and deep nesting are errors. */
tr_status tr_yaml_parse(const void *data, size_t size, const char *name, json_t **root, tr_error *error) TR_CHECKED;

#endif
