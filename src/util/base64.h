#ifndef TR_UTIL_BASE64_H
#define TR_UTIL_BASE64_H

#include "util/buffer.h"

/* Decodes `size` characters of padded Base64 (RFC 4648) and appends the bytes. *valid is false if they are not Base64.
 * Returns false without memory. */
bool tr_base64_decode(const char *text, size_t size, tr_buffer *out, bool *valid) TR_CHECKED;

/* Appends `size` bytes in Base64. Returns false without memory. */
bool tr_base64_encode(const void *data, size_t size, tr_buffer *out) TR_CHECKED;

#endif
