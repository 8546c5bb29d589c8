/* Markdown: hides from md4c, in a copy of the text, what CommonMark does not have but writers use. Places stay, but for rows
 * of dashes. */
#include "document/markdown.h"

#include <stdlib.h>
#include <string.h>

/* What a cell of a row of dashes has more for md4c, which wants three in each under a table's head. */
static const char added[] = "--";
enum { ADDED = sizeof added - 1 };

uint32_t tr_markdown_place_of(tr_markdown_mask *s, size_t parsed)
{
    /* Number i is in the mask after ADDED * i bytes more than in the source. */
    const uint32_t *places = (const uint32_t *)(const void *)s->added.data;
    const size_t count = s->added.size / sizeof *places;
    while (s->passed < count && places[s->passed] + ADDED * s->passed <= parsed)
        s->passed++;
    while (s->passed && places[s->passed - 1] + ADDED * (s->passed - 1) > parsed)
        s->passed--;
    const uint32_t last = s->passed ? places[s->passed - 1] : 0;
    return parsed < last + ADDED * s->passed ? last : (uint32_t)(parsed - ADDED * s->passed);
}

/* Whether the line at text[at] begins with `sign`, after what quotes it. *words: where that is. */
static bool line_has(const tr_markdown_mask *s, uint32_t at, uint32_t end, const char *sign, uint32_t *words)
{
    *words = tr_markdown_skip_prefix(s->source, at, end);
    return end - *words >= strlen(sign) && memcmp(s->source + *words, sign, strlen(sign)) == 0;
}

static bool is_rest_blank(const tr_markdown_mask *s, uint32_t at, uint32_t end)
{
    while (at < end && tr_markdown_is_blank(s->source[at]))
        at++;
    return at == end;
}

/* Hides in a line of the copy, whose bytes have the places of the text's, what CommonMark does not have but writers use:
 * footnotes are no links but items of lists, formulas have no emphasis, and lines $$ and ::: are no paragraphs (they become
 * <? and ?>, between which HTML has anything). *formula: the place of the $$ that has no partner yet; UINT32_MAX: there is
 * none. */
static void mask_line(const tr_markdown_mask *s, uint32_t begin, uint32_t end, char *masked, uint32_t *formula)
{
    uint32_t words; /* where they begin in the line, after what quotes it */
    if (line_has(s, begin, end, "$$", &words) && is_rest_blank(s, words + 2, end)) {
        if (*formula != UINT32_MAX) {
            memcpy(masked + *formula, "<?", 2);
            memcpy(masked + words, "?>", 2);
        }
        *formula = *formula != UINT32_MAX ? UINT32_MAX : words;
        return;
    }
    if (line_has(s, begin, end, "<textarea", &words))
        memcpy(masked + words, "<style   ", 9);
    if (line_has(s, begin, end, ":::", &words)) {
        masked[words] = '<';
        masked[words + 1] = '?';
        if (end - words >= 4)
            masked[end - 2] = '?';
        masked[end - 1] = '>';
        return;
    }
    for (uint32_t at = begin; at < end; at++) {
        if (s->source[at] == '\\') {
            at++;
        } else if (s->source[at] == '[' && end - at > 4 && s->source[at + 1] == '^') {
            const size_t stop = tr_markdown_bare_end(s->source, at, end, at);
            if (stop > at && s->source[stop - 1] == ':')
                memcpy(masked + at, at == words ? "+ " : "(^", 2);
        } else if (s->source[at] == '$') {
            const uint32_t stop = (uint32_t)tr_markdown_bare_end(s->source, begin, end, at);
            for (; stop > at && at + 1 < stop; at++)
                if (at > begin && strchr("*_[]<>~!&\\", s->source[at]))
                    masked[at] = 'x';
        } else if (end - at >= 11 && memcmp(s->source + at, "</textarea>", 11) == 0) {
            memcpy(masked + at, "</style>   ", 11);
        }
    }
}

/* Comments with -- inside, and <!-->, are comments to CommonMark since 0.31. */
static void mask_comments(const tr_markdown_mask *s, char *masked)
{
    for (uint32_t at = 0, end; (at = tr_markdown_find(s->source, s->size, at, "<!--")) != 0; at = end) {
        end = tr_markdown_comment_end(s->source, s->size, at - 4);
        if (!end)
            return;
        if (end < at + 3) {
            memset(masked + at - 3, 'x', end - at + 2);
            continue;
        }
        for (uint32_t i = at; i + 3 < end; i++)
            if (s->source[i] == '-' && (s->source[i + 1] == '-' || i == at || i + 4 == end))
                masked[i] = 'x';
            else if (s->source[i] == '>' && i == at)
                masked[i] = 'x';
    }
}

/* Whether a line is one of dashes under a table's head. */
static bool is_dashes(const tr_markdown_mask *s, uint32_t begin, uint32_t end)
{
    bool pipe = false, dash = false;
    if (tr_markdown_skip_list_sign(s->source, s->size, begin) > begin)
        return false;
    for (; begin < end && s->source[begin] && strchr("-:| \t", s->source[begin]); begin++) {
        pipe |= s->source[begin] == '|';
        dash |= s->source[begin] == '-';
    }
    return begin == end && pipe && dash;
}

/* Appends such a line, with two dashes more in each cell that has fewer than three. */
static bool append_dashes(tr_markdown_mask *s, const char *masked, uint32_t begin, uint32_t end)
{
    uint32_t dashes = 0;
    bool good = true;
    for (uint32_t i = begin; i < end && good; i++) {
        good = tr_buffer_append(&s->text, masked + i, 1);
        dashes = masked[i] == '-' ? dashes + 1 : 0;
        if (dashes && dashes < 3 && (i + 1 == end || masked[i + 1] != '-'))
            good = good && tr_buffer_append(&s->text, added, ADDED) && tr_buffer_append(&s->added, &(uint32_t){i + 1}, 4);
    }
    return good;
}

bool tr_markdown_mask_text(const char *text, uint32_t size, tr_markdown_mask *s)
{
    s->source = text;
    s->size = size;
    char *masked = tr_copy_bytes(s->source, s->size);
    uint32_t formula = UINT32_MAX;
    bool good = masked;
    if (masked)
        mask_comments(s, masked);
    for (uint32_t begin = 0, end; masked && begin < s->size; begin = end + 1) {
        const char *newline = memchr(s->source + begin, '\n', s->size - begin);
        end = newline ? (uint32_t)(newline - s->source) : s->size;
        const bool returns = end > begin && s->source[end - 1] == '\r';
        mask_line(s, begin, end - returns, masked, &formula);
    }
    for (uint32_t begin = 0, end; good && begin < s->size; begin = end + 1) {
        const char *newline = memchr(s->source + begin, '\n', s->size - begin);
        end = newline ? (uint32_t)(newline - s->source) : s->size;
        const uint32_t words = tr_markdown_skip_prefix(s->source, begin, end),
                       last = end - (end > words && s->source[end - 1] == '\r');
        good = tr_buffer_append(&s->text, masked + begin, words - begin) &&
               (is_dashes(s, words, last) ? append_dashes(s, masked, words, last)
                                          : tr_buffer_append(&s->text, masked + words, last - words)) &&
               tr_buffer_append(&s->text, masked + last, end - last + (newline != NULL));
    }
    free(masked);
    return good;
}
