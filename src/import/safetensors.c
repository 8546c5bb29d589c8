#include "import/safetensors.h"

#include <string.h>

#include "import/json.h"

enum { LENGTH_FIELD = 8 };

typedef struct reader {
    const unsigned char *data; /* after the header; offsets count from here */
    uint64_t size;
    tr_weights *weights;
    tr_error *error;
} reader;

/* The name is shortened so that the reason still fits into the message. */
static tr_status fail(const reader *r, tr_status status, const char *name, const char *why)
{
    return tr_fail(r->error, status, "tensor %.100s: %s", name, why);
}

static tr_status read_type(const reader *r, const char *name, const json_t *description, tr_type *type)
{
    static const struct {
        const char *name;
        tr_type type;
    } types[] = {{"F32", TR_TYPE_F32}, {"F16", TR_TYPE_F16}, {"BF16", TR_TYPE_BF16}};
    const char *dtype = json_string_value(json_object_get(description, "dtype"));
    if (!dtype)
        return fail(r, TR_ERROR_FORMAT, name, "has no dtype");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, dtype) == 0) {
            *type = types[i].type;
            return TR_OK;
        }
    return tr_fail(r->error, TR_ERROR_UNSUPPORTED, "tensor %.100s: type %.32s is not supported, only F32, F16 and BF16",
                   name, dtype);
}

static tr_status read_shape(const reader *r, const char *name, const json_t *description, tr_tensor *tensor)
{
    const json_t *shape = json_object_get(description, "shape");
    if (!json_is_array(shape))
        return fail(r, TR_ERROR_FORMAT, name, "has no shape");
    const size_t rank = json_array_size(shape);
    if (rank < 1 || rank > TR_MAX_RANK)
        return tr_fail(r->error, TR_ERROR_FORMAT, "tensor %.100s: has %zu dimensions, must be 1 to %d", name, rank,
                       TR_MAX_RANK);
    tensor->rank = (int)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *size = json_array_get(shape, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return fail(r, TR_ERROR_FORMAT, name, "has a size that is not a whole number");
        tensor->shape[i] = json_integer_value(size);
    }
    return TR_OK;
}

/* Sets data and bytes; tr_weights_add compares bytes with the shape. */
static tr_status read_extent(const reader *r, const char *name, const json_t *description, tr_tensor *tensor)
{
    const json_t *offsets = json_object_get(description, "data_offsets");
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last))
        return fail(r, TR_ERROR_FORMAT, name, "has no data_offsets of two whole numbers");
    const json_int_t begin = json_integer_value(first), end = json_integer_value(last);
    if (begin < 0 || end < begin)
        return fail(r, TR_ERROR_FORMAT, name, "data_offsets contradict each other");
    if ((uint64_t)end > r->size)
        return tr_fail(
            r->error, TR_ERROR_FORMAT,
            "tensor %.100s: ends at byte %lld of the data, of which the file has %llu: it is truncated or damaged", name,
            (long long)end, (unsigned long long)r->size);
    tensor->data = r->data + begin;
    tensor->bytes = (size_t)(end - begin);
    return TR_OK;
}

static tr_status add_tensor(const reader *r, const char *name, const char *ours, const json_t *description)
{
    tr_tensor tensor = {0};
    memcpy(tensor.name, ours, sizeof tensor.name);
    if (!json_is_object(description))
        return fail(r, TR_ERROR_FORMAT, name, "has no description");
    tr_status status = read_type(r, name, description, &tensor.type);
    if (status == TR_OK)
        status = read_shape(r, name, description, &tensor);
    if (status == TR_OK)
        status = read_extent(r, name, description, &tensor);
    return status == TR_OK ? tr_weights_add(r->weights, &tensor, r->error) : status;
}

tr_status tr_safetensors_read(const void *data, size_t size, tr_tensor_rename *renaming, tr_weights *weights,
                              tr_error *error)
{
    uint64_t header = 0;
    if (size < LENGTH_FIELD)
        return tr_fail(error, TR_ERROR_FORMAT, "is truncated: %zu bytes are too few for a safetensors file", size);
    for (int i = LENGTH_FIELD - 1; i >= 0; i--)
        header = header << 8 | ((const unsigned char *)data)[i];
    if (header > size - LENGTH_FIELD)
        return tr_fail(error, TR_ERROR_FORMAT,
                       "header of %llu bytes is longer than the file: truncated, or no safetensors file",
                       (unsigned long long)header);
    json_t *root;
    tr_status status = tr_json_parse((const char *)data + LENGTH_FIELD, (size_t)header, "header", &root, error);
    if (status != TR_OK)
        return status;
    const reader r = {(const unsigned char *)data + LENGTH_FIELD + header, size - LENGTH_FIELD - header, weights, error};
    const char *name;
    json_t *description;
    json_object_foreach(root, name, description)
    {
        char ours[TR_TENSOR_NAME] = "";
        renaming(name, ours);
        if (status == TR_OK && *ours)
            status = add_tensor(&r, name, ours, description);
    }
    json_decref(root);
    return status;
}
