#include <string.h>

#include "import/letters.h"
#include "import/moses.h"
#include "import/prefixes.h"

enum { DOT = -1 }; /* one of several full stops in a row, which nothing may take apart */

/* Rules of single languages. */
typedef struct manner {
    const char *language;
    tr_class *script; /* characters that are letters in its texts; NULL: none besides all texts' */
} manner;

static manner manner_of(const char *language)
{
    manner m = {.language = language};
    if (strcmp(language, "zh") == 0)
        m.script = tr_is_han;
    else if (strcmp(language, "ja") == 0)
        m.script = tr_is_japanese;
    else if (strcmp(language, "ko") == 0)
        m.script = tr_is_hangul;
    return m;
}

/* ---------------------------------------------------------------------------------------------------------------- marks */

static bool is_control(int32_t c)
{
    return c >= 0 && c < ' ';
}

static void remove_controls(tr_characters *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < text->size; i++)
        if (!is_control(text->data[i]))
            text->data[kept++] = text->data[i];
    text->size = kept;
}

/* Marks that are words of their own. The meaning of the others depends on their neighbours. */
static bool stands_alone(const manner *m, int32_t c)
{
    return !tr_is_white(c) && c != '.' && c != '\'' && c != '`' && c != ',' && c != '-' && !tr_is_word_character(c) &&
           !(m->script && m->script(c));
}

static bool pad_marks(tr_rewriting *r, const manner *m)
{
    for (size_t i = 0; i < r->text.size; i++) {
        const int32_t padded[] = {' ', r->text.data[i], ' '};
        const bool alone = stands_alone(m, padded[1]);
        if (!tr_ids_append(&r->spare, alone ? padded : padded + 1, alone ? 3 : 1))
            return false;
    }
    tr_rewriting_swap(r);
    return true;
}

/* Two full stops and more are a word. */
static bool pad_dots(tr_rewriting *r)
{
    const tr_characters *const text = &r->text;
    for (size_t i = 0, end; i < text->size; i = end) {
        for (end = i; end < text->size && text->data[end] == '.';)
            end++;
        const size_t dots = end - i;
        bool done = true;
        if (dots >= 2) {
            done = tr_characters_add(&r->spare, ' ');
            for (size_t k = 0; done && k < dots; k++)
                done = tr_characters_add(&r->spare, DOT);
            done = done && tr_characters_add(&r->spare, ' ');
        } else {
            done = tr_characters_add(&r->spare, text->data[i]);
            end = i + 1;
        }
        if (!done)
            return false;
    }
    tr_rewriting_swap(r);
    return true;
}

/* --------------------------------------------------------------------------------------------------- commas, apostrophes */

static bool is_no_number(int32_t c)
{
    return !tr_is_number(c);
}

static bool is_no_letter(int32_t c)
{
    return !tr_is_letter_or_sign(c);
}

static bool is_neither(int32_t c)
{
    return is_no_letter(c) && is_no_number(c);
}

static bool is_s(int32_t c)
{
    return c == 's';
}

/* Commas stay inside of numbers: 5,300. */
static const tr_rule commas[] = {{is_no_number, ",", NULL, " , "}, {NULL, ",", is_no_number, " , "}};

/* it 's; the 1990 's */
static const tr_rule english[] = {
    {is_no_letter, "'", is_no_letter, " ' "},
    {is_neither, "'", tr_is_letter_or_sign, " ' "},
    {tr_is_letter_or_sign, "'", is_no_letter, " ' "},
    {tr_is_letter_or_sign, "'", tr_is_letter_or_sign, " '"},
    {tr_is_number, "'", is_s, " '"},
};

/* l' eau */
static const tr_rule romance[] = {
    {is_no_letter, "'", is_no_letter, " ' "},
    {is_no_letter, "'", tr_is_letter_or_sign, " ' "},
    {tr_is_letter_or_sign, "'", is_no_letter, " ' "},
    {tr_is_letter_or_sign, "'", tr_is_letter_or_sign, "' "},
};

static const tr_rule others[] = {{NULL, "'", NULL, " ' "}};

static bool cut_commas(tr_rewriting *r)
{
    static const int32_t end[] = {' ', ',', ' '};
    if (!tr_rewrite(r, commas, TR_COUNT(commas)))
        return false;
    tr_characters *const text = &r->text;
    if (text->size < 2 || text->data[text->size - 1] != ',' || !tr_is_number(text->data[text->size - 2]))
        return true;
    text->size--;
    return tr_ids_append(text, end, TR_COUNT(end));
}

static bool cut_apostrophes(tr_rewriting *r, const manner *m)
{
    if (strcmp(m->language, "en") == 0)
        return tr_rewrite(r, english, TR_COUNT(english));
    if (strcmp(m->language, "fr") == 0 || strcmp(m->language, "it") == 0)
        return tr_rewrite(r, romance, TR_COUNT(romance));
    return tr_rewrite(r, others, TR_COUNT(others));
}

/* ----------------------------------------------------------------------------------------------------------- full stops */

static bool has_stop_and_letter(const manner *m, const int32_t *word, size_t size)
{
    bool stop = false, letter = false;
    for (size_t i = 0; i < size; i++) {
        stop = stop || word[i] == '.';
        letter = letter || tr_is_letter_or_sign(word[i]) || (m->script && m->script(word[i]));
    }
    return stop && letter;
}

/* Whether word, without its full stop, keeps it; next: the character that the next word begins with, 0 if there is none. */
static bool keeps_stop(const manner *m, const int32_t *word, size_t size, int32_t next)
{
    if (has_stop_and_letter(m, word, size) || tr_is_lowercase(next))
        return true;
    const tr_prefix_kind kind = tr_prefix_kind_of(m->language, word, size);
    return kind == TR_PREFIX_ANY || (kind == TR_PREFIX_NUMBER && tr_is_digit(next));
}

static size_t word_end(const tr_characters *text, size_t at)
{
    while (at < text->size && text->data[at] != ' ')
        at++;
    return at;
}

/* The words of a text without other white space, with one space between two. */
static bool cut_stops(tr_rewriting *r, const manner *m)
{
    const tr_characters *const text = &r->text;
    for (size_t i = 0, end; i < text->size; i = end + 1) {
        end = word_end(text, i);
        const int32_t *const word = text->data + i;
        const size_t size = end - i;
        const int32_t next = end + 1 < text->size ? text->data[end + 1] : 0;
        const bool cut = size > 1 && word[size - 1] == '.' && !keeps_stop(m, word, size - 1, next);
        if (!tr_ids_append(&r->spare, word, size - cut) || (cut && !tr_characters_read(&r->spare, " .", 2)) ||
            !tr_characters_add(&r->spare, ' '))
            return false;
    }
    tr_rewriting_swap(r);
    tr_rewrite_strip(r);
    return true;
}

/* he said.' */
static bool cut_last_quote(tr_rewriting *r)
{
    static const char end[] = " . ' ";
    tr_characters *const text = &r->text;
    if (text->size < 2 || text->data[text->size - 1] != '\'' || text->data[text->size - 2] != '.')
        return true;
    text->size -= 2;
    return tr_characters_read(text, end, sizeof end - 1);
}

/* -------------------------------------------------------------------------------------------------------------- writing */

static const char *escape_of(int32_t c)
{
    switch (c) {
    case '&': return "&amp;";
    case '|': return "&#124;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '\'': return "&apos;";
    case '"': return "&quot;";
    case '[': return "&#91;";
    case ']': return "&#93;";
    case DOT: return ".";
    default: return NULL;
    }
}

static bool write_words(tr_rewriting *r, tr_buffer *words)
{
    tr_rewrite_white(r);
    tr_rewrite_strip(r);
    for (size_t i = 0; i < r->text.size; i++) {
        const char *const escape = escape_of(r->text.data[i]);
        if (!(escape ? tr_buffer_string(words, escape) : tr_characters_write(r->text.data + i, 1, words)))
            return false;
    }
    return true;
}

bool tr_moses_split(tr_rewriting *r, const char *language, tr_buffer *words)
{
    const manner m = manner_of(language);
    tr_rewrite_white(r);
    remove_controls(&r->text);
    tr_rewrite_strip(r);
    if (!pad_marks(r, &m) || !pad_dots(r) || !cut_commas(r) || !cut_apostrophes(r, &m))
        return false;
    tr_rewrite_white(r);
    tr_rewrite_strip(r);
    return cut_stops(r, &m) && cut_last_quote(r) && write_words(r, words);
}
