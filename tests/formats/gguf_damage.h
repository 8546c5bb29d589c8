/* GGUF files in memory, damaged: each must be refused in one line, and nothing outside the file be read. Every failure ends
 * the running test. */
#ifndef GGUF_DAMAGE_H
#define GGUF_DAMAGE_H

#include "fixture.h"

/* Reads from a copy of exactly size bytes, so that the sanitizer sees one byte too many. */
tr_status read_copy(const unsigned char *data, size_t size, tr_error *error);

/* The first occurrence of text, and the byte after it. */
unsigned char *find_text(unsigned char *data, size_t size, const char *text);
unsigned char *after_text(unsigned char *data, size_t size, const char *text);

void expect_refused_copy(const unsigned char *data, size_t size, tr_status status, const char *needle);

/* Overwrites bytes at offset shift after a text. In the list of tensors: rank (4), sizes from the innermost (8 each), type
 * (4), offset (8); after a key: type (4), or array (4), type (4), count (8), elements. */
typedef struct damage {
    const char *text;
    int shift;
    const char *bytes;
    int size;
    tr_status status;
    const char *needle; /* NULL: it may be accepted */
} damage;

void apply_damage(unsigned char *data, size_t size, const damage *d);
/* Reads the file with each of these in turn. */
void check_damage(const unsigned char *data, size_t size, const damage *cases, size_t count);

/* Flips single bits of the first bytes, one after the other; returns how many of these files were refused. */
int flip_bits(unsigned char *data, size_t size, size_t first, int rounds);

#endif
