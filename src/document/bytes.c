/* Bytes: words, escapes, line breaks, names of languages. */
#include "document/bytes.h"

#include <stdio.h>
#include <string.h>

bool tr_starts_with(const char *text, size_t size, const char *start)
{
    return size >= strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

bool tr_is_one_of(const char *text, size_t size, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == size && memcmp(text, *words, size) == 0)
            return true;
    return false;
}

bool tr_list_has(const char *list, const char *name, size_t size)
{
    for (const char *at = list; *at == ' ' && at[1];) {
        const size_t length = strcspn(++at, " ");
        if (length == size && memcmp(at, name, size) == 0)
            return true;
        at += length;
    }
    return false;
}

/* ---------------------------------------------------------------------------------------------------------------- escapes
 */

int tr_hex_digit(char c)
{
    const int letter = c | 0x20;
    if (tr_is_ascii_digit(c))
        return c - '0';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* The code of \uXXXX; -1: there is none. */
static int32_t read_unit(const char *text, size_t size)
{
    int32_t code = 0;
    if (size < 6 || text[0] != '\\' || text[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        const int digit = tr_hex_digit(text[i]);
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

size_t tr_read_escape(const char *text, size_t size, uint32_t *code)
{
    const int32_t first = read_unit(text, size);
    const bool high = first >= 0xD800 && first < 0xDC00;
    const int32_t low = high ? read_unit(text + 6, size - 6) : -1;
    *code = first >= 0xD800 && first < 0xE000 ? 0xFFFD : (uint32_t)first;
    if (low >= 0xDC00 && low < 0xE000) {
        *code = 0x10000 + ((uint32_t)(first - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
        return 12;
    }
    return first < 0 ? 0 : 6;
}

bool tr_append_escape(tr_buffer *out, uint32_t code)
{
    char text[16];
    if (code < 0x10000)
        snprintf(text, sizeof text, "\\u%04x", code);
    else
        snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF));
    return tr_buffer_string(out, text);
}

/* ------------------------------------------------------------------------------------------------------------------ lines
 */

size_t tr_document_begin(const tr_document *d)
{
    return tr_starts_with(d->data, d->size, "\xEF\xBB\xBF") ? 3 : 0;
}

const char *tr_line_break(const tr_document *d, size_t at)
{
    const char *newline = at < d->size ? memchr(d->data + at, '\n', d->size - at) : NULL;
    size_t next = newline ? (size_t)(newline - d->data) + 1 : at;
    while (!newline && next && d->data[next - 1] != '\n')
        next--;
    return next > 1 && d->data[next - 2] == '\r' ? "\r\n" : "\n";
}

/* -------------------------------------------------------------------------------------------------------------- languages
 */

static bool is_same_letter(char a, char b)
{
    return (tr_is_ascii_capital(a) ? a | 0x20 : a) == (tr_is_ascii_capital(b) ? b | 0x20 : b);
}

bool tr_is_source_language(const tr_document *d, const char *text, size_t size)
{
    const char *source = d->settings.source_language;
    size_t i = 0;
    if (!source || !d->settings.target_language || size > 16)
        return false;
    while (i < size && tr_is_ascii_letter(text[i]) && is_same_letter(text[i], source[i]))
        i++;
    if (!i || (i < size && text[i] != '-' && text[i] != '_') || tr_is_ascii_letter(source[i]))
        return false;
    for (; i < size; i++)
        if (!tr_is_identifier(text[i]) && text[i] != '-')
            return false;
    return true;
}
