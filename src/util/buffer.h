/* Growable arrays of bytes and of token ids. A zeroed struct is empty. Functions that return bool return false without
 * memory; the contents are unchanged then, unless a comment says otherwise. */
#ifndef TR_UTIL_BUFFER_H
#define TR_UTIL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

typedef struct tr_buffer {
    char *data; /* ends with a NUL, not counted in size, after the first append; NULL before */
    size_t size, capacity;
} tr_buffer;

/* Orders as memcmp; the beginning of a text comes before it. */
int tr_compare_bytes(const char *a, size_t a_size, const char *b, size_t b_size);

/* Makes room for `more` bytes and a NUL. */
bool tr_buffer_reserve(tr_buffer *b, size_t more) TR_CHECKED;
bool tr_buffer_append(tr_buffer *b, const void *data, size_t size) TR_CHECKED;
/* Appends a C string. */
bool tr_buffer_string(tr_buffer *b, const char *s) TR_CHECKED;
/* Appends text with each invalid part of UTF-8 and each NUL replaced by U+FFFD; b->data is not NULL afterwards. Without
 * memory, part of the text may have been appended. */
bool tr_utf8_clean(const char *text, size_t size, tr_buffer *b) TR_CHECKED;
/* Sets size to 0 and keeps the memory. */
void tr_buffer_clear(tr_buffer *b);
void tr_buffer_free(tr_buffer *b);

typedef struct tr_ids {
    int32_t *data;
    size_t size, capacity;
} tr_ids;

bool tr_ids_append(tr_ids *b, const int32_t *ids, size_t count) TR_CHECKED;
void tr_ids_free(tr_ids *b);

/* A copy of size bytes, for free(); NULL: out of memory. from may be NULL if size is 0. */
void *tr_copy_bytes(const void *from, size_t size);

#endif
