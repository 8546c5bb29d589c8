#include "model/weights.h"

#include "util/numbers.h"
#include "util/file.h"

#include <stdlib.h>
#include <string.h>

const char *tr_type_name(tr_type type)
{
    switch (type) {
    case TR_TYPE_F32: return "f32";
    case TR_TYPE_F16: return "f16";
    case TR_TYPE_BF16: return "bf16";
    case TR_TYPE_I8: return "i8";
    case TR_TYPE_I32: return "i32";
    case TR_TYPE_BLOCKS: return "blocks";
    }
    return "unknown";
}

bool tr_type_is_real(tr_type type)
{
    return type <= TR_TYPE_BF16 || type == TR_TYPE_BLOCKS;
}

/* -------------------------------------------------------------------------------------------------------------- table */

void tr_weights_free(tr_weights *weights)
{
    for (size_t i = 0; i < weights->count; i++) {
        if (weights->tensors[i]->owned)
            free((void *)weights->tensors[i]->data);
        free(weights->tensors[i]);
    }
    for (size_t i = 0; i < weights->block_count; i++)
        free(weights->blocks[i]);
    free(weights->blocks);
    free(weights->tensors);
    tr_strmap_free(&weights->index);
    *weights = (tr_weights){0};
}

static bool reserve_blocks(tr_weights *weights, size_t more)
{
    void **blocks = realloc(weights->blocks, (weights->block_count + more) * sizeof *blocks);
    if (blocks)
        weights->blocks = blocks;
    return blocks != NULL;
}

tr_status tr_weights_keep(tr_weights *weights, void *block, tr_error *error)
{
    if (!reserve_blocks(weights, 1)) {
        free(block);
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    }
    weights->blocks[weights->block_count++] = block;
    return TR_OK;
}

tr_status tr_weights_move_blocks(tr_weights *to, tr_weights *from, tr_error *error)
{
    if (!from->block_count)
        return TR_OK;
    if (!reserve_blocks(to, from->block_count))
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    memcpy(to->blocks + to->block_count, from->blocks, from->block_count * sizeof *from->blocks);
    to->block_count += from->block_count;
    from->block_count = 0;
    return TR_OK;
}

uint64_t tr_tensor_elements(const tr_tensor *tensor)
{
    uint64_t elements = 1;
    for (int i = 0; i < tensor->rank; i++)
        elements *= (uint64_t)tensor->shape[i];
    return elements;
}

bool tr_tensor_measure(const tr_tensor *tensor, uint64_t max, uint64_t *bytes)
{
    const tr_blocks *blocks = tensor->type == TR_TYPE_BLOCKS ? tensor->blocks : NULL;
    const uint64_t row = blocks ? blocks->elements : 1;
    bool fits = true, empty = false;
    *bytes = blocks ? blocks->bytes : tr_type_size(tensor->type);
    for (int i = 0; i < tensor->rank; i++) {
        uint64_t n = (uint64_t)tensor->shape[i];
        if (i == tensor->rank - 1) {
            fits = fits && n % row == 0;
            n /= row;
        }
        empty = empty || n == 0;
        fits = fits && (n == 0 || *bytes <= max / n);
        *bytes *= n;
    }
    if (empty)
        *bytes = 0;
    return fits;
}

static tr_status check_tensor(const tr_tensor *tensor, tr_error *error)
{
    if (!memchr(tensor->name, 0, sizeof tensor->name) || !tensor->name[0])
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %.*s: name is empty or too long", TR_TENSOR_NAME - 1, tensor->name);
    if (tensor->rank < 1 || tensor->rank > TR_MAX_RANK)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: has %d dimensions, must be 1 to %d", tensor->name, tensor->rank,
                       TR_MAX_RANK);
    if (tensor->transposed && (tensor->rank != 2 || tensor->type > TR_TYPE_BF16))
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: is marked as transposed, but is not a matrix of floats",
                       tensor->name);
    uint64_t bytes;
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] < 0)
            return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: has a negative dimension", tensor->name);
    if (!tr_tensor_measure(tensor, UINT64_MAX, &bytes) || bytes != tensor->bytes)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: its shape needs another number of bytes than the %zu it has",
                       tensor->name, tensor->bytes);
    return TR_OK;
}

static bool reserve_tensor(tr_weights *weights)
{
    if (!weights->index.slots && !tr_strmap_init(&weights->index, 256))
        return false;
    if (weights->count < weights->capacity)
        return true;
    const size_t capacity = weights->capacity ? weights->capacity * 2 : 64;
    tr_tensor **tensors = realloc(weights->tensors, capacity * sizeof *tensors);
    if (!tensors)
        return false;
    weights->tensors = tensors;
    weights->capacity = capacity;
    return true;
}

tr_status tr_weights_add(tr_weights *weights, const tr_tensor *tensor, tr_error *error)
{
    const tr_status status = check_tensor(tensor, error);
    if (status != TR_OK)
        return status;
    const size_t length = strlen(tensor->name);
    if (tr_strmap_find(&weights->index, tensor->name, length) >= 0)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: is there twice", tensor->name);
    tr_tensor *copy = reserve_tensor(weights) ? malloc(sizeof *copy) : NULL;
    if (!copy)
        return tr_fail(error, TR_ERROR_MEMORY, "tensor %s: out of memory", tensor->name);
    *copy = *tensor;
    if (tr_strmap_add(&weights->index, copy->name, length, (int32_t)weights->count) < 0) {
        free(copy);
        return tr_fail(error, TR_ERROR_MEMORY, "tensor %s: out of memory", tensor->name);
    }
    weights->tensors[weights->count++] = copy;
    return TR_OK;
}

const tr_tensor *tr_weights_find(const tr_weights *weights, const char *name)
{
    const int32_t i = tr_strmap_find(&weights->index, name, strlen(name));
    return i < 0 ? NULL : weights->tensors[i];
}

bool tr_packed_name(char out[TR_TENSOR_NAME], const char *name, const char *suffix)
{
    const size_t size = strlen(name), n = strlen(suffix);
    if (size + n >= TR_TENSOR_NAME)
        return false;
    memcpy(out, name, size);
    memcpy(out + size, suffix, n + 1);
    return true;
}

const tr_tensor *tr_weights_part(const tr_weights *weights, const char *name, const char *suffix)
{
    char part[TR_TENSOR_NAME];
    return tr_packed_name(part, name, suffix) ? tr_weights_find(weights, part) : NULL;
}

bool tr_weights_has_matrix(const tr_weights *weights, const char *name)
{
    return tr_weights_find(weights, name) || tr_weights_part(weights, name, TR_PACKED_PANELS);
}

const char *tr_weights_output(const tr_weights *weights)
{
    if (tr_weights_has_matrix(weights, "output.weight"))
        return "output.weight";
    return tr_weights_has_matrix(weights, "token_embd.weight") ? "token_embd.weight" : "dec.token_embd.weight";
}

/* --------------------------------------------------------------------------------------------------------- conversion */

static uint16_t half_at(const unsigned char *data, size_t i)
{
    uint16_t half;
    memcpy(&half, data + i * sizeof half, sizeof half);
    return half;
}

/* A block that is only needed in part is decoded into a buffer first. */
static void blocks_to_f32(const tr_tensor *tensor, size_t first, size_t count, float *out)
{
    const tr_blocks *blocks = tensor->blocks;
    float whole[TR_MAX_BLOCK];
    while (count) {
        const size_t offset = first % blocks->elements, rest = blocks->elements - offset, n = rest < count ? rest : count;
        const unsigned char *block = (const unsigned char *)tensor->data + first / blocks->elements * blocks->bytes;
        blocks->read(block, n == blocks->elements ? out : whole);
        if (n != blocks->elements)
            memcpy(out, whole + offset, n * sizeof *out);
        first += n;
        out += n;
        count -= n;
    }
}

/* Converts elements first .. first + count - 1 of data, of a floating type, in memory order. */
static void widen(tr_type type, const unsigned char *data, size_t first, size_t count, float *out)
{
    if (count)
        data += first * tr_type_size(type);
    switch (type) {
    case TR_TYPE_F32:
        if (count)
            memcpy(out, data, count * sizeof *out);
        break;
    case TR_TYPE_F16:
        for (size_t i = 0; i < count; i++)
            out[i] = tr_f16_to_f32(half_at(data, i));
        break;
    case TR_TYPE_BF16:
        for (size_t i = 0; i < count; i++)
            out[i] = tr_bf16_to_f32(half_at(data, i));
        break;
    case TR_TYPE_BLOCKS:
    case TR_TYPE_I8:
    case TR_TYPE_I32: break; /* not floats: the caller's mistake */
    }
}

void tr_tensor_copy(const tr_tensor *tensor, size_t first, size_t count, void *out)
{
    const size_t size = tr_type_size(tensor->type);
    if (tensor->origin)
        tensor->origin->make(tensor, first, count, out);
    else if (count)
        memcpy(out, (const unsigned char *)tensor->data + first * size, count * size);
}

static size_t bytes_before(const tr_tensor *tensor, size_t element)
{
    const tr_blocks *blocks = tensor->blocks;
    return blocks ? element / blocks->elements * blocks->bytes : element * tr_type_size(tensor->type);
}

/* Roughly where in its origin, of bytes bytes in the same order, byte at of a tensor comes from. */
static size_t origin_offset(size_t at, size_t bytes, size_t tensor_bytes)
{
    return bytes == tensor_bytes ? at : (size_t)((double)at / (double)tensor_bytes * (double)bytes);
}

void tr_tensor_passed(const tr_tensor *tensor, size_t first, size_t next)
{
    enum { BLOCK = 1 << 20 };
    const tr_origin *origin = tensor->origin;
    const size_t begin = bytes_before(tensor, first), end = bytes_before(tensor, next);
    const bool last = end >= tensor->bytes, in_order = origin ? origin->in_order : !tensor->transposed;
    if (!tensor->mapped || !tensor->bytes || (!in_order && !last))
        return;
    const unsigned char *data = origin ? origin->data : tensor->data;
    const size_t bytes = origin ? origin->bytes : tensor->bytes;
    const size_t from = origin_offset(begin, bytes, tensor->bytes) / BLOCK;
    const size_t to = last ? bytes : origin_offset(end, bytes, tensor->bytes);
    if (!in_order)
        tr_pages_drop(data, bytes);
    else if (last || to / BLOCK > from)
        tr_pages_drop(data + from * BLOCK, to - from * BLOCK);
}

enum { TRANSPOSED_ROWS = 16 }; /* rows that are transposed together: their floats of one input fill a cache line */

/* Columns first .. last - 1 of n <= TRANSPOSED_ROWS rows, from row on, of a transposed matrix into out [n, stride]. */
static void transpose_rows(const tr_tensor *tensor, size_t row, size_t n, size_t first, size_t last, float *out,
                           size_t stride)
{
    const size_t outputs = (size_t)tensor->shape[0];
    float column[TRANSPOSED_ROWS];
    for (size_t i = first; i < last; i++) {
        widen(tensor->type, tensor->data, i * outputs + row, n, column);
        for (size_t o = 0; o < n; o++)
            out[o * stride + i - first] = column[o];
    }
}

void tr_tensor_to_f32(const tr_tensor *tensor, size_t first, size_t count, float *out)
{
    if (tensor->origin) {
        tensor->origin->make(tensor, first, count, out);
        return;
    }
    if (tensor->type == TR_TYPE_BLOCKS) {
        blocks_to_f32(tensor, first, count, out);
        return;
    }
    if (!tensor->transposed) {
        widen(tensor->type, tensor->data, first, count, out);
        return;
    }
    const size_t inputs = (size_t)tensor->shape[1];
    while (count) { /* a part of one row, or several whole rows together */
        const size_t row = first / inputs, column = first % inputs;
        const size_t rest = inputs - column < count ? inputs - column : count;
        const size_t rows = column || count < inputs           ? 1
                            : count / inputs < TRANSPOSED_ROWS ? count / inputs
                                                               : TRANSPOSED_ROWS;
        transpose_rows(tensor, row, rows, column, column + rest, out, inputs);
        out += rows > 1 ? rows * inputs : rest;
        first += rows > 1 ? rows * inputs : rest;
        count -= rows > 1 ? rows * inputs : rest;
    }
}

void tr_from_f32(tr_type type, const float *in, size_t count, void *out)
{
    uint16_t *halves = out;
    switch (type) {
    case TR_TYPE_F32:
        if (count)
            memcpy(out, in, count * sizeof *in);
        break;
    case TR_TYPE_F16:
        for (size_t i = 0; i < count; i++)
            halves[i] = tr_f16_from_f32(in[i]);
        break;
    case TR_TYPE_BF16:
        for (size_t i = 0; i < count; i++)
            halves[i] = tr_bf16_from_f32(in[i]);
        break;
    case TR_TYPE_I8:
    case TR_TYPE_I32:
    case TR_TYPE_BLOCKS: break;
    }
}
