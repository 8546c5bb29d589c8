/* Working memory of a call, allocated in one piece. A layout function adds up all parts of it; it runs twice, once without
 * memory to learn the size, and once to set the pointers. */
#ifndef TR_ATTENTION_LAYOUT_H
#define TR_ATTENTION_LAYOUT_H

#include "util/error.h"

typedef struct tr_layout {
    unsigned char *base; /* NULL: only the size is added up */
    size_t used;         /* bytes so far */
    bool too_large;      /* more than can be addressed */
} tr_layout;

/* Adds count elements of `size` bytes, 64-byte aligned. Returns NULL while there is no memory. */
void *tr_layout_add(tr_layout *layout, uint64_t count, size_t size);

/* A buffer for each thread. */
typedef struct tr_thread_buffers {
    unsigned char *base;
    size_t stride; /* bytes from one thread's buffer to the next's */
} tr_thread_buffers;

/* Adds count elements for each thread. */
tr_thread_buffers tr_layout_add_per_thread(tr_layout *layout, int threads, uint64_t count, size_t size);

/* The buffer of a thread. */
static inline void *tr_thread_buffer(const tr_thread_buffers *buffers, int thread)
{
    return buffers->base + (size_t)thread * buffers->stride;
}

/* Adds all buffers that a plan has pointers to, the same ones in each call. */
typedef void tr_layout_function(void *plan, tr_layout *layout);

/* Returns the bytes that a plan needs; SIZE_MAX: more than can be addressed. */
size_t tr_layout_measure(tr_layout_function *add_buffers, void *plan);
/* Allocates the memory of a plan and sets its pointers. TR_ERROR_MEMORY. Free it with tr_layout_free. */
tr_status tr_layout_allocate(tr_layout *layout, tr_layout_function *add_buffers, void *plan, tr_error *error);
void tr_layout_free(tr_layout *layout);

#endif
