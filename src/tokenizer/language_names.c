#include "tokenizer/language_names.h"

#include <string.h>

#include "tokenizer/language_codes.h"
#include "util/utf8.h"

enum { WORDS = 64 }; /* of a name; further ones are ignored */

typedef struct word {
    const char *text;
    size_t size;
} word;

typedef struct name_parts {
    word words[WORDS];
    size_t count;
    bool any_code; /* any three letters are a code, and capitals a group */
} name_parts;

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool all(word w, bool (*is)(char))
{
    for (size_t i = 0; i < w.size; i++)
        if (!is(w.text[i]))
            return false;
    return w.size > 0;
}

static void divide(const char *name, name_parts *parts)
{
    *parts = (name_parts){0};
    while (*name && parts->count < WORDS) {
        const size_t size = strcspn(name, "-_.+ ");
        if (size)
            parts->words[parts->count++] = (word){name, size};
        name += size + (name[size] != 0);
    }
}

/* ------------------------------------------------------------------------------------------------------------- languages */

static bool copy_word(word w, char out[TR_LANGUAGE])
{
    if (w.size >= TR_LANGUAGE)
        return false;
    memcpy(out, w.text, w.size);
    out[w.size] = 0;
    return true;
}

static bool is_code(const name_parts *parts, word w)
{
    char code[TR_LANGUAGE];
    if (w.size < 2 || w.size > 3 || !(all(w, tr_is_small_letter) || all(w, is_capital)) || !copy_word(w, code))
        return false;
    return tr_language_is_known(code) || tr_language_is_group(code) || (parts->any_code && w.size == 3);
}

/* Parts after a code: "Hans", and, in capitals after lower-case letters, "CN" and "XX". */
static bool is_script(word w)
{
    return w.size == 4 && is_capital(w.text[0]) && all((word){w.text + 1, 3}, tr_is_small_letter);
}

static bool is_region(word w, word code)
{
    return w.size == 2 && all(w, is_capital) && all(code, tr_is_small_letter);
}

/* Reads the language at word *at and moves *at past it. */
static bool take_language(const name_parts *parts, size_t *at, char out[TR_LANGUAGE])
{
    size_t i = *at;
    if (i >= parts->count)
        return false;
    const word code = parts->words[i];
    /* ROMANCE, NORTH_EU: groups by their own names */
    const bool group = parts->any_code && code.size > 3 && all(code, is_capital);
    if ((!group && !is_code(parts, code)) || !copy_word(code, out))
        return false;
    for (i++; !group && i < parts->count; i++) {
        const word more = parts->words[i];
        const size_t used = strlen(out);
        if ((!is_script(more) && !is_region(more, code)) || used + 1 + more.size >= TR_LANGUAGE)
            break;
        out[used] = '-';
        memcpy(out + used + 1, more.text, more.size);
        out[used + 1 + more.size] = 0;
    }
    *at = i;
    return true;
}

/* Tongan only at the beginning. */
static bool is_to(word w)
{
    return w.size == 2 && memcmp(w.text, "to", 2) == 0;
}

/* "en-de", "en-to-de". */
static bool pair_at(const name_parts *parts, size_t at, char source[TR_LANGUAGE], char target[TR_LANGUAGE])
{
    if (!take_language(parts, &at, source))
        return false;
    if (at + 1 < parts->count && is_to(parts->words[at])) {
        size_t after_to = at + 1;
        if (take_language(parts, &after_to, target))
            return true;
    }
    return take_language(parts, &at, target);
}

/* Not as the word between two languages or the region of one. */
static bool may_begin(const name_parts *parts, size_t at)
{
    if (at == 0)
        return true;
    const word w = parts->words[at], before = parts->words[at - 1];
    return !is_to(w) && !(is_code(parts, before) && is_region(w, before));
}

/* "en2de" */
static bool pair_with_digit(word w, char source[TR_LANGUAGE], char target[TR_LANGUAGE])
{
    const char *digit = memchr(w.text, '2', w.size);
    if (!digit || !copy_word((word){w.text, (size_t)(digit - w.text)}, source) ||
        !copy_word((word){digit + 1, w.size - 1 - (size_t)(digit - w.text)}, target))
        return false;
    return strcmp(source, target) != 0 && tr_language_is_known(source) && tr_language_is_known(target);
}

/* "enzh" */
static bool pair_without_mark(word w, char source[TR_LANGUAGE], char target[TR_LANGUAGE])
{
    if (w.size != 4 || !all(w, tr_is_small_letter))
        return false;
    copy_word((word){w.text, 2}, source);
    copy_word((word){w.text + 2, 2}, target);
    const bool from = strcmp(source, "en") == 0, to = strcmp(target, "en") == 0;
    return from != to && tr_language_is_known(source) && tr_language_is_known(target);
}

static bool last_pair(const name_parts *parts, char source[TR_LANGUAGE], char target[TR_LANGUAGE])
{
    for (size_t i = parts->count; i-- > 0;)
        if (pair_with_digit(parts->words[i], source, target) ||
            (may_begin(parts, i) && pair_at(parts, i, source, target) && strcmp(source, target) != 0))
            return true;
    return false;
}

bool tr_languages_of_name(const char *name, char source[TR_LANGUAGE], char target[TR_LANGUAGE])
{
    static const char project[] = "opus-mt"; /* in which "mt" is not Maltese */
    const char *opus = strstr(name, project);
    name_parts parts;
    divide(opus ? opus + sizeof project - 1 : name, &parts);
    if (last_pair(&parts, source, target))
        return true;
    parts.any_code = opus || strncmp(name, "translate-", 10) == 0;
    if (parts.any_code && last_pair(&parts, source, target))
        return true;
    for (size_t i = parts.count; i-- > 0;)
        if (pair_without_mark(parts.words[i], source, target))
            return true;
    source[0] = target[0] = 0;
    return false;
}
