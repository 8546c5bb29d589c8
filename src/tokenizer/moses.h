/* Text to words and back as Moses' scripts do it (normalize-punctuation, tokenizer, detokenizer), in sacremoses's edition,
 * which Argos Translate calls. A language is a code of two letters ("en"); what none of the rules knows is cut by those that
 * hold for all. False: out of memory. */
#ifndef TR_TOKENIZER_MOSES_H
#define TR_TOKENIZER_MOSES_H

#include "tokenizer/rewrite.h"

/* Plain quotes, dashes and dots for typographic ones, and the spaces about them: r->text is replaced. */
bool tr_moses_normalise(tr_rewriting *r, const char *language);

/* Appends the words of r->text, punctuation marks among them, each behind a space but the first. & | < > ' " [ ] are
 * written as in XML: &amp; &#124; &lt; &gt; &apos; &quot; &#91; &#93;. r->text is used up. */
bool tr_moses_split(tr_rewriting *r, const char *language, tr_buffer *words);

/* The text of words that are separated by white space, r->text: it is replaced. */
bool tr_moses_join(tr_rewriting *r, const char *language);

#endif
