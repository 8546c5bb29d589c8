/* UTF-8 (RFC 3629), and small questions about text. */
#ifndef TR_UTIL_UTF8_H
#define TR_UTIL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the first character of text, size > 0: returns its code point and sets *length to its bytes. Of invalid text,
 * returns -1 and sets *length to the maximal invalid part (Unicode 15, section 3.9: the bytes that one U+FFFD replaces). */
int32_t tr_utf8_decode(const char *text, size_t size, size_t *length);
/* Writes a code point and returns its number of bytes. */
size_t tr_utf8_encode(uint32_t code, char out[4]);

/* The number of bytes at the beginning of text that are valid UTF-8 without NUL. tr_utf8_clean (util/buffer.h) repairs the
 * rest. */
size_t tr_utf8_valid_prefix(const char *text, size_t size);
/* Whether text is valid UTF-8 without NUL. */
bool tr_utf8_valid(const char *text, size_t size);

/* Replaces by '?' in place all that would control a terminal or mislead a reader: control characters, invisible characters
 * that change the direction of writing, line separators, and invalid parts. The string may become shorter. */
void tr_utf8_make_printable(char *text);

/* Whether text ends with `end`, or is the same. */
bool tr_ends_with(const char *text, const char *end);
/* Whether c is a lower-case ASCII letter. */
bool tr_is_small_letter(char c);

#endif
