/* Rows of words in capitals, of which networks know little: they see them in small letters, where the target language has
 * no capitals that a translation would lose. */
#ifndef TR_TEXT_CAPITALS_H
#define TR_TEXT_CAPITALS_H

#include "text/plan.h"
#include "text/spans.h"

/* Whether text[begin .. end) has, outside of its spans [count], such a row, which is none of abbreviations. */
bool tr_is_in_capitals(const tr_protection *protection, const char *text, const tr_kept_span *spans, size_t count,
                       size_t begin, size_t end);

/* Appends text[begin .. end), its rows in small letters. first: the chunk begins there. False: out of memory. */
bool tr_append_small(const char *text, size_t begin, size_t end, bool first, tr_buffer *out);

#endif
