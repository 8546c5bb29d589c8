/* Chinese in traditional characters, for models that write simplified ones: by rules of the model file, lines of
 *
 *     SIMPLIFIED TAB TRADITIONAL
 *
 * in the order of their bytes. Of the rules that match at a character the longest counts. Both sides have characters of the
 * same sizes, none of ASCII at the beginning: a text changes where it lies, and what points into it stays right. */
#ifndef TR_TOKENIZER_TRADITIONAL_H
#define TR_TOKENIZER_TRADITIONAL_H

#include "util/file.h"

/* Checks rules, as the other functions need them. TR_ERROR_FORMAT names the line. */
tr_status tr_traditional_check(tr_bytes rules, tr_error *error);

/* text: valid UTF-8. Without rules nothing changes. */
void tr_traditional_write(tr_bytes rules, char *text, size_t size);

/* How many bytes at the beginning of a text do not depend on what follows it. */
size_t tr_traditional_settled(tr_bytes rules, const char *text, size_t size);

#endif
