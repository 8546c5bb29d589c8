#include "text/spans.h"

#include <string.h>

#include "tokenizer/scripts.h"
#include "text/span_scan.h"

enum {
    TAG_REACH = 8192,       /* bytes of a tag */
    PLACEHOLDER_REACH = 64, /* bytes between { and } */
    MESSAGE_REACH = 400,    /* bytes of {n, plural, …} */
    HASHTAG_REACH = 120,    /* bytes of a hashtag or an @name of other letters */
};

/* Whether a word may begin at text[i]. */
static bool may_begin(const tr_scan *s, size_t i)
{
    return i == 0 || !tr_is_identifier(s->text[i - 1]);
}

/* --------------------------------------------------------------------------------------------------- marks that pair up */

static size_t find_code(tr_scan *s, size_t i, size_t *next)
{
    size_t marks = 0;
    while (tr_scan_at(s, i + marks) == '`')
        marks++;
    *next = i + marks;
    if (marks > TR_CODE_MARKS || i < s->no_code_end[marks])
        return i;
    for (size_t k = i + marks; k < s->size && !tr_is_line_end(s->text[k]);) {
        size_t run = 0;
        while (tr_scan_at(s, k + run) == '`')
            run++;
        if (run == marks && k > i + marks)
            return k + run;
        k += run ? run : 1;
        s->no_code_end[marks] = k; /* none before it; up to the line's end if the loop ends */
    }
    return i;
}

/* The end of <…>; i: it is no tag. */
static size_t find_tag(tr_scan *s, size_t i, tr_span_kind *kind)
{
    size_t k = i + 1;
    const bool closes = tr_scan_at(s, k) == '/';
    k += closes;
    if (tr_scan_has(s, i, "<!--")) {
        *kind = TR_SPAN_EMPTY;
    } else if (tr_scan_at(s, k) == '%' || tr_scan_at(s, k) == '?' || tr_scan_at(s, k) == '!') {
        *kind = TR_SPAN_EMPTY;
    } else if (!tr_is_ascii_letter(tr_scan_at(s, k))) {
        return i;
    } else {
        while (tr_is_identifier(tr_scan_at(s, k)) || tr_scan_at(s, k) == ':' || tr_scan_at(s, k) == '-')
            k++;
        if (tr_scan_at(s, k) != '>' && tr_scan_at(s, k) != '/' && tr_scan_at(s, k) != ' ' && tr_scan_at(s, k) != '\t')
            return i;
        *kind = closes ? TR_SPAN_CLOSE : TR_SPAN_OPEN;
    }
    if (i < s->no_tag_end)
        return i;
    char quote = 0;
    for (; k < s->size && k - i < TAG_REACH && !tr_is_line_end(s->text[k]); k++) {
        const char c = s->text[k];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if ((c == '"' || c == '\'') && s->text[k - 1] == '=')
            quote = c;
        else if (c == '<')
            return i;
        else if (c == '>') {
            if (*kind == TR_SPAN_OPEN && s->text[k - 1] == '/')
                *kind = TR_SPAN_EMPTY;
            return k + 1;
        }
    }
    if (!quote && k - i < TAG_REACH)
        s->no_tag_end = k;
    return i;
}

/* Elements that have no end tag. */
static bool is_void_element(const tr_scan *s, size_t i)
{
    static const char names[] = " area base br col embed hr img input link meta source track wbr ";
    char name[10] = " ";
    size_t length = 0;
    while (length < 7 && tr_is_ascii_letter(tr_scan_at(s, i + 1 + length))) {
        name[length + 1] = (char)(s->text[i + 1 + length] | 0x20);
        length++;
    }
    name[length + 1] = ' ';
    return !tr_is_identifier(tr_scan_at(s, i + 1 + length)) && strstr(names, name) != NULL;
}

static size_t find_entity(const tr_scan *s, size_t i)
{
    size_t k = i + 1;
    if (tr_scan_at(s, k) == '#')
        k++;
    while (k - i < 32 && (tr_is_ascii_letter(tr_scan_at(s, k)) || tr_is_ascii_digit(tr_scan_at(s, k))))
        k++;
    return tr_scan_at(s, k) == ';' && k > i + 2 ? k + 1 : i;
}

/* Whether {name, plural, … begins at text[i] (ICU MessageFormat). */
static bool is_message_format(const tr_scan *s, size_t i)
{
    size_t k = i + 1;
    while (tr_is_identifier(tr_scan_at(s, k)))
        k++;
    if (k == i + 1 || tr_scan_at(s, k) != ',')
        return false;
    k += 1 + (tr_scan_at(s, k + 1) == ' ');
    return tr_scan_has(s, k, "plural") || tr_scan_has(s, k, "select");
}

/* Whether a Chinese mark between parts of a sentence stands at text[i]. */
static bool has_clause_mark(const tr_scan *s, size_t i)
{
    return tr_scan_has(s, i, "、") || tr_scan_has(s, i, "，") || tr_scan_has(s, i, "。") || tr_scan_has(s, i, "；");
}

/* The end of {…} at text[i], braces inside included; not of prose or of data, {"name": "x"}. */
static size_t find_braces(const tr_scan *s, size_t i)
{
    int depth = 0;
    bool spaced = false, foreign = false;
    const bool is_message = is_message_format(s, i); /* {n, plural, other {# 项}} */
    for (size_t k = i;
         k < s->size && k - i < (is_message ? MESSAGE_REACH : PLACEHOLDER_REACH + 4) && !tr_is_line_end(s->text[k]); k++) {
        const char c = s->text[k];
        depth += (c == '{') - (c == '}');
        spaced = spaced || c == ' ';
        foreign = foreign || (unsigned char)c >= 0x80;
        if (c == '"' || (spaced && foreign && !is_message) || has_clause_mark(s, k))
            return i;
        if (!depth)
            return k + 1;
    }
    return i;
}

/* Whether at most two letters stand at text[i], as in %dMB. */
static bool is_unit(const tr_scan *s, size_t i)
{
    size_t k = i;
    while (k - i < 3 && tr_is_ascii_letter(tr_scan_at(s, k)))
        k++;
    return k - i < 3 && (tr_scan_at(s, k) != '%' || tr_scan_at(s, k + 1) == '%');
}

/* %s, %1$d, %(name)s, %%, %1, %name% */
static size_t find_percent(const tr_scan *s, size_t i)
{
    size_t k = i + 1;
    if (i && tr_is_ascii_digit(s->text[i - 1]) && tr_scan_at(s, k) != '%')
        return i; /* 50%d */
    if (tr_scan_at(s, k) == '%')
        return k + 1;
    if (tr_scan_at(s, k) == '(') {
        while (k - i < PLACEHOLDER_REACH && tr_scan_at(s, k) && tr_scan_at(s, k) != ')' && !tr_is_line_end(tr_scan_at(s, k)))
            k++;
        if (tr_scan_at(s, k) != ')')
            return i;
        k++;
    } else if (tr_scan_at(s, k) == '{') {
        return find_braces(s, k) > k ? find_braces(s, k) : i;
    }
    size_t start = k;
    while (k - i < 12 && tr_scan_at(s, k) && strchr("-+#0123456789.*$'", tr_scan_at(s, k)))
        k++;
    while (k - i < 14 && tr_scan_at(s, k) && strchr("hlLqzjt", tr_scan_at(s, k)))
        k++;
    if (tr_scan_at(s, k) && strchr("diouxXeEfFgGcspnaA@", tr_scan_at(s, k)) && (s->text[k - 1] == ')' || is_unit(s, k + 1)))
        return k + 1;
    for (k = start; tr_is_ascii_digit(tr_scan_at(s, k)) && k < start + 2; k++)
        ;
    if (k > start && !tr_is_identifier(tr_scan_at(s, k)) && tr_scan_at(s, k) != '.')
        return k; /* %1 */
    for (k = start; tr_is_identifier(tr_scan_at(s, k)) && k - i < PLACEHOLDER_REACH; k++)
        ;
    return k > start + 1 && tr_scan_at(s, k) == '%' ? k + 1 : i; /* %name% */
}

/* [[id]] */
static size_t find_double_brackets(const tr_scan *s, size_t i)
{
    size_t k = i + 2;
    if (tr_scan_at(s, i + 1) != '[')
        return i;
    while (k - i < PLACEHOLDER_REACH &&
           (tr_is_identifier(tr_scan_at(s, k)) || (tr_scan_at(s, k) && strchr(" .:|-", tr_scan_at(s, k)))))
        k++;
    return k > i + 2 && tr_scan_has(s, k, "]]") ? k + 2 : i;
}

/* *.log, *100# */
static size_t find_star(const tr_scan *s, size_t i)
{
    size_t k = i + 1;
    if (tr_scan_at(s, k) == '.' && tr_is_ascii_letter(tr_scan_at(s, k + 1))) {
        for (k++; tr_is_ascii_word(tr_scan_at(s, k)); k++)
            ;
        return k;
    }
    while (tr_is_ascii_digit(tr_scan_at(s, k)) || (k > i + 1 && tr_scan_at(s, k) == '*'))
        k++;
    return k > i + 1 && tr_scan_at(s, k) == '#' ? k + 1 : i;
}

static size_t find_dollar(const tr_scan *s, size_t i)
{
    size_t k = i + 1;
    if (tr_scan_at(s, k) == '{')
        return find_braces(s, k) > k ? find_braces(s, k) : i;
    if (!tr_is_ascii_letter(tr_scan_at(s, k)) && tr_scan_at(s, k) != '_')
        return i;
    while (tr_is_identifier(tr_scan_at(s, k)))
        k++;
    return k;
}

/* ----------------------------------------------------------------------------------------------------- hashtags, names */

/* The end of the letters of any script from text[i] on, if white space, a mark or the end follows them soon; else i. */
static size_t skip_letters(const tr_scan *s, size_t i)
{
    size_t length, k = i;
    while (k < s->size && k - i < HASHTAG_REACH) {
        const int32_t c = tr_character(s->text, s->size, k, &length);
        if (!(c < 0x80 ? tr_is_identifier((char)c) || c == '-' : tr_is_any_letter(c)))
            return k;
        k += length;
    }
    return k == s->size ? k : i;
}

/* Whether a name in other letters ends at byte end: before white space, or, if it is short, before a mark. */
static bool ends_name(const tr_scan *s, size_t begin, size_t end)
{
    size_t length;
    const int32_t c = tr_character(s->text, s->size, end, &length);
    return end == s->size || tr_is_space(c) || c == '@' ||
           (end - begin < 20 &&
            (tr_is_clause_mark(c) || tr_is_strong_mark(c) || tr_is_closer(c) || tr_is_bang(c) || c == 0xff5c));
}

/* Whether an odd number of # stands from text[i] on in its line, nearby. */
static bool is_odd(const tr_scan *s, size_t i)
{
    bool odd = false;
    for (size_t k = i; k < s->size && k - i < 4 * HASHTAG_REACH && !tr_is_line_end(s->text[k]); k++)
        odd ^= s->text[k] == '#';
    return odd;
}

/* The end of #话题#, which has no marks of a sentence inside; i: it is something else. */
static size_t skip_topic(const tr_scan *s, size_t i)
{
    size_t length, digits = i + 1;
    while (tr_is_ascii_digit(tr_scan_at(s, digits)))
        digits++;
    const bool is_number = digits > i + 1 && (unsigned char)tr_scan_at(s, digits) >= 0xe3; /* #302里 */
    for (size_t k = i + 1; k < s->size && k - i < HASHTAG_REACH; k += length) {
        const int32_t c = tr_character(s->text, s->size, k, &length);
        if (c == '#')
            return k > i + 1 && !tr_is_identifier(tr_scan_at(s, k + 1)) && !(is_number && is_odd(s, i)) ? k + 1 : i;
        if (tr_is_space(c) || tr_is_clause_mark(c) || tr_is_strong_mark(c))
            return i;
    }
    return i;
}

/* #话题#, #123, #A1234-5678, #topic; #{x} */
static size_t find_hash(const tr_scan *s, size_t i)
{
    if (tr_scan_at(s, i + 1) == '{')
        return find_braces(s, i + 1) > i + 1 ? find_braces(s, i + 1) : i;
    if (tr_scan_at(s, i + 1) == ' ' || tr_scan_at(s, i + 1) == '#')
        return i;
    size_t k = skip_topic(s, i);
    if (k > i)
        return k;
    k = i + 1;
    while (tr_is_identifier(tr_scan_at(s, k)) || (tr_scan_at(s, k) == '-' && tr_is_identifier(tr_scan_at(s, k + 1))))
        k++;
    if (k > i + 1)
        return k;
    k = skip_letters(s, i + 1);
    return k > i + 1 && (tr_scan_at(s, k) == '#' || ends_name(s, i, k)) ? k : i;
}

/* The end of a Chinese name from text[i] on: before a word that no name has after its second character. *ends: it is there.
 */
static size_t skip_name(const tr_scan *s, size_t i, bool *ends)
{
    static const char words[] = "和与跟及的在是了请你我他她它说也都把被给来去让有";
    const size_t end = skip_letters(s, i);
    *ends = false;
    for (size_t k = i + 6; k + 3 <= end && (unsigned char)s->text[i] >= 0xe3; k += 3)
        for (size_t w = 0; w + 1 < sizeof words; w += 3)
            if (memcmp(s->text + k, words + w, 3) == 0) {
                *ends = true;
                return k;
            }
    return end;
}

/* @name. Names in other letters end at white space or a mark, or before some words. */
static size_t find_at_name(const tr_scan *s, size_t i)
{
    if (tr_scan_at(s, i + 1) == '{')
        return find_braces(s, i + 1) > i + 1 ? find_braces(s, i + 1) : i;
    size_t k = i + 1;
    while (tr_is_identifier(tr_scan_at(s, k)) ||
           ((tr_scan_at(s, k) == '.' || tr_scan_at(s, k) == '-' || tr_scan_at(s, k) == '/') &&
            tr_is_identifier(tr_scan_at(s, k + 1))))
        k++;
    if (k > i + 1)
        return k;
    bool ends;
    k = skip_name(s, i + 1, &ends);
    return k > i + 1 && (ends || ends_name(s, i, k)) ? k : i;
}

/* ------------------------------------------------------------------------------------------------------------- the scan */

/* The line of a form where something is written: ____. */
static size_t find_blank(const tr_scan *s, size_t i)
{
    static const char wide[] = "\xef\xbc\xbf";
    size_t end = i;
    if (tr_scan_at(s, i) == '_') {
        while (tr_scan_at(s, end) == '_')
            end++;
        const bool glued = (i && tr_is_identifier(s->text[i - 1])) || tr_is_ascii_word(tr_scan_at(s, end));
        return end - i >= 3 && !glued ? end : i;
    }
    while (s->size - end >= sizeof wide - 1 && tr_scan_has(s, end, wide))
        end += sizeof wide - 1;
    return end;
}

/* The end of the span that begins at text[i]; i: none. *next: where the scan goes on if there is none. */
static size_t find_span(tr_scan *s, size_t i, tr_span_kind *kind, size_t *next)
{
    const char c = s->text[i];
    size_t end = i;
    if ((unsigned char)c >= 0xe4 && (unsigned char)c <= 0xed) /* Han, Hangul: no signs among them */
        return i;
    if ((end = find_blank(s, i)) > i) {
        *kind = TR_SPAN_MARK;
        return end;
    }
    *kind = TR_SPAN_WORD;
    if (c && strchr("*~[]!|#>-+", c) && (end = tr_scan_markup(s, i, kind)) > i)
        return end;
    switch (c) {
    case '`': return find_code(s, i, next);
    case '<':
        end = find_tag(s, i, kind);
        if (end > i && *kind == TR_SPAN_OPEN && is_void_element(s, i))
            *kind = TR_SPAN_EMPTY;
        return end;
    case '&':
        end = find_entity(s, i);
        if (tr_scan_has(s, i, "&nbsp;"))
            *kind = TR_SPAN_MARK;
        return end;
    case '{': return find_braces(s, i);
    case '[': return find_double_brackets(s, i);
    case '=': *kind = TR_SPAN_MARK; return i + 1;
    case '%':
        end = find_percent(s, i);
        if (end > i && !memchr(s->text + i, '$', end - i) && tr_scan_at(s, i + 1) != '(' && tr_scan_at(s, i + 1) != '{' &&
            !tr_is_ascii_digit(s->text[end - 1]) && s->text[end - 1] != '%')
            *kind = TR_SPAN_PRINTF;
        return end;
    case '$': return find_dollar(s, i);
    case '#':
        if ((end = tr_scan_emoji(s, i)) > i) {
            *kind = TR_SPAN_MARK;
            return end;
        }
        return may_begin(s, i) ? find_hash(s, i) : i;
    case '@': return may_begin(s, i) ? find_at_name(s, i) : i;
    default: break;
    }
    if (c == '\\' && may_begin(s, i) && tr_scan_at(s, i + 1) && strchr("nrt", tr_scan_at(s, i + 1)) &&
        !tr_is_identifier(tr_scan_at(s, i + 2))) {
        *kind = TR_SPAN_MARK;
        return i + 2;
    }
    if ((unsigned char)c >= 0x80 || tr_is_ascii_digit(c) || c == '*') {
        end = tr_scan_emoji(s, i);
        if (end > i) {
            const size_t name = tr_scan_name_after(s, i, end);
            *kind = name > end || (unsigned char)c < 0x80 ? TR_SPAN_WORD : TR_SPAN_MARK; /* keycaps stand as words */
            return name;
        }
    }
    if (c == '*' && (end = find_star(s, i)) > i)
        return end;
    if ((unsigned char)c >= 0x80)
        return tr_scan_symbol(s, i, kind);
    if (!may_begin(s, i))
        return i;
    end = tr_is_ascii_capital(c) ? tr_scan_mail_time(s, i) : i;
    if (end == i)
        end = tr_scan_address(s, i);
    if (end == i && (tr_is_ascii_digit(c) || (c == '+' && tr_is_ascii_digit(tr_scan_at(s, i + 1)))))
        end = tr_scan_long_number(s, i);
    if (end > i)
        return end;
    if (tr_is_identifier(c) ||
        (strchr("./~\\-", c) && (tr_is_identifier(tr_scan_at(s, i + 1)) || strchr("./\\-", tr_scan_at(s, i + 1)))))
        return tr_scan_word(s, i, next);
    return i;
}

static bool is_wordlike(tr_span_kind kind)
{
    return kind == TR_SPAN_WORD || kind == TR_SPAN_PRINTF;
}

/* Whether only marks without white space lie between two spans, as in {a}-{b}: then they are one. */
static bool is_joined(const tr_scan *s, size_t from, size_t to)
{
    if (to - from > 3)
        return false;
    for (size_t i = from; i < to; i++)
        if (!strchr("-/:.,@=_+&%()", s->text[i]))
            return false;
    return true;
}

static tr_status add_span(tr_scan *s, tr_kept_span span, tr_error *error)
{
    tr_kept_span *last = NULL;
    if (s->spans->size)
        last = (tr_kept_span *)(void *)(s->spans->data + s->spans->size - sizeof *last);
    if (last && last->kind == TR_SPAN_MARK && span.kind == TR_SPAN_MARK && last->end == span.begin &&
        (unsigned char)s->text[span.begin] >= 0xf0 && (unsigned char)s->text[last->begin] >= 0xf0) { /* a row of emoji */
        last->end = span.end;
        return TR_OK;
    }
    if (last && is_wordlike(last->kind) && is_wordlike(span.kind) && is_joined(s, last->end, span.begin)) {
        last->end = span.end;
        last->kind = last->kind == TR_SPAN_PRINTF || span.kind == TR_SPAN_PRINTF ? TR_SPAN_PRINTF : TR_SPAN_WORD;
        return TR_OK;
    }
    return tr_buffer_append(s->spans, &span, sizeof span) ? TR_OK : tr_fail_memory(error, "protected spans");
}

/* Where the number before ° at text[degree] begins, perhaps with a space between them: 25.5 °C, -3°; else degree. */
static size_t begin_of_degrees(const tr_scan *s, size_t degree, size_t from)
{
    size_t begin = degree;
    if (begin > from && s->text[begin - 1] == ' ')
        begin--;
    if (begin == from || !tr_is_ascii_digit(s->text[begin - 1]))
        return degree;
    while (begin > from &&
           (tr_is_ascii_digit(s->text[begin - 1]) || ((s->text[begin - 1] == '.' || s->text[begin - 1] == ',') &&
                                                      begin > from + 1 && tr_is_ascii_digit(s->text[begin - 2]))))
        begin--;
    const bool is_signed =
        begin > from && s->text[begin - 1] == '-' && (begin - 1 == from || !tr_is_identifier(s->text[begin - 2]));
    return begin - is_signed;
}

/* What is glued to a span belongs to it: v{version}, {count}px, {x}%. */
static tr_kept_span with_glued(const tr_scan *s, tr_kept_span span, size_t from)
{
    if (!is_wordlike(span.kind) || s->text[span.begin] == '`' || s->text[span.begin] == '&')
        return span;
    if (tr_scan_has(s, span.begin, "°"))
        span.begin = begin_of_degrees(s, span.begin, from);
    while (span.begin > from && tr_is_identifier(s->text[span.begin - 1]))
        span.begin--;
    if (s->text[span.end - 1] == '}' || s->text[span.end - 1] == ')')
        while (span.end < s->size && tr_is_identifier(s->text[span.end]))
            span.end++;
    if (tr_scan_has(s, span.end, "%%"))
        span.end += 2;
    else if (tr_scan_at(s, span.end) == '%' && !tr_is_ascii_letter(tr_scan_at(s, span.end + 1)))
        span.end++;
    return span;
}

tr_status tr_spans_find(const char *text, size_t size, tr_buffer *spans, tr_error *error)
{
    tr_scan s = {.text = text, .size = size, .spans = spans};
    size_t from = 0; /* the end of the last span */
    for (size_t i = 0; i < size;) {
        tr_kept_span span = {.begin = i};
        size_t next = i + 1;
        span.end = find_span(&s, i, &span.kind, &next);
        if (span.end == i) {
            while (next < size && ((unsigned char)text[next] & 0xc0) == 0x80)
                next++;
            i = next;
            continue;
        }
        span = with_glued(&s, span, from);
        const tr_status status = add_span(&s, span, error);
        if (status != TR_OK)
            return status;
        i = from = span.end;
    }
    return TR_OK;
}
