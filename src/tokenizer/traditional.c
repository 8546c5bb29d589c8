#define _GNU_SOURCE
#include "tokenizer/traditional.h"

#include <string.h>

#include "util/buffer.h"
#include "util/utf8.h"

enum { MOST_BYTES = 64 }; /* of a side */

/* A line of the rules. Both sides have size bytes. */
typedef struct rule {
    const char *from, *to;
    size_t size;
} rule;

/* The line that begins at byte `at` of rules that were checked. */
static rule rule_at(tr_bytes rules, size_t at)
{
    const char *const line = (const char *)rules.data + at;
    const char *const tab = memchr(line, '\t', rules.size - at);
    return (rule){line, tab + 1, (size_t)(tab - line)};
}

static size_t line_size(rule r)
{
    return 2 * r.size + 2;
}

static bool is_inside(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static bool is_good(rule r)
{
    if (!r.size || r.size > MOST_BYTES || (unsigned char)*r.from < 0x80 || !tr_utf8_valid(r.from, r.size) ||
        !tr_utf8_valid(r.to, r.size))
        return false;
    for (size_t i = 0; i < r.size; i++)
        if (is_inside(r.from[i]) != is_inside(r.to[i]))
            return false;
    return true;
}

tr_status tr_traditional_check(tr_bytes rules, tr_error *error)
{
    const char *const data = rules.data;
    rule before = {"", "", 0};
    size_t number = 1;
    for (size_t at = 0; at < rules.size; number++) {
        const char *const line = data + at, *const end = memchr(line, '\n', rules.size - at);
        const char *const tab = end ? memchr(line, '\t', (size_t)(end - line)) : NULL;
        const rule r = {line, tab ? tab + 1 : line, tab ? (size_t)(tab - line) : 0};
        if (!tab || (size_t)(end - r.to) != r.size || !is_good(r))
            return tr_fail(error, TR_ERROR_FORMAT,
                           "line %zu is not two texts of characters of the same sizes, with a tab "
                           "between them",
                           number);
        if (tr_compare_bytes(before.from, before.size, r.from, r.size) >= 0)
            return tr_fail(error, TR_ERROR_FORMAT, "line %zu does not come after the line before it", number);
        before = r;
        at += line_size(r);
    }
    return TR_OK;
}

/* The first byte of the first line whose left side does not come before key. */
static size_t find_line(tr_bytes rules, const char *key, size_t size)
{
    const char *const data = rules.data;
    size_t low = 0, high = rules.size; /* begins of lines, or the end */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const char *const before = memrchr(data + low, '\n', middle - low);
        const size_t line = before ? (size_t)(before + 1 - data) : low;
        const rule r = rule_at(rules, line);
        if (tr_compare_bytes(r.from, r.size, key, size) < 0)
            low = line + line_size(r);
        else
            high = line;
    }
    return low;
}

/* The longest rule for the beginning of text, size 0: none. character: bytes of its first one. *open: text is the beginning
 * of a longer rule. */
static rule find_rule(tr_bytes rules, const char *text, size_t size, size_t character, bool *open)
{
    rule found = {text, text, 0};
    *open = false;
    for (size_t at = find_line(rules, text, character); at < rules.size;) {
        const rule r = rule_at(rules, at);
        if (r.size < character || memcmp(r.from, text, character) != 0)
            break;
        if (r.size > size)
            *open = *open || memcmp(r.from, text, size) == 0;
        else if (memcmp(r.from, text, r.size) == 0)
            found = r; /* longer ones come later */
        at += line_size(r);
    }
    return found;
}

/* Goes over a text, and returns where it stopped: at the end, or, if it is not to be written, where what follows the text
 * matters. */
static size_t go_over(tr_bytes rules, char *text, size_t size, bool write)
{
    for (size_t at = 0; at < size;) {
        size_t character = 1;
        bool open = false;
        if ((unsigned char)text[at] < 0x80) {
            at++;
            continue;
        }
        tr_character(text, size, at, &character);
        const rule r = find_rule(rules, text + at, size - at, character, &open);
        if (!write && open)
            return at;
        if (write)
            memcpy(text + at, r.to, r.size);
        at += r.size ? r.size : character;
    }
    return size;
}

void tr_traditional_write(tr_bytes rules, char *text, size_t size)
{
    if (rules.size)
        go_over(rules, text, size, true);
}

size_t tr_traditional_settled(tr_bytes rules, const char *text, size_t size)
{
    return go_over(rules, (char *)text, size, false);
}
