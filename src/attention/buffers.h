/* Memory that a call reads and writes: what is written overlaps nothing else. */
#ifndef TR_ATTENTION_BUFFERS_H
#define TR_ATTENTION_BUFFERS_H

#include "attention/call.h"

enum { TR_BUFFERS = 24 };

typedef struct tr_buffers {
    int count;
    struct tr_buffer {
        const char *name;
        const void *at; /* NULL: there is none */
        uint64_t bytes;
        bool written;
    } list[TR_BUFFERS];
} tr_buffers;

/* Sizes whose product is known to fit. */
void tr_buffers_add(tr_buffers *buffers, const char *name, const void *at, uint64_t count, size_t size, bool written);
/* What mask and options of a call point at. */
void tr_buffers_add_call(tr_buffers *buffers, const tr_call *call);
tr_status tr_buffers_check(const tr_buffers *buffers, tr_error *error);

#endif
