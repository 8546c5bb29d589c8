/* Reading YAML: libyaml, into the same objects as JSON, so that what asks for settings or vocabularies need not know. */
#ifndef TR_FORMATS_YAML_H
#define TR_FORMATS_YAML_H

#include "formats/json.h"

/* Parses a document whose root is a mapping. Plain scalars are what they look like (null, true, 12, 0.5), all others are
 * strings; keys are strings. name (a file's) begins the messages. *root is a new reference. Refused are duplicate keys,
 * anchors and aliases (nothing that is read here has them), more than one document, and deep nesting. */
tr_status tr_yaml_parse(const void *data, size_t size, const char *name, json_t **root, tr_error *error) TR_CHECKED;

#endif
