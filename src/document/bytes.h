/* Small questions about bytes that several formats ask. */
#ifndef TR_DOCUMENT_BYTES_H
#define TR_DOCUMENT_BYTES_H

#include "document/format.h"

bool tr_starts_with(const char *text, size_t size, const char *start);
/* Whether text is one of the words; NULL ends them. */
bool tr_is_one_of(const char *text, size_t size, const char *const *words);
/* The same of words in one string, with a space before and after each: " a b ". */
bool tr_list_has(const char *list, const char *name, size_t size);

/* What a hexadecimal digit stands for; -1: it is none. */
int tr_hex_digit(char c);
/* Reads \uXXXX at the beginning of text, or two of those for a code beyond U+FFFF (RFC 8259, section 7). *code: U+FFFD for
 * half of a pair. Returns its bytes; 0: there is none. */
size_t tr_read_escape(const char *text, size_t size, uint32_t *code);
/* Appends a code as tr_read_escape reads it. */
bool tr_append_escape(tr_buffer *out, uint32_t code);

/* Where the document begins: the byte after a byte order mark. */
size_t tr_document_begin(const tr_document *document);
/* The break at the end of the line at data[at]; of the last line, which has none, that of the line before it. */
const char *tr_line_break(const tr_document *document, size_t at);

/* Whether text names the language that is translated from, of whatever region. */
bool tr_is_source_language(const tr_document *document, const char *text, size_t size);

#endif
