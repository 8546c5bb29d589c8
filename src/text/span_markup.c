#include "text/span_scan.h"

enum {
    MARKUP_REACH = 400, /* bytes of what stands between ** and **, or [ and ] */
    LINK_REACH = 2048,  /* bytes of a link's address */
};

/* ** or ~~ around words, and both of them; i: it is something else. */
static size_t find_emphasis(tr_scan *s, size_t i, tr_span_kind *kind)
{
    const char c = s->text[i];
    if (tr_scan_at(s, i + 1) != c || tr_scan_at(s, i + 2) == c)
        return i;
    if (i && i == s->emphasis_end) {
        s->emphasis_end = 0;
        *kind = TR_SPAN_CLOSE;
        return i + 2;
    }
    if (s->emphasis_end > i || strchr(" \t\r\n", tr_scan_at(s, i + 2)))
        return i;
    for (size_t k = i + 3; k + 1 < s->size && k - i < MARKUP_REACH && !tr_is_line_end(s->text[k]); k++)
        if (s->text[k] == c && s->text[k + 1] == c && s->text[k - 1] != ' ') {
            s->emphasis_end = k;
            *kind = TR_SPAN_OPEN;
            return i + 2;
        }
    return i;
}

/* The end of ](address) or ](address "title") at text[i]; i: it is something else. */
static size_t skip_link_address(const tr_scan *s, size_t i)
{
    size_t depth = 1, k = i + 2;
    if (!tr_scan_has(s, i, "]("))
        return i;
    for (; k < s->size && k - i < LINK_REACH && depth; k++) {
        const char c = s->text[k];
        if (tr_is_line_end(c) || (c == ' ' && tr_scan_at(s, k + 1) != '"' && !memchr(s->text + i, '"', k - i)))
            return i;
        depth += c == '(';
        depth -= c == ')';
    }
    return depth || k < i + 4 ? i : k;
}

/* [words](address) and ![words](address): the bracket that opens, and all from ] on. */
static size_t find_link(tr_scan *s, size_t i, tr_span_kind *kind)
{
    if (i && i == s->link_end) {
        *kind = TR_SPAN_CLOSE;
        return skip_link_address(s, i);
    }
    size_t k = i + (s->text[i] == '!');
    if (tr_scan_at(s, k) != '[')
        return i;
    const size_t begin = ++k;
    while (k < s->size && k - i < MARKUP_REACH && !tr_is_line_end(s->text[k]) && s->text[k] != '[' && s->text[k] != ']')
        k++;
    if (k == begin || skip_link_address(s, k) == k)
        return i;
    s->link_end = k;
    *kind = TR_SPAN_OPEN;
    return begin;
}

/* What begins a line of Markdown: a heading, a quotation, an item of a list. */
static size_t find_line_mark(const tr_scan *s, size_t i)
{
    size_t k = i;
    for (size_t before = i; before && !tr_is_line_end(s->text[before - 1]); before--)
        if (s->text[before - 1] != ' ')
            return i;
    while (k - i < 6 && tr_scan_at(s, k) == '#')
        k++;
    if (k == i && strchr(">-*+", tr_scan_at(s, k)))
        k++;
    return k > i && tr_scan_at(s, k) == ' ' ? k : i;
}

/* The line between two cells of a table. */
static bool is_cell_border(const tr_scan *s, size_t i)
{
    const char before = i ? s->text[i - 1] : '\n', after = i + 1 < s->size ? s->text[i + 1] : '\n';
    return (before == ' ' || before == '|' || tr_is_line_end(before)) &&
           (after == ' ' || after == '|' || tr_is_line_end(after));
}

size_t tr_scan_markup(tr_scan *s, size_t i, tr_span_kind *kind)
{
    const char c = s->text[i];
    size_t end = i;
    if (c == '*' || c == '~')
        end = find_emphasis(s, i, kind);
    else if (c == '[' || c == ']' || c == '!')
        end = find_link(s, i, kind);
    if (end > i)
        return end;
    end = c == '|' && is_cell_border(s, i) ? i + 1 : strchr("#>-*+", c) ? find_line_mark(s, i) : i;
    *kind = end > i ? TR_SPAN_MARK : *kind;
    return end;
}
