/* Growable byte and id buffers. A zeroed struct is an empty one. Calls return false when memory runs out. */
#ifndef TR_UTIL_BUFFER_H
#define TR_UTIL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

typedef struct tr_buffer {
    char *data; /* kept NUL-terminated once anything was appended */
    size_t size, capacity;
} tr_buffer;

bool tr_buffer_reserve(tr_buffer *b, size_t more) TR_CHECKED; /* room for more bytes and a NUL */
bool tr_buffer_append(tr_buffer *b, const void *data, size_t size) TR_CHECKED;
bool tr_buffer_string(tr_buffer *b, const char *s) TR_CHECKED;
void tr_buffer_clear(tr_buffer *b); /* size 0, memory kept */
void tr_buffer_free(tr_buffer *b);

typedef struct tr_ids {
    int32_t *data;
    size_t size, capacity;
} tr_ids;

bool tr_ids_append(tr_ids *b, const int32_t *ids, size_t count) TR_CHECKED;
void tr_ids_free(tr_ids *b);

#endif
