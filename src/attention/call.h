/* A call of attention after its arguments were checked; all kinds work from this. Sizes and positions fit an int, and no
 * tensor's size overflows. */
#ifndef TR_ATTENTION_CALL_H
#define TR_ATTENTION_CALL_H

#include <translate/attention.h>

#include "kernels/kernels.h"
#include "util/error.h"

/* Strides in elements, of [batch, heads, length, d_head], or of heads that are parts of [batch, length, heads d_head]. */
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
    int64_t pairs; /* batch times heads: a pair is one head of one batch item */
    int heads, queries, keys, d_k, d_v;
    int columns; /* keys; for LOW_RANK the number of compressed keys */
    tr_thread_backend backend;
    tr_attention_options options; /* as given, but with the scale filled in, and positions at most `keys` */
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

/* The row of a pair in q, k or v. */
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

/* Copies count rows [width], from `from` on, as floats to rows that are to_stride floats apart. */
void tr_widen(const tr_kernels *kernels, const tr_rows *rows, const void *from, int count, int width, float *to,
              size_t to_stride);

#endif
