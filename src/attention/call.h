/* What was asked for, once it is checked: all kinds of attention work from this. Sizes and positions fit an int, no product
 * of them that is the size of a tensor overflows. */
#ifndef TR_ATTENTION_CALL_H
#define TR_ATTENTION_CALL_H

#include <translate/attention.h>

#include "kernels/kernels.h"
#include "util/error.h"

/* Rows of all batches and heads, as far apart as these say, in elements: rows of [batch, heads, length, size], or the heads'
 * parts of [batch, length, heads size]. */
typedef struct tr_strides {
    size_t batch, head, row;
} tr_strides;

typedef struct tr_rows {
    tr_element element;
    const void *data;
    tr_strides strides;
} tr_rows;

typedef struct tr_call {
    const tr_kernels *kernels;
    int64_t pairs; /* batch heads: a pair is a batch and a head of it */
    int heads, queries, keys, key_size, value_size;
    int columns;                /* keys, or with LOW_RANK the summaries of them */
    tr_attention_options asked; /* the scale is what is computed with; positions count at most keys */
    tr_attention_mask mask;
    tr_rows q, k, v;
    float *out;
    tr_strides out_strides;
    float *weights; /* [pairs, queries, columns] or NULL */
} tr_call;

static inline size_t tr_element_size(tr_element element)
{
    return element == TR_ELEMENT_BF16 ? sizeof(uint16_t) : sizeof(float);
}

static inline size_t tr_row_offset(const tr_call *call, const tr_strides *s, int64_t pair, int row)
{
    return (size_t)(pair / call->heads) * s->batch + (size_t)(pair % call->heads) * s->head + (size_t)row * s->row;
}

static inline const void *tr_row(const tr_call *call, const tr_rows *rows, int64_t pair, int row)
{
    return (const char *)rows->data + tr_row_offset(call, &rows->strides, pair, row) * tr_element_size(rows->element);
}

static inline float *tr_row_out(const tr_call *call, int64_t pair, int row)
{
    return call->out + tr_row_offset(call, &call->out_strides, pair, row);
}

static inline float *tr_row_weights(const tr_call *call, int64_t pair, int row)
{
    return call->weights + ((size_t)pair * (size_t)call->queries + (size_t)row) * (size_t)call->columns;
}

/* Rows one after the other as floats. */
void tr_widen(const tr_kernels *kernels, const tr_rows *rows, const void *from, int count, int width, float *to,
              size_t to_row);

#endif
