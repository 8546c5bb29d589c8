#include "formats/gguf/container.h"

#include "formats/gguf/blocks.h"
#include "util/numbers.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    MIN_DESCRIPTION = 24, /* bytes of a tensor's description: name length, rank, type, offset */
    KEY_SHOWN = 60,       /* bytes of a key in a message */
};

static const unsigned char type_sizes[TR_GGUF_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* ------------------------------------------------------------------------------------------------------------- values */

static uint64_t load_little(const unsigned char *p, size_t bytes)
{
    uint64_t x = 0;
    for (size_t i = 0; i < bytes; i++)
        x |= (uint64_t)p[i] << 8 * i;
    return x;
}

/* An integer of the type, sign extended. */
static uint64_t load_integer(const unsigned char *p, tr_gguf_type type)
{
    const size_t bytes = type_sizes[type];
    uint64_t x = load_little(p, bytes);
    const bool negative = bytes < 8 && x >> (8 * bytes - 1);
    if (negative && (type == TR_GGUF_I8 || type == TR_GGUF_I16 || type == TR_GGUF_I32))
        x |= ~(uint64_t)0 << 8 * bytes;
    return x;
}

static bool is_integer(tr_gguf_type type)
{
    return type != TR_GGUF_F32 && type != TR_GGUF_F64 && type != TR_GGUF_STRING && type != TR_GGUF_ARRAY;
}

bool tr_gguf_integer(const tr_gguf_entry *entry, int64_t *value)
{
    if (entry->array || !is_integer(entry->type))
        return false;
    const uint64_t x = load_integer(entry->data, entry->type);
    *value = (int64_t)x;
    return entry->type != TR_GGUF_U64 || x <= INT64_MAX;
}

int64_t tr_gguf_element(const tr_gguf_entry *entry, uint64_t i)
{
    return (int64_t)load_integer(entry->data + i * type_sizes[entry->type], entry->type);
}

float tr_gguf_float_element(const tr_gguf_entry *entry, uint64_t i)
{
    return tr_float_of((uint32_t)load_little(entry->data + i * sizeof(float), sizeof(float)));
}

/* F32 or F64 */
static bool read_real(const tr_gguf_entry *entry, double *value)
{
    if (entry->array || (entry->type != TR_GGUF_F32 && entry->type != TR_GGUF_F64))
        return false;
    const uint64_t bits = load_little(entry->data, type_sizes[entry->type]);
    memcpy(value, &bits, sizeof *value);
    if (entry->type == TR_GGUF_F32)
        *value = (double)tr_float_of((uint32_t)bits);
    return true;
}

const char *tr_gguf_string(const unsigned char **at, size_t *size)
{
    const char *text = (const char *)*at + 8;
    *size = (size_t)load_little(*at, 8);
    *at += 8 + *size;
    return text;
}

const tr_gguf_entry *tr_gguf_find(const tr_gguf *gguf, const char *key)
{
    const int32_t i = tr_strmap_find(&gguf->index, key, strlen(key));
    return i < 0 ? NULL : &gguf->entries[i];
}

/* ------------------------------------------------------------------------------------------------------------ reading */

/* A position in the file. Reading beyond the end clears good and yields zeros. */
typedef struct cursor {
    const unsigned char *data;
    size_t at, size;
    bool good;
} cursor;

static const unsigned char *take_bytes(cursor *c, uint64_t bytes)
{
    if (!c->good || bytes > c->size - c->at) {
        c->good = false;
        return NULL;
    }
    const unsigned char *p = c->data + c->at;
    c->at += (size_t)bytes;
    return p;
}

static uint64_t take_integer(cursor *c, size_t bytes)
{
    const unsigned char *p = take_bytes(c, bytes);
    return p ? load_little(p, bytes) : 0;
}

static const char *take_string(cursor *c, size_t *size)
{
    const uint64_t length = take_integer(c, 8);
    const unsigned char *p = take_bytes(c, length);
    *size = p ? (size_t)length : 0;
    return (const char *)p;
}

static tr_status fail_truncated(tr_error *error, const char *where)
{
    return tr_fail(error, TR_ERROR_FORMAT, "%s reaches beyond the end of the file: it is truncated or damaged", where);
}

static tr_status fail_entry(tr_error *error, const tr_gguf_entry *entry, const char *why)
{
    return tr_fail(error, TR_ERROR_FORMAT, "key %.*s: %s", (int)(entry->key_size < KEY_SHOWN ? entry->key_size : KEY_SHOWN),
                   entry->key ? entry->key : "", why);
}

/* Skips entry->count values of entry->type. */
static void skip_values(cursor *c, const tr_gguf_entry *entry)
{
    const size_t size = type_sizes[entry->type];
    if (size && entry->count > c->size / size)
        c->good = false;
    else if (size)
        take_bytes(c, entry->count * size);
    for (uint64_t i = 0; !size && c->good && i < entry->count; i++) {
        size_t length;
        take_string(c, &length);
    }
}

static tr_status read_entry(cursor *c, tr_gguf_entry *entry, tr_error *error)
{
    *entry = (tr_gguf_entry){.count = 1};
    entry->key = take_string(c, &entry->key_size);
    uint64_t type = take_integer(c, 4);
    if (c->good && type == TR_GGUF_ARRAY) {
        entry->array = true;
        type = take_integer(c, 4);
        entry->count = take_integer(c, 8);
    }
    if (!c->good)
        return fail_truncated(error, "the metadata");
    if (type >= TR_GGUF_TYPES || type == TR_GGUF_ARRAY)
        return fail_entry(error, entry, "is of an unknown type");
    entry->type = (tr_gguf_type)type;
    entry->data = c->data + c->at;
    skip_values(c, entry);
    return c->good ? TR_OK : fail_entry(error, entry, "reaches beyond the end of the file: it is truncated or damaged");
}

static tr_status add_entry(tr_gguf *gguf, const tr_gguf_entry *entry, tr_error *error)
{
    if (gguf->count == gguf->capacity) {
        const size_t capacity = gguf->capacity ? gguf->capacity * 2 : 64;
        tr_gguf_entry *entries = realloc(gguf->entries, capacity * sizeof *entries);
        if (!entries)
            return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
        gguf->entries = entries;
        gguf->capacity = capacity;
    }
    if (entry->key_size == 0 || entry->key_size > 65535)
        return tr_fail(error, TR_ERROR_FORMAT, "a metadata key of %zu bytes", entry->key_size);
    const int32_t stored = tr_strmap_add(&gguf->index, entry->key, entry->key_size, (int32_t)gguf->count);
    if (stored < 0)
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    if ((size_t)stored != gguf->count)
        return fail_entry(error, entry, "is there twice");
    gguf->entries[gguf->count++] = *entry;
    return TR_OK;
}

/* Called as soon as the entry is read, so that a file truncated inside its metadata is reported as truncated. */
static tr_status check_file_size(const tr_gguf_entry *entry, size_t size, tr_error *error)
{
    static const char key[] = "translate.file_size";
    int64_t expected;
    if (entry->key_size != sizeof key - 1 || memcmp(entry->key, key, sizeof key - 1) != 0)
        return TR_OK;
    if (!tr_gguf_integer(entry, &expected) || expected < 0)
        return fail_entry(error, entry, "is not a size");
    if ((uint64_t)expected == size)
        return TR_OK;
    return tr_fail(error, TR_ERROR_FORMAT, "%s: the file has %zu bytes, but must have %lld",
                   size < (uint64_t)expected ? "is truncated" : "is damaged", size, (long long)expected);
}

static tr_status read_header(cursor *c, uint64_t *tensors, uint64_t *entries, tr_error *error)
{
    const unsigned char *magic = take_bytes(c, 4);
    if (magic && memcmp(magic, "GGUF", 4) != 0)
        return tr_fail(error, TR_ERROR_FORMAT, "is not a GGUF file");
    const uint64_t version = take_integer(c, 4);
    *tensors = take_integer(c, 8);
    *entries = take_integer(c, 8);
    if (!c->good)
        return fail_truncated(error, "the header");
    if (version != TR_GGUF_VERSION)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "GGUF version %llu%s is not supported, only %d",
                       (unsigned long long)version, version && (version & 0xffff) == 0 ? " (bytes in big-endian order)" : "",
                       (int)TR_GGUF_VERSION);
    return TR_OK;
}

tr_status tr_gguf_parse(tr_gguf *gguf, const void *data, size_t size, tr_error *error)
{
    *gguf = (tr_gguf){.data = data, .size = size};
    cursor c = {data, 0, size, true};
    uint64_t entries = 0;
    tr_status status = read_header(&c, &gguf->tensors, &entries, error);
    if (status != TR_OK)
        return status;
    if (!tr_strmap_init(&gguf->index, 64))
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    for (uint64_t i = 0; status == TR_OK && i < entries; i++) {
        tr_gguf_entry entry;
        status = read_entry(&c, &entry, error);
        if (status == TR_OK)
            status = check_file_size(&entry, size, error);
        if (status == TR_OK)
            status = add_entry(gguf, &entry, error);
    }
    gguf->tensors_at = c.at;
    if (status == TR_OK && gguf->tensors > (size - c.at) / MIN_DESCRIPTION)
        status = fail_truncated(error, "the number of tensors");
    if (status != TR_OK)
        tr_gguf_free(gguf);
    return status;
}

void tr_gguf_free(tr_gguf *gguf)
{
    free(gguf->entries);
    tr_strmap_free(&gguf->index);
    *gguf = (tr_gguf){0};
}

/* ------------------------------------------------------------------------------------------------------------ tensors */

/* ggml_type of the plain types, and for messages the names of the types that are not supported. */
static const struct {
    uint32_t code;
    tr_type type;
} tensor_types[] = {{0, TR_TYPE_F32}, {1, TR_TYPE_F16}, {30, TR_TYPE_BF16}, {24, TR_TYPE_I8}, {26, TR_TYPE_I32}};

static const char *const unsupported_types[] = {
    [9] = "Q8_1",   [15] = "Q8_K",  [16] = "IQ2_XXS", [17] = "IQ2_XS", [18] = "IQ3_XXS", [19] = "IQ1_S",
    [21] = "IQ3_S", [22] = "IQ2_S", [25] = "I16",     [27] = "I64",    [28] = "F64",     [29] = "IQ1_M",
    [34] = "TQ1_0", [35] = "TQ2_0", [39] = "MXFP4",   [40] = "NVFP4",
};

enum {
    TENSOR_TYPES = sizeof tensor_types / sizeof *tensor_types,
    UNSUPPORTED_TYPES = sizeof unsupported_types / sizeof *unsupported_types
};

uint32_t tr_gguf_tensor_code(tr_type type)
{
    uint32_t code = 0;
    for (size_t i = 0; i < TENSOR_TYPES; i++)
        if (tensor_types[i].type == type)
            code = tensor_types[i].code;
    return code;
}

static tr_status read_tensor_type(tr_tensor *tensor, uint32_t code, tr_error *error)
{
    for (size_t i = 0; i < TENSOR_TYPES; i++)
        if (tensor_types[i].code == code) {
            tensor->type = tensor_types[i].type;
            return TR_OK;
        }
    tensor->type = TR_TYPE_BLOCKS;
    tensor->blocks = tr_gguf_blocks(code);
    if (tensor->blocks)
        return TR_OK;
    const char *name = code < UNSUPPORTED_TYPES ? unsupported_types[code] : NULL;
    if (name)
        return tr_fail(error, TR_ERROR_UNSUPPORTED,
                       "tensor %s: type %s is not supported, only F32, F16, BF16, I8, I32, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, "
                       "Q2_K to Q6_K, IQ4_NL and IQ4_XS",
                       tensor->name, name);
    return tr_fail(error, TR_ERROR_UNSUPPORTED, "tensor %s: type %u is unknown", tensor->name, (unsigned)code);
}

/* Reads the description of a tensor. *offset counts from the start of the data. */
static tr_status read_tensor(cursor *c, tr_tensor *tensor, uint64_t *offset, tr_error *error)
{
    size_t size;
    *tensor = (tr_tensor){0};
    const char *name = take_string(c, &size);
    if (!c->good)
        return fail_truncated(error, "the list of tensors");
    if (size == 0 || size >= TR_TENSOR_NAME || memchr(name, 0, size))
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %.*s: a name must have 1 to %d bytes", (int)(size < 80 ? size : 80),
                       name, TR_TENSOR_NAME - 1);
    memcpy(tensor->name, name, size);
    const uint64_t rank = take_integer(c, 4);
    if (c->good && (rank < 1 || rank > TR_MAX_RANK))
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: has %llu dimensions, must be 1 to %d", tensor->name,
                       (unsigned long long)rank, TR_MAX_RANK);
    tensor->rank = (int)rank;
    for (int i = tensor->rank - 1; i >= 0; i--) { /* stored innermost first */
        const uint64_t n = take_integer(c, 8);
        if (n > INT64_MAX)
            return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: has an impossible size", tensor->name);
        tensor->shape[i] = (int64_t)n;
    }
    const uint32_t code = (uint32_t)take_integer(c, 4);
    *offset = take_integer(c, 8);
    return c->good ? read_tensor_type(tensor, code, error) : fail_truncated(error, "the list of tensors");
}

/* Points the tensor at its data, which must lie in the file. */
static tr_status locate_data(const tr_gguf_tensors *tensors, tr_tensor *tensor, uint64_t offset, tr_error *error)
{
    uint64_t bytes;
    const uint64_t available = tensors->gguf->size - tensors->data_at;
    const tr_blocks *blocks = tensor->blocks;
    if (blocks && (uint64_t)tensor->shape[tensor->rank - 1] % blocks->elements)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: its rows of %lld elements are not whole blocks of %s",
                       tensor->name, (long long)tensor->shape[tensor->rank - 1], blocks->name);
    if (!tr_tensor_measure(tensor, available, &bytes) || bytes == 0)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: its size is 0 or more than the file has: truncated or damaged",
                       tensor->name);
    if (offset % tensors->alignment)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: its offset %llu is not a multiple of %zu", tensor->name,
                       (unsigned long long)offset, tensors->alignment);
    if (offset > available || bytes > available - offset)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: lies outside the file: truncated or damaged", tensor->name);
    tensor->data = tensors->gguf->data + tensors->data_at + offset;
    tensor->bytes = (size_t)bytes;
    return TR_OK;
}

static tr_status read_alignment(const tr_gguf *gguf, size_t *alignment, tr_error *error)
{
    const tr_gguf_entry *entry = tr_gguf_find(gguf, "general.alignment");
    int64_t value = TR_GGUF_DEFAULT_ALIGNMENT;
    if (entry && (!tr_gguf_integer(entry, &value) || value < 8 || value > 1 << 20 || (value & (value - 1))))
        return fail_entry(error, entry, "must be a power of two from 8 up");
    *alignment = (size_t)value;
    return TR_OK;
}

tr_status tr_gguf_tensors_begin(const tr_gguf *gguf, tr_gguf_tensors *tensors, tr_error *error)
{
    tr_tensor tensor;
    uint64_t offset;
    *tensors = (tr_gguf_tensors){.gguf = gguf, .alignment = TR_GGUF_DEFAULT_ALIGNMENT, .at = gguf->tensors_at};
    tr_status status = read_alignment(gguf, &tensors->alignment, error);
    cursor c = {gguf->data, gguf->tensors_at, gguf->size, true};
    for (uint64_t i = 0; status == TR_OK && i < gguf->tensors; i++) /* the data begins after the last description */
        status = read_tensor(&c, &tensor, &offset, error);
    if (status != TR_OK)
        return status;
    const size_t data_at = (c.at + tensors->alignment - 1) & ~(tensors->alignment - 1);
    tensors->data_at = data_at < gguf->size ? data_at : gguf->size;
    tensors->left = gguf->tensors;
    return TR_OK;
}

bool tr_gguf_tensors_next(tr_gguf_tensors *tensors, tr_tensor *tensor, tr_status *status, tr_error *error)
{
    uint64_t offset;
    if (*status != TR_OK || !tensors->left)
        return false;
    cursor c = {tensors->gguf->data, tensors->at, tensors->gguf->size, true};
    *status = read_tensor(&c, tensor, &offset, error);
    tensors->at = c.at;
    tensors->left--;
    if (*status == TR_OK)
        *status = locate_data(tensors, tensor, offset, error);
    return *status == TR_OK;
}

/* -------------------------------------------------------------------------------------------------------------- fields */

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
        if (!read_real(entry, &real))
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

tr_status tr_gguf_read_string(const tr_gguf *gguf, const char *key, char *out, size_t size, tr_error *error)
{
    const tr_gguf_entry *entry = tr_gguf_find(gguf, key);
    if (!entry)
        return TR_OK;
    if (entry->array || entry->type != TR_GGUF_STRING)
        return tr_gguf_fail_key(error, key, "is not a string");
    const unsigned char *at = entry->data;
    size_t length;
    const char *text = tr_gguf_string(&at, &length);
    if (length >= size || memchr(text, 0, length))
        return tr_fail(error, TR_ERROR_FORMAT, "key %s: is longer than %zu bytes or holds NUL", key, size - 1);
    memcpy(out, text, length);
    out[length] = 0;
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
