/* From what a caller gives to a call that can be worked on, or an error that names the field. */
#ifndef TR_ATTENTION_CHECK_H
#define TR_ATTENTION_CHECK_H

#include "attention/call.h"

enum { TR_LENGTH_MOST = 1 << 30, TR_HEAD_MOST = 1024 };

/* A size that is asked for: 1 .. most. */
typedef struct tr_size {
    const char *name;
    int64_t value, most;
} tr_size;

tr_status tr_check_sizes(const tr_size *sizes, int count, tr_error *error);

/* value is between least and most, or NAME: why. */
tr_status tr_check_range(const char *name, int64_t value, int64_t least, int64_t most, tr_error *error);
tr_status tr_check_pointer(const char *name, const void *pointer, tr_error *error);
tr_status tr_check_element(tr_element element, tr_error *error);
/* A tensor's size, the product of count sizes, all above 0, and of bytes for each element, can be addressed. */
tr_status tr_check_product(const char *name, const int64_t *sizes, int count, size_t bytes, tr_error *error);

/* All but tensors: fills call with sizes, options and mask. */
tr_status tr_check_call(tr_call *call, const tr_attention_shape *shape, const tr_attention_options *options,
                        const tr_attention_mask *mask, tr_error *error);
/* The lengths that the mask points at. */
tr_status tr_check_lengths(const tr_call *call, tr_error *error);

#endif
