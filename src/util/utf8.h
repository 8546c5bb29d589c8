/* UTF-8 (RFC 3629): decoding one character, and making text valid. */
#ifndef TR_UTIL_UTF8_H
#define TR_UTIL_UTF8_H

#include "util/buffer.h"

/* The character at text[0..size), size > 0: its code point and, in *length, its bytes. Invalid: -1 and the length of
 * the maximal invalid part (Unicode 15, section 3.9: what is to become one U+FFFD). */
int32_t tr_utf8_decode(const char *text, size_t size, size_t *length);
size_t tr_utf8_encode(uint32_t code, char out[4]); /* bytes written */

bool tr_ends_with(const char *text, const char *end); /* the same text is one, too */
bool tr_is_small_letter(char c);                      /* a to z */

/* True if text is valid UTF-8 without NUL. */
bool tr_utf8_valid(const char *text, size_t size);
/* Appends text with every invalid part and every NUL replaced by U+FFFD. False: out of memory; else out->data is a string,
 * of no text as well. */
bool tr_utf8_clean(const char *text, size_t size, tr_buffer *out) TR_CHECKED;

/* Replaces by '?' what would act on a terminal or mislead its reader: control characters, the invisible ones that turn the
 * direction of writing, other ends of lines, and invalid parts. text grows shorter. */
void tr_utf8_make_printable(char *text);

#endif
