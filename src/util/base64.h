#ifndef TR_UTIL_BASE64_H
#define TR_UTIL_BASE64_H

#include "util/buffer.h"

/* Appends the bytes that size characters of Base64 (RFC 4648, padded) stand for. valid: whether that is what they are.
 * False: memory ran out. */
bool tr_base64_decode(const char *text, size_t size, tr_buffer *out, bool *valid) TR_CHECKED;

/* Appends the characters that stand for size bytes. False: memory ran out. */
bool tr_base64_encode(const void *data, size_t size, tr_buffer *out) TR_CHECKED;

#endif
