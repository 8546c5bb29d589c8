/* Markdown: what text means, what in it is no text to its readers, and small questions about it. */
#include "document/markdown.h"

#include <string.h>

#include "document/html.h"

/* ---------------------------------------------------------------------------------------------- entities and backslashes */

static bool append_code(uint32_t code, tr_buffer *out)
{
    char bytes[4];
    const bool good = code && code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
    return tr_buffer_append(out, bytes, tr_utf8_encode(good ? code : 0xFFFD, bytes));
}

/* The end of what looks like an entity at text[at], which is &; at: it is none. *code: its number; 0: it has none. */
static size_t entity_end(const char *text, size_t size, size_t at, uint32_t *code)
{
    enum { MAX_NAME = 48, MAX_DIGITS = 7 };
    size_t i = at + 1;
    const bool number = i < size && text[i] == '#', hex = number && i + 1 < size && (text[i + 1] | 0x20) == 'x';
    i += (size_t)number + hex;
    const size_t begin = i, most = number ? MAX_DIGITS - hex : MAX_NAME;
    *code = 0;
    for (; i < size && i - begin < most && tr_is_ascii_word(text[i]); i++) {
        const char c = (char)(text[i] | 0x20);
        if (number && !tr_is_ascii_digit(text[i]) && !(hex && c <= 'f'))
            return at;
        if (number)
            *code = *code * (hex ? 16 : 10) + (uint32_t)(tr_is_ascii_digit(text[i]) ? text[i] - '0' : c - 'a' + 10);
    }
    return i > begin && i < size && text[i] == ';' ? i + 1 : at;
}

bool tr_markdown_entity(const char *text, size_t size, size_t at, size_t *end, tr_buffer *characters)
{
    uint32_t code;
    *end = entity_end(text, size, at, &code);
    if (*end == at)
        return true;
    if (text[at + 1] == '#')
        return append_code(code, characters);
    /* In HTML, "&notit;" is "&not" and "it;": the semicolon is left over. Only that of "&semi;" is what the name means. */
    const size_t before = characters->size;
    const bool semicolon = *end - at == 6 && memcmp(text + at, "&semi;", 6) == 0;
    if (!tr_html_decode(text + at, *end - at, 0, characters))
        return false;
    if (!semicolon && characters->size > before && characters->data[characters->size - 1] == ';') {
        characters->size = before;
        *end = at;
    }
    return true;
}

bool tr_markdown_decode(const char *text, size_t size, tr_buffer *out)
{
    bool good = true;
    for (size_t i = 0; i < size && good;) {
        const bool escape = text[i] == '\\' && i + 1 < size && tr_markdown_is_mark(text[i + 1]);
        size_t end = i;
        if (text[i] == '&')
            good = tr_markdown_entity(text, size, i, &end, out);
        if (end > i) {
            i = end;
        } else if (!text[i]) {
            good = append_code(0, out);
            i++;
        } else {
            good = good && tr_buffer_append(out, text + i + escape, 1);
            i += 1 + (size_t)escape;
        }
    }
    return good;
}

/* ----------------------------------------------------------------------------------------- what CommonMark does not know */

static size_t word_run(const char *text, size_t end, size_t at, const char *more)
{
    while (at < end && text[at] && (tr_is_ascii_word(text[at]) || strchr(more, text[at])))
        at++;
    return at;
}

/* The end of an address at text[at], without the punctuation of the sentence. */
static size_t url_end(const char *text, size_t end, size_t at)
{
    const size_t begin = at;
    size_t open = 0, close = 0;
    for (; at < end && text[at] > ' ' && text[at] < 127 && !strchr("<>\"`|\\", text[at]); at++) {
        open += text[at] == '(';
        close += text[at] == ')';
    }
    for (; at > begin && (strchr("?!.,:;*_~'\\", text[at - 1]) || (text[at - 1] == ')' && close > open)); at--)
        close -= text[at - 1] == ')';
    return at;
}

/* "$x^2$": no white space inside, no word beside. */
static size_t formula_end(const char *text, size_t end, size_t at)
{
    const size_t signs = at + 1 < end && text[at + 1] == '$' ? 2 : 1;
    const size_t begin = at + signs;
    if (begin >= end || (signs == 1 && strchr(" \t\r\n", text[begin])))
        return at;
    for (size_t i = begin; i < end && !strchr("`\n\r", text[i]); i++) {
        if (text[i] == '\\' && i + 1 < end && text[i + 1] != '\n' && text[i + 1] != '\r') {
            i++;
            continue;
        }
        if (text[i] != '$')
            continue;
        const size_t after = i + signs;
        if (i == begin || after > end || text[after - 1] != '$' || (signs == 1 && tr_markdown_is_blank(text[i - 1])) ||
            (after < end && (tr_is_ascii_word(text[after]) || text[after] == '$')))
            return at;
        return after;
    }
    return at;
}

static size_t bracket_end(const char *text, size_t end, size_t at, const char *more)
{
    const size_t i = word_run(text, end, at, more);
    return i > at && i < end && text[i] == ']' ? i + 1 : 0;
}

/* The end of an entity that is white space, which would be lost as text; or at. */
static size_t white_entity_end(const char *text, size_t end, size_t at)
{
    uint32_t code;
    const size_t stop = entity_end(text, end, at, &code), size = stop - at;
    const bool named =
        (size == 5 && memcmp(text + at, "&Tab;", 5) == 0) || (size == 9 && memcmp(text + at, "&NewLine;", 9) == 0);
    return named || (code && code <= ' ') ? stop : at;
}

size_t tr_markdown_bare_end(const char *text, size_t begin, size_t end, size_t at)
{
    const char *t = text + at;
    const size_t size = end - at;
    const char before = at > begin ? text[at - 1] : ' ';
    size_t i;
    if (*t == '$' && !tr_is_ascii_word(before) && before != '$' && before != '`')
        return formula_end(text, end, at);
    if (*t == '[' && size > 3 && (t[1] == '^' || t[1] == '!')) {
        i = bracket_end(text, end, at + 2, t[1] == '^' ? "-_.:" : "");
        return i && (t[1] == '^' || at == begin) ? i + (t[1] == '^' && at == begin && i < end && text[i] == ':') : at;
    }
    if (*t == '&' && size > 3)
        return white_entity_end(text, end, at);
    if (*t == '{' && size > 3 && t[1] == '#') {
        i = word_run(text, end, at + 2, "-_.:");
        return i > at + 2 && i < end && text[i] == '}' ? i + 1 : at;
    }
    if (*t == ':' && size > 2 && tr_is_small_letter(t[1]) && !tr_is_ascii_word(before) && before != ':') {
        i = word_run(text, end, at + 1, "_+-");
        return i < end && text[i] == ':' && (i + 1 == end || !tr_is_ascii_word(text[i + 1])) ? i + 1 : at;
    }
    if (!tr_is_ascii_word(*t) || tr_is_ascii_word(before) || strchr("\\._+-@/", before))
        return at;
    i = word_run(text, end, at, "");
    if (i + 3 < end && memcmp(text + i, "://", 3) == 0 && (i - at == 3 || i - at == 4 || i - at == 5) &&
        (memcmp(t, "http", 4) == 0 || memcmp(t, "ftp:", 4) == 0)) {
        const size_t stop = url_end(text, end, i + 3);
        return stop > i + 3 ? stop : at;
    }
    if (i - at == 3 && i + 1 < end && text[i] == '.' && memcmp(t, "www", 3) == 0 && tr_is_ascii_word(text[i + 1]))
        return url_end(text, end, i + 1);
    i = word_run(text, end, i, "._+-");
    if (i + 1 >= end || text[i] != '@' || !tr_is_ascii_word(text[i + 1]))
        return at;
    size_t stop = word_run(text, end, i + 1, ".-_");
    while (strchr("._-", text[stop - 1]))
        stop--;
    return memchr(text + i, '.', stop - i) ? stop : at;
}

/* ------------------------------------------------------------------------------------------------------- small questions */

uint32_t tr_markdown_skip_prefix(const char *text, uint32_t at, uint32_t end)
{
    while (at < end && (tr_markdown_is_blank(text[at]) || text[at] == '>'))
        at++;
    return at;
}

uint32_t tr_markdown_skip_list_sign(const char *text, uint32_t size, uint32_t at)
{
    uint32_t i = at;
    while (i < size && tr_is_ascii_digit(text[i]))
        i++;
    const bool number = i > at && i - at < 10 && i < size && (text[i] == '.' || text[i] == ')');
    const bool bullet = i == at && i < size && (text[i] == '-' || text[i] == '*' || text[i] == '+');
    return (number || bullet) && i + 1 < size && tr_markdown_is_blank(text[i + 1]) ? i + 1 : at;
}

uint32_t tr_markdown_find(const char *text, uint32_t size, uint32_t at, const char *what)
{
    const size_t length = strlen(what);
    for (const char *c; at < size && (c = memchr(text + at, *what, size - at)) != NULL; at++) {
        at = (uint32_t)(c - text);
        if (size - at >= length && memcmp(c, what, length) == 0)
            return at + (uint32_t)length;
    }
    return 0;
}

uint32_t tr_markdown_comment_end(const char *text, uint32_t size, uint32_t at)
{
    if (size - at >= 5 && text[at + 4] == '>')
        return at + 5;
    if (size - at >= 6 && memcmp(text + at + 4, "->", 2) == 0)
        return at + 6;
    return tr_markdown_find(text, size, at + 4, "-->");
}
