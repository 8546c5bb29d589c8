/* A text as code points, and rules that rewrite it one after the other, as a list of regular expressions does in other
 * tokenizers. Functions that return a bool return false if memory runs out. */
#ifndef TR_IMPORT_REWRITE_H
#define TR_IMPORT_REWRITE_H

#include "util/buffer.h"

/* Code points; a negative number is no character and matches only itself. */
typedef tr_ids tr_characters;

/* A text that is being rewritten. A zeroed struct is an empty text. */
typedef struct tr_rewriting {
    tr_characters text, spare; /* spare: memory for the next text */
} tr_rewriting;

void tr_rewriting_free(tr_rewriting *r);

bool tr_characters_read(tr_characters *out, const char *text, size_t size) TR_CHECKED; /* appends valid UTF-8 */
bool tr_characters_write(const int32_t *characters, size_t count, tr_buffer *out) TR_CHECKED;
bool tr_characters_add(tr_characters *out, int32_t c) TR_CHECKED;

typedef bool tr_class(int32_t c);

/* Replaces from by to between a character of class left and one of class right, which stay; NULL: no such character is
 * needed. Matches do not overlap, these characters included. */
typedef struct tr_rule {
    tr_class *left;
    const char *from; /* UTF-8, 1 to TR_RULE_LONGEST characters */
    tr_class *right;
    const char *to; /* UTF-8 */
} tr_rule;

enum { TR_RULE_LONGEST = 8 };

/* Applies rules in order, each to the result of the one before, from left to right. */
bool tr_rewrite(tr_rewriting *r, const tr_rule *rules, size_t count) TR_CHECKED;

#define TR_COUNT(array) (sizeof(array) / sizeof *(array)) /* elements of an array */

void tr_rewrite_spaces(tr_rewriting *r); /* replaces each run of spaces by one */
void tr_rewrite_white(tr_rewriting *r);  /* replaces each run of white space by a space */
void tr_rewrite_strip(tr_rewriting *r);  /* removes white space at both ends */

/* Makes spare, which holds the new text, the text. */
void tr_rewriting_swap(tr_rewriting *r);

#endif
