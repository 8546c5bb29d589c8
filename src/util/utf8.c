#include "util/utf8.h"

#include <string.h>

int32_t tr_utf8_decode(const char *text, size_t size, size_t *length)
{
    const unsigned char *s = (const unsigned char *)text;
    const unsigned char first = s[0];
    *length = 1;
    if (first < 0x80)
        return first;
    if (first < 0xc2 || first > 0xf4)
        return -1;
    const size_t needed = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    /* The second byte's range excludes overlong forms, surrogates and code points above U+10FFFF. */
    const unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    int32_t code = first & (0x7f >> needed);
    for (size_t i = 1; i < needed; i++) {
        if (i >= size || s[i] < (i == 1 ? low : 0x80) || s[i] > (i == 1 ? high : 0xbf))
            return -1;
        code = code << 6 | (s[i] & 0x3f);
        *length = i + 1;
    }
    return code;
}

size_t tr_utf8_encode(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    const size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)((0xf00 >> length & 0xff) | code);
    return length;
}

size_t tr_utf8_valid_prefix(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size) {
        uint64_t word; /* eight bytes at a time while they are ASCII */
        while (size - i >= sizeof word) {
            memcpy(&word, text + i, sizeof word);
            /* any byte with its top bit set, or zero */
            if ((word | (word - 0x0101010101010101u)) & 0x8080808080808080u)
                break;
            i += sizeof word;
        }
        if (i == size)
            break;
        /* three bytes with a first one that allows any continuation: most Chinese */
        const unsigned char *s = (const unsigned char *)text + i;
        if (size - i >= 3 && s[0] >= 0xe1 && s[0] <= 0xec && (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80) {
            i += 3;
            continue;
        }
        size_t length;
        if (tr_utf8_decode(text + i, size - i, &length) <= 0)
            break;
        i += length;
    }
    return i;
}

bool tr_utf8_valid(const char *text, size_t size)
{
    return tr_utf8_valid_prefix(text, size) == size;
}

bool tr_utf8_is_printable(int32_t code)
{
    return code >= 0x20 && (code < 0x7f || code >= 0xa0) && code != 0x61c && code != 0x200e && code != 0x200f &&
           !(code >= 0x2028 && code <= 0x202e) && !(code >= 0x2066 && code <= 0x2069);
}

void tr_utf8_make_printable(char *text)
{
    const size_t size = strlen(text);
    char *to = text;
    for (size_t at = 0, length; at < size; at += length)
        if (tr_utf8_is_printable(tr_utf8_decode(text + at, size - at, &length))) {
            memmove(to, text + at, length);
            to += length;
        } else {
            *to++ = '?';
        }
    *to = 0;
}

bool tr_ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), n = strlen(end);
    return size >= n && strcmp(text + size - n, end) == 0;
}

bool tr_is_small_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

/* ------------------------------------------------------------------------------------------------- classes of characters */

bool tr_in_ranges(int32_t c, const tr_char_range *ranges, size_t count)
{
    size_t from = 0;
    while (from < count) {
        const size_t middle = (from + count) / 2;
        if (c > ranges[middle].last)
            from = middle + 1;
        else if (c < ranges[middle].first)
            count = middle;
        else
            return true;
    }
    return false;
}

bool tr_is_line_break(int32_t c)
{
    return (c >= '\n' && c <= '\r') || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool tr_is_space(int32_t c)
{
    if (c < 0x80)
        return c == ' ' || c == '\t' || tr_is_line_break(c);
    switch (c) {
    case 0x85:
    case 0xa0:
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x202f:
    case 0x205f:
    case 0x3000:
    case 0xfeff: return true;
    default: return c >= 0x2000 && c <= 0x200b;
    }
}

bool tr_is_cjk(int32_t c)
{
    return (c >= 0x2e80 && c <= 0x9fff) || (c >= 0xac00 && c <= 0xd7af) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0xfe30 && c <= 0xfe4f) || (c >= 0xff00 && c <= 0xffef) || (c >= 0x20000 && c <= 0x3ffff);
}

bool tr_is_lower(int32_t c)
{
    if (c < 0x80)
        return c >= 'a' && c <= 'z';
    if (c < 0x100)
        return c >= 0xdf && c != 0xf7;
    if (c < 0x180) /* Latin Extended-A: pairs, but the lower case is odd in some stretches and even in others */
        return (c <= 0x137 || (c >= 0x14a && c <= 0x177)) ? c & 1 : !(c & 1);
    return (c >= 0x3ac && c <= 0x3ce) || (c >= 0x430 && c <= 0x45f);
}

bool tr_is_full_stop(int32_t c)
{
    return c == '.' || c == 0xff0e;
}

bool tr_is_bang(int32_t c)
{
    return c == '!' || c == '?' || (c >= 0x203c && c <= 0x203d) || (c >= 0x2047 && c <= 0x2049);
}

bool tr_is_strong_mark(int32_t c)
{
    return c == 0x3002 || c == 0xff01 || c == 0xff1f || c == 0xff61;
}

bool tr_is_ellipsis(int32_t c)
{
    return c == 0x2026 || c == 0x22ef;
}

bool tr_is_clause_mark(int32_t c)
{
    switch (c) {
    case ',':
    case ';':
    case ':':
    case 0xff0c:
    case 0x3001:
    case 0xff1b:
    case 0xff1a:
    case 0xff64:
    case 0xfe50: return true;
    default: return false;
    }
}

bool tr_is_closer(int32_t c)
{
    switch (c) {
    case ')':
    case ']':
    case '}':
    case 0xbb:
    case 0x2019:
    case 0x201d:
    case 0x203a:
    case 0x300b:
    case 0x3009:
    case 0x300d:
    case 0x300f:
    case 0x3011:
    case 0x3015:
    case 0x3017:
    case 0x301e:
    case 0x301f:
    case 0xff02:
    case 0xff07:
    case 0xff09:
    case 0xff3d:
    case 0xff5d: return true;
    default: return false;
    }
}

int32_t tr_bracket_closer(int32_t c)
{
    switch (c) {
    case '(': return ')';
    case '[': return ']';
    case 0xff08: return 0xff09; /* （） */
    case 0xff3b: return 0xff3d; /* ［］ */
    case 0x3010: return 0x3011; /* 【】 */
    case 0x3014: return 0x3015; /* 〔〕 */
    case 0x300a: return 0x300b; /* 《》 */
    case 0x3008: return 0x3009; /* 〈〉 */
    default: return 0;
    }
}

bool tr_is_quote_opener(int32_t c)
{
    switch (c) {
    case 0xab:
    case 0x2018:
    case 0x201c:
    case 0x2039:
    case 0x300c:
    case 0x300e:
    case 0x301d: return true;
    default: return false;
    }
}

int32_t tr_character(const char *text, size_t size, size_t at, size_t *length)
{
    *length = 0;
    return at < size ? tr_utf8_decode(text + at, size - at, length) : 0;
}

size_t tr_character_before(const char *text, size_t at)
{
    at--;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    return at;
}

size_t tr_skip_space(const char *text, size_t size, size_t at)
{
    size_t length;
    while (at < size && tr_is_space(tr_character(text, size, at, &length)))
        at += length;
    return at;
}

size_t tr_trim_space(const char *text, size_t from, size_t to)
{
    while (to > from) {
        const size_t last = tr_character_before(text, to);
        size_t length;
        if (!tr_is_space(tr_character(text, to, last, &length)))
            break;
        to = last;
    }
    return to;
}

bool tr_is_white(int32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}
