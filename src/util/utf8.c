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

static bool is_printable(int32_t code)
{
    return code >= 0x20 && (code < 0x7f || code >= 0xa0) && code != 0x61c && code != 0x200e && code != 0x200f &&
           !(code >= 0x2028 && code <= 0x202e) && !(code >= 0x2066 && code <= 0x2069);
}

void tr_utf8_make_printable(char *text)
{
    const size_t size = strlen(text);
    char *to = text;
    for (size_t at = 0, length; at < size; at += length)
        if (is_printable(tr_utf8_decode(text + at, size - at, &length))) {
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
