/* The values of metadata keys, checked; what reads a model of either kind asks for them here. Messages begin with the
 * key. */
#ifndef TR_FORMATS_GGUF_FIELDS_H
#define TR_FORMATS_GGUF_FIELDS_H

#include "formats/gguf/container.h"
#include "formats/gguf/keys.h"

tr_status tr_gguf_fail_key(tr_error *error, const char *key, const char *why); /* TR_ERROR_FORMAT */

/* Each field's value goes to its offset in *to; where the key is absent and not required, that is left alone. */
tr_status tr_gguf_read_fields(const tr_gguf *gguf, const tr_gguf_field *fields, size_t count, void *to, tr_error *error);

/* A string value with its NUL in out; absent: out is left alone. */
tr_status tr_gguf_read_string(const tr_gguf *gguf, const char *key, char *out, size_t room, tr_error *error);

/* An array of ids below limit; NULL if it is absent. */
tr_status tr_gguf_find_ids(const tr_gguf *gguf, const char *key, int limit, const tr_gguf_entry **ids, tr_error *error);

#endif
