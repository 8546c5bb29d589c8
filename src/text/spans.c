#include "text/spans.h"

#include <string.h>

#include "text/language_letters.h"
#include "util/utf8.h"

enum {
    CODE_MARKS = 3,         /* backticks around code, at most */
    PLACEHOLDER_REACH = 64, /* bytes between { and } */
    HASHTAG_REACH = 120,    /* bytes of a hashtag or an @name of other letters */
    LONG_NUMBER = 6,        /* digits of a telephone or account number, at least */
    MARKUP_REACH = 400,     /* bytes of what stands between ** and **, or [ and ] */
    LINK_REACH = 2048,      /* bytes of a link's address */
    OPEN_TAGS = 64,         /* tags that are open at a time; the outermost are forgotten */
};

typedef struct scan {
    const char *text;
    size_t size;
    tr_buffer *spans;
    /* From these bytes on, up to the end of their line, there is none: scanned once, not again from each opening mark. */
    size_t no_tag_end, no_code_end[CODE_MARKS + 1];
    size_t no_number_end;          /* before it, no number of a telephone or account begins */
    size_t emphasis_end, link_end; /* where the ** and the ] that close begin; 0: none is open */
} scan;

/* ---------------------------------------------------------------------------------------------------------- characters */

static char at(const scan *s, size_t i)
{
    return i < s->size ? s->text[i] : 0;
}

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static bool starts_with(const scan *s, size_t i, const char *with)
{
    const size_t length = strlen(with);
    return s->size - i >= length && memcmp(s->text + i, with, length) == 0;
}

/* Whether a word may begin at text[i]. */
static bool at_start(const scan *s, size_t i)
{
    return i == 0 || !tr_is_identifier(s->text[i - 1]);
}

/* The end of the characters from text[i] on that may stand in a web address: printable ASCII. */
static size_t skip_address_characters(const scan *s, size_t i)
{
    while (i < s->size && s->text[i] > ' ' && s->text[i] < 0x7f && !strchr("\"<>`", s->text[i]))
        i++;
    return i;
}

/* Without marks of the sentence at its end; a closing bracket stays if it closes one of the span's own. */
static size_t trim_marks(const scan *s, size_t begin, size_t end)
{
    int open = 0;
    for (size_t i = begin; i < end; i++)
        open += (s->text[i] == '(') - (s->text[i] == ')');
    while (end > begin) {
        const char c = s->text[end - 1];
        if (c == ')' && open < 0)
            open++;
        else if (c == ')' || !strchr(".,;:!?]'*|", c))
            break;
        end--;
    }
    return end;
}

/* ------------------------------------------------------------------------------- addresses, paths, words with marks inside
 */

/* http:// and the like. */
static size_t skip_scheme(const scan *s, size_t i)
{
    size_t end = i;
    while (end < s->size && end - i < 20 &&
           (tr_is_ascii_letter(s->text[end]) || (end > i && strchr("+.-0123456789", s->text[end]))))
        end++;
    return end > i + 1 && starts_with(s, end, "://") ? end + 3 : i;
}

static size_t find_address(const scan *s, size_t i)
{
    const size_t scheme = skip_scheme(s, i);
    if (scheme > i || starts_with(s, i, "www.") || starts_with(s, i, "mailto:") || starts_with(s, i, "data:image/")) {
        const size_t end = trim_marks(s, i, skip_address_characters(s, i));
        return end > scheme && end > i + 5 ? end : i;
    }
    return i;
}

/* A run of letters, digits and some marks, in which a word of a program or an address is looked for. */
static bool is_word_character(char c)
{
    return tr_is_identifier(c) || (c && strchr(".-+@/\\:~", c));
}

typedef struct word_shape {
    size_t digits, letters, capitals, dots, slashes, ats, hyphens, underscores, backslashes, colons;
    bool inner_capital; /* a capital after a small letter */
} word_shape;

static word_shape shape_of(const scan *s, size_t begin, size_t end)
{
    word_shape w = {0};
    for (size_t i = begin; i < end; i++) {
        const char c = s->text[i];
        w.digits += tr_is_ascii_digit(c);
        w.letters += tr_is_ascii_letter(c);
        w.capitals += tr_is_ascii_capital(c);
        w.dots += c == '.';
        w.slashes += c == '/';
        w.ats += c == '@';
        w.hyphens += c == '-';
        w.underscores += c == '_';
        w.backslashes += c == '\\';
        w.colons += c == ':';
        w.inner_capital |= i > begin && tr_is_ascii_capital(c) && s->text[i - 1] >= 'a' && s->text[i - 1] <= 'z';
    }
    return w;
}

/* Whether text[begin .. end) has a full stop with at least two letters or digits before it and a short name after it, as
 * config.yaml and example.com; not 3.14, e.g, U.S. */
static bool has_extension(const scan *s, size_t begin, size_t end)
{
    for (size_t i = begin + 1; i + 1 < end; i++) {
        if (s->text[i] != '.' || !tr_is_identifier(s->text[i - 1]))
            continue;
        size_t length = 0, letters = 0;
        while (i + 1 + length < end && tr_is_identifier(s->text[i + 1 + length])) {
            letters += tr_is_ascii_letter(s->text[i + 1 + length]);
            length++;
        }
        const bool capital = tr_is_ascii_capital(s->text[i + 1]) && !tr_is_ascii_capital(at(s, i + 2));
        if (letters && length >= 1 && length <= 10 && !capital && (i - begin >= 2 || length >= 3))
            return true;
    }
    return false;
}

static bool is_path(const scan *s, size_t begin, size_t end, const word_shape *w)
{
    if (w->backslashes)
        return (tr_is_ascii_letter(s->text[begin]) && at(s, begin + 1) == ':' && at(s, begin + 2) == '\\') ||
               (s->text[begin] == '\\' && at(s, begin + 1) == '\\') || w->backslashes >= 2;
    if (!w->slashes || !w->letters)
        return false;
    if (starts_with(s, begin, "./") || starts_with(s, begin, "../") || starts_with(s, begin, "~/"))
        return true;
    if (s->text[begin] == '/')
        return w->letters >= 2 && (w->slashes >= 2 || has_extension(s, begin, end));
    return has_extension(s, begin, end) || (w->slashes >= 3 && !w->digits) || (s->text[end - 1] == '/' && w->letters >= 3);
}

/* Whether a run of word characters is an identifier: letters with digits (SKU9981X, v2.3.1, A1234-5678), or with _. */
static bool is_identifier(const scan *s, size_t begin, size_t end, const word_shape *w)
{
    const size_t size = end - begin;
    if (w->slashes || w->ats || w->colons)
        return false;
    if (w->underscores && w->letters)
        return true;
    if (!w->letters)
        return w->dots >= 2; /* 192.168.1.1, 1.2.3 */
    if (tr_is_ascii_letter(s->text[begin]))
        return w->digits && size >= 4 && (w->capitals > 1 || w->hyphens || w->dots || w->digits >= 4);
    return w->digits >= LONG_NUMBER || (w->capitals >= 2 && (w->hyphens || size >= 6)); /* 9981-SKU */
}

/* Whether the colon at text[i] separates two words: Model:GT-9000X, but not host:8080 and C:\\. */
static bool is_separator(const scan *s, size_t i)
{
    const char next = at(s, i + 1);
    return s->text[i] == ':' && next && !tr_is_ascii_digit(next) && !strchr("/\\:", next);
}

/* Whether text[begin .. end) is host:8080, and more of the same. */
static bool is_port(const scan *s, size_t begin, size_t end)
{
    const char *colon = memchr(s->text + begin, ':', end - begin);
    const size_t host_end = colon ? (size_t)(colon - s->text) : end;
    size_t k = host_end + 1;
    if (!colon || host_end == begin || !tr_is_ascii_digit(at(s, k)))
        return false;
    const word_shape host = shape_of(s, begin, host_end);
    while (k < end && tr_is_ascii_digit(s->text[k]))
        k++;
    return (k == end || s->text[k] == '/') && !host.slashes && !host.ats &&
           (host.letters ? host.dots || starts_with(s, begin, "localhost:") : host.dots == 3);
}

/* The span of a word at text[i], where one may begin; i if it is none. *next: where to go on. */
static size_t find_word(const scan *s, size_t i, size_t *next)
{
    size_t end = i;
    while (end < s->size && is_word_character(s->text[end]) && (end == i || !is_separator(s, end)))
        end++;
    *next = end;
    while (end > i && strchr(".-+:@~", s->text[end - 1]))
        end--;
    if (end == i) {
        return i;
    }
    const word_shape w = shape_of(s, i, end);
    if (w.ats == 1 && s->text[i] != '@' && has_extension(s, i, end)) { /* name@example.com */
        const char *sign = memchr(s->text + i, '@', end - i);
        const size_t after = (size_t)(sign - s->text) + 1;
        if (after < end && memchr(s->text + after, '.', end - after))
            return end;
    }
    if (is_path(s, i, end, &w) || is_identifier(s, i, end, &w) || is_port(s, i, end))
        return end;
    if (!w.slashes && !w.ats && !w.colons && w.letters && w.dots && has_extension(s, i, end) && s->text[i] != '.')
        return end;
    if (s->text[i] == '.' && w.letters >= 2 && !w.slashes && at(s, i + 1) != '.') /* .gitignore */
        return end;
    if (w.letters && starts_with(s, end, "()")) {
        *next = end + 2;
        return end + 2;
    }
    if (s->text[i] == '-' && w.letters && i + 1 < end &&
        (tr_is_ascii_letter(s->text[i + 1]) || s->text[i + 1] == '-')) /* --help */
        return end;
    return i;
}

/* Telephone and account numbers: groups of digits with single spaces or hyphens between them. */
static size_t find_long_number(scan *s, size_t i)
{
    size_t digits = 0, end = i, groups = 1, group = 0, longest = 0;
    if (i < s->no_number_end)
        return i;
    if (at(s, end) == '+')
        end++;
    for (size_t k = end; k < s->size; k++) {
        const char c = s->text[k];
        if (tr_is_ascii_digit(c)) {
            digits++;
            end = k + 1;
            group++;
            longest = group > longest ? group : longest;
        } else if ((c == ' ' || c == '-') && end == k && tr_is_ascii_digit(at(s, k + 1))) {
            groups++;
            group = 0;
        } else {
            break;
        }
    }
    s->no_number_end = end; /* if it is none, no part of it is one */
    if (digits < LONG_NUMBER || tr_is_ascii_letter(at(s, end)))
        return i;
    if ((at(s, end) == '.' || at(s, end) == ',') && tr_is_ascii_digit(at(s, end + 1)))
        return i;
    /* 2024-05-01 and 2024-05-01 12 are dates */
    if (groups >= 3 && longest <= 4 && digits <= 10 && s->text[i + 4] == '-' && (s->text[i] == '1' || s->text[i] == '2'))
        return i;
    return end;
}

/* --------------------------------------------------------------------------------------------------- marks that pair up */

static size_t find_code(scan *s, size_t i, size_t *next)
{
    size_t marks = 0;
    while (at(s, i + marks) == '`')
        marks++;
    *next = i + marks;
    if (marks > CODE_MARKS || i < s->no_code_end[marks])
        return i;
    for (size_t k = i + marks; k < s->size && !is_line_end(s->text[k]);) {
        size_t run = 0;
        while (at(s, k + run) == '`')
            run++;
        if (run == marks && k > i + marks)
            return k + run;
        k += run ? run : 1;
        s->no_code_end[marks] = k; /* none before it; up to the line's end if the loop ends */
    }
    return i;
}

/* The end of <…>; i: it is no tag. */
static size_t find_tag(scan *s, size_t i, tr_span_kind *kind)
{
    size_t k = i + 1;
    const bool closes = at(s, k) == '/';
    k += closes;
    if (starts_with(s, i, "<!--")) {
        *kind = TR_SPAN_EMPTY;
    } else if (at(s, k) == '%' || at(s, k) == '?' || at(s, k) == '!') {
        *kind = TR_SPAN_EMPTY;
    } else if (!tr_is_ascii_letter(at(s, k))) {
        return i;
    } else {
        while (tr_is_identifier(at(s, k)) || at(s, k) == ':' || at(s, k) == '-')
            k++;
        if (at(s, k) != '>' && at(s, k) != '/' && at(s, k) != ' ' && at(s, k) != '\t')
            return i;
        *kind = closes ? TR_SPAN_CLOSE : TR_SPAN_OPEN;
    }
    if (i < s->no_tag_end)
        return i;
    char quote = 0;
    for (; k < s->size && !is_line_end(s->text[k]); k++) {
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
    if (!quote)
        s->no_tag_end = k;
    return i;
}

/* Elements that have no end tag. */
static bool is_void_element(const scan *s, size_t i)
{
    static const char names[] = " area base br col embed hr img input link meta source track wbr ";
    char name[10] = " ";
    size_t length = 0;
    while (length < 7 && tr_is_ascii_letter(at(s, i + 1 + length))) {
        name[length + 1] = (char)(s->text[i + 1 + length] | 0x20);
        length++;
    }
    name[length + 1] = ' ';
    return !tr_is_identifier(at(s, i + 1 + length)) && strstr(names, name) != NULL;
}

static size_t find_entity(const scan *s, size_t i)
{
    size_t k = i + 1;
    if (at(s, k) == '#')
        k++;
    while (k - i < 32 && (tr_is_ascii_letter(at(s, k)) || tr_is_ascii_digit(at(s, k))))
        k++;
    return at(s, k) == ';' && k > i + 2 ? k + 1 : i;
}

/* The end of {…} at text[i], braces inside included; not of prose or of data, {"name": "x"}. */
static size_t find_braces(const scan *s, size_t i)
{
    int depth = 0;
    bool spaced = false, foreign = false;
    for (size_t k = i; k < s->size && k - i < PLACEHOLDER_REACH + 4 && !is_line_end(s->text[k]); k++) {
        const char c = s->text[k];
        depth += (c == '{') - (c == '}');
        spaced = spaced || c == ' ';
        foreign = foreign || (unsigned char)c >= 0x80;
        if (c == '"' || (spaced && foreign))
            return i;
        if (!depth)
            return k + 1;
    }
    return i;
}

/* %s, %1$d, %(name)s, %%, %1, %name% */
static size_t find_percent(const scan *s, size_t i)
{
    size_t k = i + 1;
    if (i && tr_is_ascii_digit(s->text[i - 1]) && at(s, k) != '%')
        return i; /* 50%d */
    if (at(s, k) == '%')
        return k + 1;
    if (at(s, k) == '(') {
        while (k - i < PLACEHOLDER_REACH && at(s, k) && at(s, k) != ')' && !is_line_end(at(s, k)))
            k++;
        if (at(s, k) != ')')
            return i;
        k++;
    } else if (at(s, k) == '{') {
        return find_braces(s, k) > k ? find_braces(s, k) : i;
    }
    size_t start = k;
    while (k - i < 12 && at(s, k) && strchr("-+#0123456789.*$'", at(s, k)))
        k++;
    while (k - i < 14 && at(s, k) && strchr("hlLqzjt", at(s, k)))
        k++;
    if (at(s, k) && strchr("diouxXeEfFgGcspnaA@", at(s, k)) && !tr_is_ascii_letter(at(s, k + 1)))
        return k + 1;
    for (k = start; tr_is_ascii_digit(at(s, k)) && k < start + 2; k++)
        ;
    if (k > start && !tr_is_identifier(at(s, k)) && at(s, k) != '.')
        return k; /* %1 */
    for (k = start; tr_is_identifier(at(s, k)) && k - i < PLACEHOLDER_REACH; k++)
        ;
    return k > start + 1 && at(s, k) == '%' ? k + 1 : i; /* %name% */
}

static size_t find_dollar(const scan *s, size_t i)
{
    size_t k = i + 1;
    if (at(s, k) == '{')
        return find_braces(s, k) > k ? find_braces(s, k) : i;
    if (!tr_is_ascii_letter(at(s, k)) && at(s, k) != '_')
        return i;
    while (tr_is_identifier(at(s, k)))
        k++;
    return k;
}

/* ----------------------------------------------------------------------------------------------------- hashtags, names */

/* The end of the letters of any script from text[i] on, if white space, a mark or the end follows them soon; else i. */
static size_t skip_letters(const scan *s, size_t i)
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

/* The end of #话题#, which has no marks of a sentence inside; i: it is something else. */
static size_t skip_topic(const scan *s, size_t i)
{
    size_t length;
    for (size_t k = i + 1; k < s->size && k - i < HASHTAG_REACH; k += length) {
        const int32_t c = tr_character(s->text, s->size, k, &length);
        if (c == '#')
            return k > i + 1 && !tr_is_identifier(at(s, k + 1)) ? k + 1 : i;
        if (tr_is_space(c) || tr_is_clause_mark(c) || tr_is_strong_mark(c))
            return i;
    }
    return i;
}

/* #话题#, #123, #A1234-5678, #topic; #{x} */
static size_t find_hash(const scan *s, size_t i)
{
    if (at(s, i + 1) == '{')
        return find_braces(s, i + 1) > i + 1 ? find_braces(s, i + 1) : i;
    if (at(s, i + 1) == ' ' || at(s, i + 1) == '#')
        return i;
    size_t k = skip_topic(s, i);
    if (k > i)
        return k;
    k = i + 1;
    while (tr_is_identifier(at(s, k)) || (at(s, k) == '-' && tr_is_identifier(at(s, k + 1))))
        k++;
    if (k > i + 1)
        return k;
    k = skip_letters(s, i + 1);
    const bool ends = k == s->size || s->text[k] == ' ' || is_line_end(at(s, k)) || s->text[k] == '#';
    return k > i + 1 && ends ? k : i;
}

/* @name. Names in other letters end at white space. */
static size_t find_at_name(const scan *s, size_t i)
{
    if (at(s, i + 1) == '{')
        return find_braces(s, i + 1) > i + 1 ? find_braces(s, i + 1) : i;
    size_t k = i + 1;
    while (tr_is_identifier(at(s, k)) ||
           ((at(s, k) == '.' || at(s, k) == '-' || at(s, k) == '/') && tr_is_identifier(at(s, k + 1))))
        k++;
    if (k > i + 1)
        return k;
    k = skip_letters(s, i + 1);
    return k > i + 1 && (k == s->size || s->text[k] == ' ' || is_line_end(at(s, k))) ? k : i;
}

/* ------------------------------------------------------------------------------------------------------------- pictures */

static int32_t peek(const scan *s, size_t i, size_t *length)
{
    return tr_character(s->text, s->size, i, length);
}

/* The end of one emoji at text[i] with all that belongs to it: modifiers, variation selectors, joiners. */
static size_t find_emoji(const scan *s, size_t i)
{
    enum {
        SELECTOR = 0xfe0f,
        TEXT_SELECTOR = 0xfe0e,
        JOINER = 0x200d,
        KEYCAP = 0x20e3,
        FLAG = 0x1f1e6,
        LAST_FLAG = 0x1f1ff
    };
    size_t length, next, more;
    int32_t c = peek(s, i, &length);
    size_t end = i + length;
    if (c < 0x80) { /* 1️⃣ */
        if (!tr_is_ascii_digit((char)c) && c != '#' && c != '*')
            return i;
        if (peek(s, end, &next) == SELECTOR && peek(s, end + next, &more) == KEYCAP)
            return end + next + more;
        return i;
    }
    if (c >= FLAG && c <= LAST_FLAG) {
        const int32_t second = peek(s, end, &next);
        return second >= FLAG && second <= LAST_FLAG ? end + next : end;
    }
    for (;;) {
        const int32_t after = peek(s, end, &next);
        if (!tr_is_pictograph(c) && !(tr_is_text_pictograph(c) && after == SELECTOR))
            return i;
        while (end < s->size) {
            const int32_t part = peek(s, end, &next);
            if (part != SELECTOR && part != TEXT_SELECTOR && part != KEYCAP && !(part >= 0x1f3fb && part <= 0x1f3ff) &&
                !(part >= 0xe0020 && part <= 0xe007f))
                break;
            end += next;
        }
        if (peek(s, end, &next) != JOINER)
            return end;
        c = peek(s, end + next, &more);
        if (!tr_is_pictograph(c) && !tr_is_text_pictograph(c))
            return end;
        end += next + more;
        if (!tr_is_pictograph(c) && peek(s, end, &next) != SELECTOR)
            return end; /* ♂ without its selector */
    }
}

/* The end of the name that an emoji begins in a sentence of another script, as in a brand's name. emoji: where it ends. */
static size_t skip_name_after(const scan *s, size_t i, size_t emoji)
{
    size_t end = emoji + (at(s, emoji) == ' ');
    while (i && s->text[i - 1] == ' ')
        i--;
    if (!i || (unsigned char)s->text[i - 1] < 0x80 || !tr_is_ascii_capital(at(s, end)))
        return emoji;
    while (tr_is_identifier(at(s, end)) || at(s, end) == '-')
        end++;
    return end;
}

/* A sign, with the ASCII letters and digits that it is glued to: 25°C, 3×4, Name™; and ¥1,299. */
static size_t find_symbol(const scan *s, size_t i, tr_span_kind *kind)
{
    size_t length;
    const int32_t c = peek(s, i, &length);
    size_t end = i + length;
    if (tr_is_currency_sign(c)) {
        while (tr_is_ascii_digit(at(s, end)) ||
               ((at(s, end) == '.' || at(s, end) == ',') && tr_is_ascii_digit(at(s, end + 1))))
            end++;
        return end > i + length ? end : i;
    }
    if (!tr_is_symbol(c))
        return i;
    while (tr_is_identifier(at(s, end)))
        end++;
    const bool glued = end > i + length || (i && tr_is_identifier(s->text[i - 1]));
    *kind = glued ? TR_SPAN_WORD : TR_SPAN_MARK;
    return end;
}

/* ------------------------------------------------------------------------------------------------------------- Markdown */

/* ** or ~~ around words, and both of them; i: it is something else. */
static size_t find_emphasis(scan *s, size_t i, tr_span_kind *kind)
{
    const char c = s->text[i];
    if (at(s, i + 1) != c || at(s, i + 2) == c)
        return i;
    if (i && i == s->emphasis_end) {
        s->emphasis_end = 0;
        *kind = TR_SPAN_CLOSE;
        return i + 2;
    }
    if (s->emphasis_end > i || strchr(" \t\r\n", at(s, i + 2)))
        return i;
    for (size_t k = i + 3; k + 1 < s->size && k - i < MARKUP_REACH && !is_line_end(s->text[k]); k++)
        if (s->text[k] == c && s->text[k + 1] == c && s->text[k - 1] != ' ') {
            s->emphasis_end = k;
            *kind = TR_SPAN_OPEN;
            return i + 2;
        }
    return i;
}

/* The end of ](address) or ](address "title") at text[i]; i: it is something else. */
static size_t skip_link_address(const scan *s, size_t i)
{
    size_t depth = 1, k = i + 2;
    if (!starts_with(s, i, "]("))
        return i;
    for (; k < s->size && k - i < LINK_REACH && depth; k++) {
        const char c = s->text[k];
        if (is_line_end(c) || (c == ' ' && at(s, k + 1) != '"' && !memchr(s->text + i, '"', k - i)))
            return i;
        depth += c == '(';
        depth -= c == ')';
    }
    return depth || k < i + 4 ? i : k;
}

/* [words](address) and ![words](address): the bracket that opens, and all from ] on. */
static size_t find_link(scan *s, size_t i, tr_span_kind *kind)
{
    if (i && i == s->link_end) {
        *kind = TR_SPAN_CLOSE;
        return skip_link_address(s, i);
    }
    size_t k = i + (s->text[i] == '!');
    if (at(s, k) != '[')
        return i;
    const size_t begin = ++k;
    while (k < s->size && k - i < MARKUP_REACH && !is_line_end(s->text[k]) && s->text[k] != '[' && s->text[k] != ']')
        k++;
    if (k == begin || skip_link_address(s, k) == k)
        return i;
    s->link_end = k;
    *kind = TR_SPAN_OPEN;
    return begin;
}

/* What begins a line of Markdown: a heading, a quotation, an item of a list. */
static size_t find_line_mark(const scan *s, size_t i)
{
    size_t k = i;
    for (size_t before = i; before && !is_line_end(s->text[before - 1]); before--)
        if (s->text[before - 1] != ' ')
            return i;
    while (k - i < 6 && at(s, k) == '#')
        k++;
    if (k == i && strchr(">-*+", at(s, k)))
        k++;
    return k > i && at(s, k) == ' ' ? k : i;
}

/* The line between two cells of a table. */
static bool is_cell_border(const scan *s, size_t i)
{
    const char before = i ? s->text[i - 1] : '\n', after = i + 1 < s->size ? s->text[i + 1] : '\n';
    return (before == ' ' || before == '|' || is_line_end(before)) && (after == ' ' || after == '|' || is_line_end(after));
}

static size_t find_markup(scan *s, size_t i, tr_span_kind *kind)
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

/* ------------------------------------------------------------------------------------------------------------- the scan */

/* The end of the span that begins at text[i]; i: none. *next: where the scan goes on if there is none. */
static size_t find_span(scan *s, size_t i, tr_span_kind *kind, size_t *next)
{
    const char c = s->text[i];
    size_t end = i;
    if ((unsigned char)c >= 0xe4 && (unsigned char)c <= 0xed) /* Han, Hangul: no signs among them */
        return i;
    *kind = TR_SPAN_WORD;
    if (c && strchr("*~[]!|#>-+", c) && (end = find_markup(s, i, kind)) > i)
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
        if (starts_with(s, i, "&nbsp;"))
            *kind = TR_SPAN_MARK;
        return end;
    case '{': return find_braces(s, i);
    case '%':
        end = find_percent(s, i);
        if (end > i && !memchr(s->text + i, '$', end - i) && at(s, i + 1) != '(' && at(s, i + 1) != '{' &&
            !tr_is_ascii_digit(s->text[end - 1]) && s->text[end - 1] != '%')
            *kind = TR_SPAN_PRINTF;
        return end;
    case '$': return find_dollar(s, i);
    case '#':
        if ((end = find_emoji(s, i)) > i) {
            *kind = TR_SPAN_MARK;
            return end;
        }
        return at_start(s, i) ? find_hash(s, i) : i;
    case '@': return at_start(s, i) ? find_at_name(s, i) : i;
    default: break;
    }
    if (c == '\\' && at_start(s, i) && at(s, i + 1) && strchr("nrt", at(s, i + 1)) && !tr_is_identifier(at(s, i + 2))) {
        *kind = TR_SPAN_MARK;
        return i + 2;
    }
    if ((unsigned char)c >= 0x80 || tr_is_ascii_digit(c) || c == '*') {
        end = find_emoji(s, i);
        if (end > i) {
            const size_t name = skip_name_after(s, i, end);
            *kind = name > end ? TR_SPAN_WORD : TR_SPAN_MARK;
            return name;
        }
    }
    if ((unsigned char)c >= 0x80)
        return find_symbol(s, i, kind);
    if (!at_start(s, i))
        return i;
    end = find_address(s, i);
    if (end == i && (tr_is_ascii_digit(c) || (c == '+' && tr_is_ascii_digit(at(s, i + 1)))))
        end = find_long_number(s, i);
    if (end > i)
        return end;
    if (tr_is_identifier(c) || (strchr("./~\\-", c) && (tr_is_identifier(at(s, i + 1)) || strchr("./\\-", at(s, i + 1)))))
        return find_word(s, i, next);
    return i;
}

static bool is_wordlike(tr_span_kind kind)
{
    return kind == TR_SPAN_WORD || kind == TR_SPAN_PRINTF;
}

/* Whether only marks without white space lie between two spans, as in {a}-{b}: then they are one. */
static bool is_joined(const scan *s, size_t from, size_t to)
{
    if (to - from > 3)
        return false;
    for (size_t i = from; i < to; i++)
        if (!strchr("-/:.,@=_+&%()", s->text[i]))
            return false;
    return true;
}

static tr_status add_span(scan *s, tr_kept_span span, tr_error *error)
{
    tr_kept_span *last = NULL;
    if (s->spans->size)
        last = (tr_kept_span *)(void *)(s->spans->data + s->spans->size - sizeof *last);
    if (last && is_wordlike(last->kind) && is_wordlike(span.kind) && is_joined(s, last->end, span.begin)) {
        last->end = span.end;
        last->kind = last->kind == TR_SPAN_PRINTF || span.kind == TR_SPAN_PRINTF ? TR_SPAN_PRINTF : TR_SPAN_WORD;
        return TR_OK;
    }
    return tr_buffer_append(s->spans, &span, sizeof span) ? TR_OK : tr_fail_memory(error, "protected spans");
}

/* --------------------------------------------------------------------------------------------------------------- pairs */

/* Whether two tags are those of one element. */
static bool is_pair(const char *text, const tr_kept_span *open, const tr_kept_span *close)
{
    const char *a = text + open->begin, *b = text + close->begin;
    if (*a != '<')
        return *a == *b || ((*a == '[' || *a == '!') && *b == ']');
    if (*b != '<')
        return false;
    size_t i = 0; /* of the names after < and </ */
    while (tr_is_identifier(a[1 + i]) && (a[1 + i] | 0x20) == (b[2 + i] | 0x20))
        i++;
    return !tr_is_identifier(a[1 + i]) && !tr_is_identifier(b[2 + i]);
}

/* A tag that is open, and the spans before it that cut a sentence. */
typedef struct open_tag {
    tr_kept_span *span;
    size_t cuts;
} open_tag;

void tr_tags_pair(const char *text, tr_kept_span *spans, size_t count)
{
    open_tag open[OPEN_TAGS];
    size_t depth = 0, cuts = 0;
    for (size_t i = 0; i < count; i++) {
        tr_kept_span *span = &spans[i];
        size_t k = depth;
        span->partner = SIZE_MAX;
        cuts += span->kind == TR_SPAN_MARK || span->kind == TR_SPAN_EMPTY;
        if (span->kind == TR_SPAN_OPEN) {
            if (depth == OPEN_TAGS)
                memmove(open, open + 1, --depth * sizeof *open);
            open[depth++] = (open_tag){span, cuts};
        } else if (span->kind == TR_SPAN_CLOSE) {
            while (k && !is_pair(text, open[k - 1].span, span))
                k--;
            const bool whole = k && k == depth && open[k - 1].cuts == cuts; /* all inside it are pairs and words */
            if (whole) {
                span->partner = open[k - 1].span->begin;
                open[k - 1].span->partner = span->begin;
            } else {
                cuts++;
            }
            depth = k ? k - 1 : depth;
        }
    }
}

/* What is glued to a span belongs to it: v{version}, {count}px, {x}%. */
static tr_kept_span with_glued(const scan *s, tr_kept_span span, size_t from)
{
    if (!is_wordlike(span.kind) || s->text[span.begin] == '`' || s->text[span.begin] == '&')
        return span;
    while (span.begin > from && tr_is_identifier(s->text[span.begin - 1]))
        span.begin--;
    if (s->text[span.end - 1] == '}' || s->text[span.end - 1] == ')')
        while (span.end < s->size && tr_is_identifier(s->text[span.end]))
            span.end++;
    if (at(s, span.end) == '%' && !tr_is_ascii_letter(at(s, span.end + 1)))
        span.end++;
    return span;
}

tr_status tr_spans_find(const char *text, size_t size, tr_buffer *spans, tr_error *error)
{
    scan s = {.text = text, .size = size, .spans = spans};
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
    tr_tags_pair(text, (tr_kept_span *)(void *)spans->data, spans->size / sizeof(tr_kept_span));
    return TR_OK;
}
