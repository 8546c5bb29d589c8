#include "text/span_scan.h"

#include "tokenizer/scripts.h"

enum { LONG_NUMBER = 6 }; /* digits of a telephone or account number, at least */

/* The end of the characters from text[i] on that may stand in a web address: printable ASCII. */
static size_t skip_address_characters(const tr_scan *s, size_t i)
{
    while (i < s->size && s->text[i] > ' ' && s->text[i] < 0x7f && !strchr("\"<>`", s->text[i]))
        i++;
    return i;
}

/* Without marks of the sentence at its end; a closing bracket stays if it closes one of the span's own. */
static size_t trim_marks(const tr_scan *s, size_t begin, size_t end)
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

/* http:// and the like. */
static size_t skip_scheme(const tr_scan *s, size_t i)
{
    size_t end = i;
    while (end < s->size && end - i < 20 &&
           (tr_is_ascii_letter(s->text[end]) || (end > i && strchr("+.-0123456789", s->text[end]))))
        end++;
    return end > i + 1 && tr_scan_has(s, end, "://") ? end + 3 : i;
}

size_t tr_scan_address(const tr_scan *s, size_t i)
{
    const size_t scheme = skip_scheme(s, i);
    if (scheme > i || tr_scan_has(s, i, "www.") || tr_scan_has(s, i, "mailto:") || tr_scan_has(s, i, "data:image/")) {
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
} word_shape;

static word_shape shape_of(const tr_scan *s, size_t begin, size_t end)
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
    }
    return w;
}

/* Whether text[begin .. end) has a full stop with at least two letters or digits before it and a short name after it, as
 * config.yaml and example.com; not 3.14, e.g, U.S. */
static bool has_extension(const tr_scan *s, size_t begin, size_t end)
{
    for (size_t i = begin + 1; i + 1 < end; i++) {
        if (s->text[i] != '.' || !tr_is_identifier(s->text[i - 1]))
            continue;
        size_t length = 0, letters = 0;
        while (i + 1 + length < end && tr_is_identifier(s->text[i + 1 + length])) {
            letters += tr_is_ascii_letter(s->text[i + 1 + length]);
            length++;
        }
        const bool capital = tr_is_ascii_capital(s->text[i + 1]) && !tr_is_ascii_capital(tr_scan_at(s, i + 2));
        if (letters && length >= 1 && length <= 10 && !capital && (i - begin >= 2 || length >= 3))
            return true;
    }
    return false;
}

static bool is_path(const tr_scan *s, size_t begin, size_t end, const word_shape *w)
{
    if (w->backslashes)
        return (tr_is_ascii_letter(s->text[begin]) && tr_scan_at(s, begin + 1) == ':' && tr_scan_at(s, begin + 2) == '\\') ||
               (s->text[begin] == '\\' && tr_scan_at(s, begin + 1) == '\\') || w->backslashes >= 2;
    if (!w->slashes || !w->letters)
        return false;
    if (tr_scan_has(s, begin, "./") || tr_scan_has(s, begin, "../") || tr_scan_has(s, begin, "~/"))
        return true;
    if (s->text[begin] == '/')
        return w->letters >= 2 && (w->slashes >= 2 || has_extension(s, begin, end));
    return has_extension(s, begin, end) || (w->slashes >= 3 && !w->digits) || (s->text[end - 1] == '/' && w->letters >= 3);
}

/* Whether a run of word characters is an identifier: letters with digits (SKU9981X, v2.3.1, A1234-5678), or with _. */
static bool is_identifier(const tr_scan *s, size_t begin, size_t end, const word_shape *w)
{
    const size_t size = end - begin;
    if (w->slashes || w->ats || w->colons)
        return false;
    if (w->underscores && w->letters)
        return true;
    if (!w->letters)
        return w->dots >= 2; /* 192.168.1.1, 1.2.3 */
    if (tr_is_ascii_letter(s->text[begin]))
        return w->digits;                                                               /* db01, B3, v2.3.1 */
    return w->digits >= LONG_NUMBER || (w->capitals >= 2 && (w->hyphens || size >= 6)); /* 9981-SKU */
}

/* Whether the colon at text[i] separates two words: Model:GT-9000X, but not host:8080 and C:\\. */
static bool is_separator(const tr_scan *s, size_t i)
{
    const char next = tr_scan_at(s, i + 1);
    return s->text[i] == ':' && next && !tr_is_ascii_digit(next) && !strchr("/\\:", next);
}

/* Whether text[begin .. end) is host:8080, and more of the same. */
static bool is_port(const tr_scan *s, size_t begin, size_t end)
{
    const char *colon = memchr(s->text + begin, ':', end - begin);
    const size_t host_end = colon ? (size_t)(colon - s->text) : end;
    size_t k = host_end + 1;
    if (!colon || host_end == begin || !tr_is_ascii_digit(tr_scan_at(s, k)))
        return false;
    const word_shape host = shape_of(s, begin, host_end);
    while (k < end && tr_is_ascii_digit(s->text[k]))
        k++;
    return (k == end || s->text[k] == '/') && !host.slashes && !host.ats &&
           (host.letters ? host.dots || tr_scan_has(s, begin, "localhost:") : host.dots == 3);
}

/* 00:1A:2B:3C:4D:5E, 2001:db8::1: groups of hexadecimal digits. */
static size_t skip_hex_groups(tr_scan *s, size_t i)
{
    size_t end = i, groups = 0;
    bool empty = false;
    if (i < s->no_groups_end)
        return i;
    for (size_t k = i; k < s->size;) {
        size_t length = 0;
        while (length < 5 && tr_scan_at(s, k + length) && strchr("0123456789abcdefABCDEF", tr_scan_at(s, k + length)))
            length++;
        s->no_groups_end = k; /* if they are none */
        if (length > 4)
            return i;
        groups += length > 0;
        empty = empty || (!length && k > i);
        k += length;
        if (length)
            end = k;
        if (tr_scan_at(s, k) != ':')
            break;
        k++;
    }
    return (groups >= 4 || (empty && groups >= 2)) && !tr_is_identifier(tr_scan_at(s, end)) ? end : i;
}

/* The end of what has a form: 0 stands for a digit, A for a capital, a for a letter, T for itself or a space; i: it is not
 * so. */
static size_t skip_form(const tr_scan *s, size_t i, const char *form)
{
    for (size_t k = 0; form[k]; k++) {
        const char c = tr_scan_at(s, i + k);
        const bool fits = form[k] == '0'   ? tr_is_ascii_digit(c)
                          : form[k] == 'A' ? tr_is_ascii_capital(c)
                          : form[k] == 'a' ? tr_is_ascii_letter(c)
                                           : c == form[k] || (form[k] == 'T' && c == ' ');
        if (!fits)
            return i;
    }
    return i + strlen(form);
}

/* "Thu, 26 Nov 2026 10:00:00 GMT" or "+0800" */
size_t tr_scan_mail_time(const tr_scan *s, size_t i)
{
    size_t zone = skip_form(s, i, "Aaa, 00 Aaa 0000 00:00:00 ");
    if (zone == i)
        zone = skip_form(s, i, "Aaa, 0 Aaa 0000 00:00:00 ");
    if (zone == i)
        return i;
    const bool offset = tr_scan_at(s, zone) == '+' || tr_scan_at(s, zone) == '-';
    size_t end = zone + offset;
    while (offset ? tr_is_ascii_digit(tr_scan_at(s, end)) : tr_is_ascii_capital(tr_scan_at(s, end)))
        end++;
    return end - zone >= 2 && end - zone <= 5 && !tr_is_identifier(tr_scan_at(s, end)) ? end : i;
}

/* 2025-06-01T12:00:00Z, 2025-06-01 12:00:00 */
static size_t skip_timestamp(const tr_scan *s, size_t i)
{
    size_t end = skip_form(s, i, "0000-00-00T00:00");
    if (end == i)
        return i;
    while (tr_is_ascii_digit(tr_scan_at(s, end)) ||
           (tr_scan_at(s, end) && strchr(":.+-", tr_scan_at(s, end)) && tr_is_ascii_digit(tr_scan_at(s, end + 1))))
        end++;
    return tr_scan_at(s, end) == 'Z' ? end + 1 : end;
}

/* What follows a path whose last name is in other letters, up to an extension: ~/Documents/毕业论文.docx; and spaces in
 * paths of Windows. */
static size_t skip_rest_of_path(const tr_scan *s, size_t begin, size_t end)
{
    const bool drive = tr_scan_at(s, begin + 1) == ':' && tr_scan_at(s, begin + 2) == '\\';
    size_t k = end, length;
    if (drive && tr_scan_at(s, end) == ' ') { /* C:\Program Files\ */
        while (k - end < 24 && (tr_is_identifier(tr_scan_at(s, k)) || (tr_scan_at(s, k) && strchr(" ()", tr_scan_at(s, k)))))
            k++;
        while (k > end && tr_scan_at(s, k) == '\\') {
            k++;
            while (tr_is_identifier(tr_scan_at(s, k)) || tr_scan_at(s, k) == '.' || tr_scan_at(s, k) == '-')
                k++;
            end = k;
        }
        return end;
    }
    if (s->text[end - 1] != '/' && s->text[end - 1] != '\\')
        return end;
    while (k < s->size && k - end < 90) {
        const int32_t c = tr_character(s->text, s->size, k, &length);
        if (c == '.' && k > end && tr_is_ascii_letter(tr_scan_at(s, k + 1))) {
            for (k++; tr_is_ascii_word(tr_scan_at(s, k)); k++)
                ;
            return k;
        }
        if (c < 0x80 ? !tr_is_identifier(c) && !strchr("-/\\", c) : !tr_is_any_letter(c))
            break;
        k += length;
    }
    return end;
}

/* The span of a word at text[i], where one may begin; i if it is none. *next: where to go on. */
size_t tr_scan_word(tr_scan *s, size_t i, size_t *next)
{
    size_t end = skip_hex_groups(s, i);
    if (end > i) {
        *next = end;
        return end;
    }
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
    if (w.ats == 1 && s->text[i] != '@' && w.ats + w.letters + w.digits + w.hyphens + w.dots + w.underscores == end - i)
        return end; /* root@db01 */
    const size_t timestamp = skip_timestamp(s, i);
    if (timestamp > i) {
        *next = timestamp;
        return timestamp;
    }
    if (is_path(s, i, end, &w)) {
        end = skip_rest_of_path(s, i, end);
        *next = end > *next ? end : *next;
        return end;
    }
    if (is_identifier(s, i, end, &w) || is_port(s, i, end))
        return end;
    if (tr_scan_at(s, end) == '=' && *next == end) { /* x=3 */
        end++;
        while (tr_is_identifier(tr_scan_at(s, end)) || (tr_scan_at(s, end) && strchr(".-+*/()^", tr_scan_at(s, end))))
            end++;
        *next = end;
        return end;
    }
    if (w.letters == 1 && end == i + 1 && tr_scan_at(s, end) == '#' && !tr_is_identifier(tr_scan_at(s, end + 1))) /* C# */
        return *next = end + 1;
    if (!w.letters && w.digits == end - i && tr_scan_at(s, end) == '#' && (unsigned char)tr_scan_at(s, end + 1) >= 0xe3)
        return *next = end + 1; /* 1#楼 */
    if (!w.slashes && !w.ats && !w.colons && w.letters && w.dots && has_extension(s, i, end) && s->text[i] != '.')
        return end;
    if (s->text[i] == '.' && w.letters >= 2 && !w.slashes && tr_scan_at(s, i + 1) != '.') /* .gitignore */
        return end;
    if (w.letters && tr_scan_has(s, end, "()")) {
        *next = end + 2;
        return end + 2;
    }
    if (s->text[i] == '-' && w.letters && i + 1 < end &&
        (tr_is_ascii_letter(s->text[i + 1]) || s->text[i + 1] == '-')) /* --help */
        return end;
    return i;
}

/* Telephone and account numbers: groups of digits with single spaces or hyphens between them. */
size_t tr_scan_long_number(tr_scan *s, size_t i)
{
    size_t digits = 0, end = i, groups = 1, group = 0, longest = 0;
    if (i < s->no_number_end)
        return i;
    if (tr_scan_at(s, end) == '+')
        end++;
    for (size_t k = end; k < s->size; k++) {
        const char c = s->text[k];
        if (tr_is_ascii_digit(c)) {
            digits++;
            end = k + 1;
            group++;
            longest = group > longest ? group : longest;
        } else if ((c == ' ' || c == '-') && end == k && tr_is_ascii_digit(tr_scan_at(s, k + 1))) {
            groups++;
            group = 0;
        } else {
            break;
        }
    }
    s->no_number_end = end; /* if it is none, no part of it is one */
    if (digits < LONG_NUMBER || tr_is_ascii_letter(tr_scan_at(s, end)))
        return i;
    if ((tr_scan_at(s, end) == '.' || tr_scan_at(s, end) == ',') && tr_is_ascii_digit(tr_scan_at(s, end + 1)))
        return i;
    /* 2024-05-01 and 2024-05-01 12 are dates */
    if (groups >= 3 && longest <= 4 && digits <= 10 && s->text[i + 4] == '-' && (s->text[i] == '1' || s->text[i] == '2'))
        return i;
    return end;
}
