/* Text to words and back as by Moses' scripts (normalize-punctuation, tokenizer, detokenizer) in the version of sacremoses,
 * which Argos Translate uses. A language is a code of two letters ("en"); one without rules of its own gets the common
 * rules. All functions return false if memory runs out. */
#ifndef TR_IMPORT_MOSES_H
#define TR_IMPORT_MOSES_H

#include "import/rewrite.h"

/* Replaces typographic quotes, dashes and dots in r->text by plain ones, and normalises the spaces around them. */
bool tr_moses_normalise(tr_rewriting *r, const char *language);

/* Appends the words of r->text, which include punctuation marks, separated by spaces. & | < > ' " [ ] are escaped as in XML:
 * &amp; &#124; &lt; &gt; &apos; &quot; &#91; &#93;. r->text is undefined afterwards. */
bool tr_moses_split(tr_rewriting *r, const char *language, tr_buffer *words);

/* Replaces r->text, words separated by white space, by the text that they make. */
bool tr_moses_join(tr_rewriting *r, const char *language);

#endif
