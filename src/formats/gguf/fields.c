#include "formats/gguf/fields.h"

#include <limits.h>
#include <string.h>

tr_status tr_gguf_fail_key(tr_error *error, const char *key, const char *why)
{
    return tr_fail(error, TR_ERROR_FORMAT, "key %s: %s", key, why);
}

static tr_status read_field(const tr_gguf *gguf, const tr_gguf_field *field, void *to, tr_error *error)
{
    const tr_gguf_entry *entry = tr_gguf_find(gguf, field->key);
    int64_t integer;
    double real;
    if (!entry)
        return field->required ? tr_gguf_fail_key(error, field->key, "is missing") : TR_OK;
    if (field->kind == TR_GGUF_REAL) {
        if (!tr_gguf_float(entry, &real))
            return tr_gguf_fail_key(error, field->key, "is not a floating-point number");
        *(float *)to = (float)real;
    } else if (field->kind == TR_GGUF_FLAG) {
        if (!tr_gguf_integer(entry, &integer) || integer < 0 || integer > 1)
            return tr_gguf_fail_key(error, field->key, "is neither true nor false");
        *(bool *)to = integer != 0;
    } else {
        if (!tr_gguf_integer(entry, &integer) || integer > INT_MAX || integer < INT_MIN)
            return tr_gguf_fail_key(error, field->key, "is not a whole number of 32 bits");
        *(int *)to = (int)integer;
    }
    return TR_OK;
}

tr_status tr_gguf_read_fields(const tr_gguf *gguf, const tr_gguf_field *fields, size_t count, void *to, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < count; i++)
        status = read_field(gguf, &fields[i], (char *)to + fields[i].offset, error);
    return status;
}

tr_status tr_gguf_read_string(const tr_gguf *gguf, const char *key, char *out, size_t room, tr_error *error)
{
    const tr_gguf_entry *entry = tr_gguf_find(gguf, key);
    if (!entry)
        return TR_OK;
    if (entry->array || entry->type != TR_GGUF_STRING)
        return tr_gguf_fail_key(error, key, "is not a string");
    const unsigned char *at = entry->data;
    size_t size;
    const char *text = tr_gguf_string(&at, &size);
    if (size >= room || memchr(text, 0, size))
        return tr_fail(error, TR_ERROR_FORMAT, "key %s: is longer than %zu bytes or holds NUL", key, room - 1);
    memcpy(out, text, size);
    out[size] = 0;
    return TR_OK;
}

tr_status tr_gguf_find_ids(const tr_gguf *gguf, const char *key, int limit, const tr_gguf_entry **ids, tr_error *error)
{
    const tr_gguf_entry *entry = *ids = tr_gguf_find(gguf, key);
    if (!entry)
        return TR_OK;
    if (!entry->array || (entry->type != TR_GGUF_I32 && entry->type != TR_GGUF_U32))
        return tr_gguf_fail_key(error, key, "is not an array of 32-bit integers");
    for (uint64_t i = 0; i < entry->count; i++)
        if (tr_gguf_element(entry, i) < 0 || tr_gguf_element(entry, i) >= limit)
            return tr_gguf_fail_key(error, key, "holds something else than ids of the vocabulary");
    return TR_OK;
}
