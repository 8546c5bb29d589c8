/* Which values of JSON and YAML are translated. */
#include "document/keys.h"

#include <string.h>

enum { MAX_PATTERNS = 64 };

/* --------------------------------------------------------------------------------------------------------------- patterns
 */

/* The next pattern at *at, without white space around it; NULL: there are no more. */
static const char *next_pattern(const char **at, size_t *size)
{
    const char *begin = *at;
    begin += strspn(begin, ", \t");
    *size = strcspn(begin, ",");
    *at = begin + *size;
    while (*size && (begin[*size - 1] == ' ' || begin[*size - 1] == '\t'))
        --*size;
    return *size ? begin : NULL;
}

static bool is_name(const char *pattern, size_t size, const char *name, size_t name_size)
{
    return size == name_size && memcmp(pattern, name, size) == 0;
}

static bool has_keys(const tr_document *d)
{
    return d->settings.keys && d->settings.keys[strspn(d->settings.keys, ", \t")];
}

tr_status tr_keys_check(const tr_document *d, tr_error *error)
{
    const char *at = d->settings.keys ? d->settings.keys : "";
    size_t size, count = 0;
    while (next_pattern(&at, &size))
        count++;
    return count <= MAX_PATTERNS ? TR_OK : tr_fail(error, TR_ERROR_ARGUMENT, "keys: more than %d patterns", MAX_PATTERNS);
}

/* Part number `index` of a path; NULL: it has fewer. */
static const char *path_part(const char *pattern, size_t size, uint32_t index, size_t *part_size, bool *last)
{
    const char *end = pattern + size;
    for (;; index--) {
        const char *dot = memchr(pattern, '.', (size_t)(end - pattern));
        *part_size = (size_t)((dot ? dot : end) - pattern);
        *last = !dot;
        if (!index)
            return pattern;
        if (!dot)
            return NULL;
        pattern = dot + 1;
    }
}

tr_key_path tr_keys_enter(const tr_document *d, const tr_key_path *around, const char *key, size_t key_size)
{
    tr_key_path path = *around;
    const char *at = d->settings.keys ? d->settings.keys : "", *pattern;
    size_t size, part_size;
    for (uint64_t bit = 1; !path.selected && (pattern = next_pattern(&at, &size)) != NULL; bit <<= 1) {
        bool last;
        path.selected = key && is_name(pattern, size, key, key_size);
        if (path.dead & bit)
            continue;
        const char *part = path_part(pattern, size, around->depth, &part_size, &last);
        const bool good = part && (is_name(part, part_size, "*", 1) || (key && is_name(part, part_size, key, key_size)));
        path.selected |= good && last;
        path.dead |= good ? 0 : bit;
    }
    path.depth++;
    return path;
}

/* --------------------------------------------------------------------------------------------------- what looks like text
 */

/* An address or a path. text has no white space. */
static bool is_address(const char *text, size_t size)
{
    static const char *const starts[] = {"mailto:", "tel:", "data:", "www.", "./", "../", "~/", "//"};
    size_t scheme = 0, name = size;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (tr_starts_with(text, size, starts[i]))
            return true;
    while (scheme < size && (tr_is_ascii_word(text[scheme]) || text[scheme] == '+'))
        scheme++;
    if (scheme && tr_starts_with(text + scheme, size - scheme, "://"))
        return true;
    /* A path with folders, to a file whose name has an extension: images/猫.png, /文档/说明.md */
    while (name && tr_is_ascii_word(text[name - 1]))
        name--;
    return name && size - name >= 1 && size - name <= 5 && text[name - 1] == '.' && memchr(text, '/', name);
}

/* The end of a tag <b>, a placeholder {name} or %s at text[i]; or i. */
static size_t skip_placeholder(const char *text, size_t size, size_t i)
{
    size_t k = i + 1;
    if (text[i] == '<' || text[i] == '{') {
        while (k < size && text[k] != '<' && text[k] != '{' && text[k] != '>' && text[k] != '}')
            k++;
        return k < size && text[k] == (text[i] == '<' ? '>' : '}') ? k + 1 : i;
    }
    while (k < size && (tr_is_ascii_digit(text[k]) || strchr("$.-+", text[k])))
        k++;
    return text[i] == '%' && k < size && tr_is_ascii_letter(text[k]) ? k + 1 : i;
}

/* What the words of an ASCII text tell. */
typedef struct words {
    size_t count;       /* with letters, and placeholders */
    bool plain, strong; /* some word has nothing but letters; and is written like one of a sentence: "Save", "loading..." */
} words;

static void look_at_word(const char *text, size_t size, words *w)
{
    bool letters = false, plain = true, capitals = false, small = false;
    size_t begin = 0, end = size;
    while (end && strchr(".,:;!?\"')]", text[end - 1]))
        end--;
    while (begin < end && strchr("\"'([", text[begin]))
        begin++;
    for (size_t i = begin; i < end; i++) {
        letters |= tr_is_ascii_letter(text[i]);
        plain &= tr_is_ascii_letter(text[i]) || (i > begin && text[i] == '\'') || (small && text[i] == '-');
        small |= tr_is_small_letter(text[i]);
        capitals |= i > begin && tr_is_ascii_capital(text[i]) && text[i - 1] != '-';
    }
    w->count += letters;
    w->plain |= letters && plain;
    w->strong |= letters && plain && small && !capitals && (tr_is_ascii_capital(text[begin]) || end < size);
}

bool tr_looks_like_text(const char *text, size_t size)
{
    words w = {0};
    bool white = false, ascii = true;
    while (size && tr_is_ascii_space(text[size - 1]))
        size--;
    while (size && tr_is_ascii_space(*text)) {
        text++;
        size--;
    }
    for (size_t i = 0; i < size; i++) {
        white |= tr_is_ascii_space(text[i]);
        ascii &= (unsigned char)text[i] < 0x80;
    }
    if (!size || (!white && is_address(text, size)))
        return false;
    if (!ascii)
        return true;
    for (size_t i = 0; i < size && !w.strong;) {
        size_t end = tr_is_ascii_space(text[i]) ? i + 1 : skip_placeholder(text, size, i);
        if (end == i) {
            for (end = i + 1; end < size && !tr_is_ascii_space(text[end]) && !strchr("<{%", text[end]);)
                end++;
            look_at_word(text + i, end - i, &w);
        } else {
            w.count += text[i] == '{' || text[i] == '%';
        }
        i = end;
    }
    return w.strong || (w.plain && w.count > 1 && white);
}

/* A pattern of strftime, as Rails keeps them in locales: two conversions or more, one of which printf has not. */
static bool is_date_pattern(const char *text, size_t size)
{
    size_t count = 0;
    bool date = false;
    for (size_t i = 0; i + 1 < size; i++) {
        if (text[i] != '%' || (i && tr_is_ascii_digit(text[i - 1]))) /* 100%Cotton */
            continue;
        i += 1 + (text[i + 1] == '-');
        const bool own = i < size && memchr("BHIMPRTYZbkmry", text[i], 14);
        date |= own;
        count += own || (i < size && memchr("ADFSadelpu", text[i], 10));
    }
    return date && count > 1;
}

bool tr_keys_translate(const tr_document *d, const tr_key_path *path, const char *text, size_t size)
{
    if (is_date_pattern(text, size))
        return false;
    return has_keys(d) ? path->selected : tr_looks_like_text(text, size);
}

/* -------------------------------------------------------------------------------------------------------------- languages
 */

bool tr_is_language_key(const char *key, size_t size)
{
    static const char *const names[] = {"lang", "locale", "@@locale", NULL};
    return tr_is_one_of(key, size, names);
}

tr_status tr_edit_language(tr_document *d, size_t begin, size_t end,
                           bool (*append)(const char *text, size_t size, uint32_t style, tr_buffer *out), uint32_t style,
                           tr_error *error)
{
    tr_buffer name = {0}, text = {0};
    bool good = tr_buffer_string(&name, d->settings.target_language);
    for (char *dash = name.data; good && memchr(d->data + begin, '_', end - begin) && (dash = strchr(dash, '-')) != NULL;)
        *dash = '_';
    good = good && append(name.data, name.size, style, &text);
    const tr_status status = good ? tr_edit_add(d, begin, end, text.data, text.size, error) : tr_fail_memory(error, d->name);
    tr_buffer_free(&name);
    tr_buffer_free(&text);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------------- escapes
 */

bool tr_is_escaped(const tr_document *d)
{
    bool escape = false;
    for (uint32_t i = 0; i < d->size; i++) {
        if ((unsigned char)d->data[i] >= 0x80)
            return false;
        escape |= i && d->data[i] == 'u' && d->data[i - 1] == '\\';
    }
    return escape;
}
