/* Checks the arguments of the public functions. Messages begin with the name of the field. */
#ifndef TR_ATTENTION_CHECK_H
#define TR_ATTENTION_CHECK_H

#include "attention/call.h"

enum { TR_LENGTH_MAX = 1 << 30, TR_HEAD_MAX = 1024 };

/* An argument that must be 1 .. max. */
typedef struct tr_size {
    const char *name;
    int64_t value, max;
} tr_size;

tr_status tr_check_sizes(const tr_size *sizes, int count, tr_error *error);
tr_status tr_check_range(const char *name, int64_t value, int64_t min, int64_t max, tr_error *error);
/* pointer is not NULL. */
tr_status tr_check_pointer(const char *name, const void *pointer, tr_error *error);
tr_status tr_check_element(tr_element element, tr_error *error);
/* The product of count positive sizes and of the bytes of an element can be addressed. */
tr_status tr_check_product(const char *name, const int64_t *sizes, int count, size_t bytes, tr_error *error);

/* Checks shape, options and mask, and fills call with them; its tensors stay NULL. options and mask may be NULL. */
tr_status tr_check_call(tr_call *call, const tr_attention_shape *shape, const tr_attention_options *options,
                        const tr_attention_mask *mask, tr_error *error);
/* The lengths that the mask points to are 0 .. keys. */
tr_status tr_check_lengths(const tr_call *call, tr_error *error);

/* The tensors that a call reads and writes, to check that none that is written overlaps another. */
enum { TR_TENSORS_MAX = 24 };

typedef struct tr_tensors {
    int count;
    struct tr_tensor {
        const char *name;
        const void *at; /* NULL: not given */
        uint64_t bytes;
        bool written;
    } list[TR_TENSORS_MAX];
} tr_tensors;

/* Adds a tensor of count elements; the product of count and size must be known to fit. */
void tr_tensors_add(tr_tensors *tensors, const char *name, const void *at, uint64_t count, size_t size, bool written);
/* Adds those that the mask and the options of a call point to. */
void tr_tensors_add_call(tr_tensors *tensors, const tr_call *call);
tr_status tr_tensors_check(const tr_tensors *tensors, tr_error *error);

#endif
