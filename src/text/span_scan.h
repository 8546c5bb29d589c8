/* What the scan for protected spans consists of; see spans.h. Each function looks at text[i] and returns the end of the span
 * that begins there, or i if none does. */
#ifndef TR_TEXT_SPAN_SCAN_H
#define TR_TEXT_SPAN_SCAN_H

#include <string.h>

#include "text/spans.h"
#include "util/utf8.h"

enum { TR_CODE_MARKS = 3 }; /* backticks around code, at most */

typedef struct tr_scan {
    const char *text;
    size_t size;
    tr_buffer *spans;
    /* From these bytes on, up to the end of their line, there is none: scanned once, not again from each opening mark. */
    size_t no_tag_end, no_code_end[TR_CODE_MARKS + 1];
    size_t no_number_end;          /* before it, no number of a telephone or account begins */
    size_t no_groups_end;          /* nor groups of hexadecimal digits */
    size_t emphasis_end, link_end; /* where the ** and the ] that close begin; 0: none is open */
} tr_scan;

static inline char tr_scan_at(const tr_scan *s, size_t i)
{
    return i < s->size ? s->text[i] : 0;
}

static inline bool tr_is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static inline bool tr_scan_has(const tr_scan *s, size_t i, const char *text)
{
    const size_t length = strlen(text);
    return s->size - i >= length && memcmp(s->text + i, text, length) == 0;
}

/* span_words.c: web addresses; times of mail and feeds; numbers of telephones and accounts; mail addresses, paths,
 * identifiers. *next: where the scan goes on if there is none. */
size_t tr_scan_address(const tr_scan *s, size_t i);
size_t tr_scan_mail_time(const tr_scan *s, size_t i);
size_t tr_scan_long_number(tr_scan *s, size_t i);
size_t tr_scan_word(tr_scan *s, size_t i, size_t *next);

/* span_signs.c: an emoji with all that belongs to it; the name that it begins, if it ends at byte emoji; other signs. */
size_t tr_scan_emoji(const tr_scan *s, size_t i);
size_t tr_scan_name_after(const tr_scan *s, size_t i, size_t emoji);
size_t tr_scan_symbol(const tr_scan *s, size_t i, tr_span_kind *kind);

/* span_markup.c: Markdown. */
size_t tr_scan_markup(tr_scan *s, size_t i, tr_span_kind *kind);

#endif
