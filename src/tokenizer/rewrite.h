/* A text as characters, and rules that rewrite it, one after the other over the whole text: what a list of regular
 * expressions does in other tokenizers. Every function that returns a bool returns false where memory runs out. */
#ifndef TR_TOKENIZER_REWRITE_H
#define TR_TOKENIZER_REWRITE_H

#include "util/buffer.h"

/* Code points; negative numbers stand for what is no character and matches nothing but itself. */
typedef tr_ids tr_characters;

/* A text that is being rewritten; zeroed: an empty one. */
typedef struct tr_rewriting {
    tr_characters text, spare; /* spare: memory for the next text */
} tr_rewriting;

void tr_rewriting_free(tr_rewriting *r);

bool tr_characters_read(tr_characters *out, const char *text, size_t size) TR_CHECKED; /* appends valid UTF-8 */
bool tr_characters_write(const int32_t *characters, size_t count, tr_buffer *out) TR_CHECKED;
bool tr_characters_add(tr_characters *out, int32_t c) TR_CHECKED;

typedef bool tr_class(int32_t c);

/* A character of the class before, then from, then one of the class behind; from becomes to, the two stay. NULL: no such
 * character is asked for. A match takes all three: the next one starts behind them. */
typedef struct tr_rule {
    tr_class *before;
    const char *from; /* UTF-8, 1 to TR_RULE_LONGEST characters */
    tr_class *behind;
    const char *to; /* UTF-8 */
} tr_rule;

enum { TR_RULE_LONGEST = 8 };

/* From left to right, each rule on what the one before has left. */
bool tr_rewrite(tr_rewriting *r, const tr_rule *rules, size_t count) TR_CHECKED;

#define TR_COUNT(array) (sizeof(array) / sizeof *(array)) /* of a table's elements */

void tr_rewrite_spaces(tr_rewriting *r); /* a space for each run of spaces */
void tr_rewrite_white(tr_rewriting *r);  /* a space for each run of white space */
void tr_rewrite_strip(tr_rewriting *r);  /* no white space at both ends */

/* Makes spare the text, once it is written. */
void tr_rewriting_swap(tr_rewriting *r);

#endif
