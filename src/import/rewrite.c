#include "import/rewrite.h"

#include <string.h>

#include "import/letters.h"
#include "util/utf8.h"

void tr_rewriting_free(tr_rewriting *r)
{
    tr_ids_free(&r->text);
    tr_ids_free(&r->spare);
}

bool tr_characters_add(tr_characters *out, int32_t c)
{
    return tr_ids_append(out, &c, 1);
}

bool tr_characters_read(tr_characters *out, const char *text, size_t size)
{
    for (size_t i = 0, length; i < size; i += length)
        if (!tr_characters_add(out, tr_utf8_decode(text + i, size - i, &length)))
            return false;
    return true;
}

bool tr_characters_write(const int32_t *characters, size_t count, tr_buffer *out)
{
    char bytes[4];
    for (size_t i = 0; i < count; i++)
        if (!tr_buffer_append(out, bytes, tr_utf8_encode((uint32_t)characters[i], bytes)))
            return false;
    return true;
}

void tr_rewriting_swap(tr_rewriting *r)
{
    const tr_characters text = r->text;
    r->text = r->spare;
    r->spare = text;
    r->spare.size = 0;
}

/* --------------------------------------------------------------------------------------------------------------- rules */

typedef struct pattern {
    const tr_rule *rule;
    int32_t from[TR_RULE_LONGEST];
    size_t size, left; /* characters of from, and of the class left of it: 0 or 1 */
} pattern;

static pattern pattern_of(const tr_rule *rule)
{
    pattern p = {.rule = rule, .left = rule->left != NULL};
    const size_t bytes = strlen(rule->from);
    for (size_t i = 0, length; i < bytes && p.size < TR_RULE_LONGEST; i += length)
        p.from[p.size++] = tr_utf8_decode(rule->from + i, bytes - i, &length);
    return p;
}

/* True if the pattern matches from text[at] on, its left character included. */
static bool matches(const pattern *p, const tr_characters *text, size_t at)
{
    const size_t whole = p->left + p->size + (p->rule->right != NULL);
    if (text->size - at < whole || text->data[at + p->left] != p->from[0])
        return false;
    const int32_t *const c = text->data + at;
    return memcmp(c + p->left, p->from, p->size * sizeof *c) == 0 && (!p->left || p->rule->left(*c)) &&
           (!p->rule->right || p->rule->right(c[p->left + p->size]));
}

/* The first match from at on; text->size: none. */
static size_t find_match(const pattern *p, const tr_characters *text, size_t at)
{
    while (at < text->size && !matches(p, text, at))
        at++;
    return at;
}

static bool apply_rule(tr_rewriting *r, const tr_rule *rule)
{
    const pattern p = pattern_of(rule);
    const tr_characters *const text = &r->text;
    size_t done = 0, at = find_match(&p, text, 0);
    if (at == text->size)
        return true;
    while (at < text->size) {
        if (!tr_ids_append(&r->spare, text->data + done, at + p.left - done) ||
            !tr_characters_read(&r->spare, rule->to, strlen(rule->to)))
            return false;
        done = at + p.left + p.size;
        at = find_match(&p, text, done + (rule->right != NULL));
    }
    if (!tr_ids_append(&r->spare, text->data + done, text->size - done))
        return false;
    tr_rewriting_swap(r);
    return true;
}

bool tr_rewrite(tr_rewriting *r, const tr_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!apply_rule(r, &rules[i]))
            return false;
    return true;
}

/* -------------------------------------------------------------------------------------------------------------- spaces */

static bool is_blank(int32_t c)
{
    return c == ' ';
}

/* Works in place, as the text does not become longer. */
static void collapse(tr_rewriting *r, tr_class *space)
{
    int32_t *const data = r->text.data;
    size_t kept = 0;
    bool after_space = false;
    for (size_t i = 0; i < r->text.size; i++) {
        const bool is = space(data[i]);
        if (!is || !after_space)
            data[kept++] = is ? ' ' : data[i];
        after_space = is;
    }
    r->text.size = kept;
}

void tr_rewrite_spaces(tr_rewriting *r)
{
    collapse(r, is_blank);
}

void tr_rewrite_white(tr_rewriting *r)
{
    collapse(r, tr_is_white);
}

void tr_rewrite_strip(tr_rewriting *r)
{
    tr_characters *const text = &r->text;
    size_t first = 0;
    while (text->size && tr_is_white(text->data[text->size - 1]))
        text->size--;
    while (first < text->size && tr_is_white(text->data[first]))
        first++;
    if (first)
        memmove(text->data, text->data + first, (text->size - first) * sizeof *text->data);
    text->size -= first;
}
