#include <stdlib.h>
#include <string.h>

#include "import/letters.h"
#include "import/moses.h"

static const tr_rule plain[] = {
    {NULL, " @-@ ", NULL, "-"},  {NULL, "&bar;", NULL, "|"}, /* older editions wrote these */
    {NULL, "&#124;", NULL, "|"}, {NULL, "&lt;", NULL, "<"},    {NULL, "&gt;", NULL, ">"},   {NULL, "&bra;", NULL, "["},
    {NULL, "&ket;", NULL, "]"},  {NULL, "&quot;", NULL, "\""}, {NULL, "&apos;", NULL, "'"}, {NULL, "&#91;", NULL, "["},
    {NULL, "&#93;", NULL, "]"},  {NULL, "&amp;", NULL, "&"}, /* the last: &amp;lt; is &lt; */
};

typedef struct word {
    const int32_t *data; /* none is empty */
    size_t size;
} word;

/* How often a quotation mark has come: it opens and closes in turns. */
typedef struct quote {
    word mark;
    size_t count;
} quote;

typedef struct joining {
    const char *language;
    word *words; /* [count] */
    size_t count, at;
    tr_characters *out;
    bool close;    /* no space before the next word */
    quote *quotes; /* [count], of which the first quote_count are used */
    size_t quote_count;
} joining;

static bool speaks(const joining *j, const char *language)
{
    return strcmp(j->language, language) == 0;
}

static int32_t last_of(word w)
{
    return w.data[w.size - 1];
}

static bool all_are(word w, tr_class *class)
{
    size_t i = 0;
    while (i < w.size && class(w.data[i]))
        i++;
    return i == w.size;
}

/* Appends w, after a space unless it is joined to the word before. */
static bool put(joining *j, word w)
{
    return (j->close || tr_characters_add(j->out, ' ')) && tr_ids_append(j->out, w.data, w.size);
}

static bool put_left(joining *j, word w)
{
    j->close = false;
    return tr_ids_append(j->out, w.data, w.size);
}

static bool put_plain(joining *j, word w)
{
    const bool done = put(j, w);
    j->close = false;
    return done;
}

static bool put_right(joining *j, word w)
{
    const bool done = put(j, w);
    j->close = true;
    return done;
}

/* --------------------------------------------------------------------------------------------------------------- quotes */

static bool is_quote(int32_t c)
{
    return c == '\'' || c == '"' || c == 0x201e || c == 0x201c || c == '`'; /* „ “ */
}

static bool is_low_or_high(int32_t c)
{
    return c == 0x201e || c == 0x201c;
}

static quote *quote_of(joining *j, word w)
{
    static const int32_t plain_mark = '"';
    if (all_are(w, is_low_or_high))
        w = (word){&plain_mark, 1};
    for (size_t i = 0; i < j->quote_count; i++) {
        const word mark = j->quotes[i].mark;
        if (mark.size == w.size && memcmp(mark.data, w.data, w.size * sizeof *w.data) == 0)
            return &j->quotes[i];
    }
    quote *const added = &j->quotes[j->quote_count++];
    *added = (quote){w, 0};
    return added;
}

static bool put_quote(joining *j, word w)
{
    quote *const q = quote_of(j, w);
    if (speaks(j, "cs") && w.size == 1 && is_low_or_high(w.data[0]))
        q->count = w.data[0] == 0x201c;
    if (q->count % 2 == 0 && speaks(j, "en") && w.size == 1 && w.data[0] == '\'' && j->at > 0 &&
        last_of(j->words[j->at - 1]) == 's')
        return put_left(j, w); /* the Joneses' house */
    return q->count++ % 2 == 0 ? put_right(j, w) : put_left(j, w);
}

/* ---------------------------------------------------------------------------------------------------------------- words */

static bool is_opening(int32_t c)
{
    return tr_is_currency(c) || c == '(' || c == '[' || c == '{' || c == 0xbf || c == 0xa1; /* ¿ ¡ */
}

static bool is_closing(int32_t c)
{
    return c > 0 && c < 0x80 && strchr(",.?!:;\\%}])", (int)c);
}

static bool is_spaced_in_french(word w)
{
    return w.size == 1 && strchr("?!:;\\%", (int)w.data[0]);
}

/* 's */
static bool is_english_clitic(word w)
{
    return w.size > 1 && w.data[0] == '\'' && tr_is_letter(w.data[1]);
}

/* l' */
static bool is_romance_clitic(word w)
{
    return w.size > 1 && last_of(w) == '\'' && tr_is_letter(w.data[w.size - 2]);
}

/* As in sacremoses, the text's last two words decide for all of it. */
static bool is_czech_fraction(const joining *j, word w)
{
    if (j->at < 2 || !all_are(w, tr_is_digit))
        return false;
    const word mark = j->words[j->count - 1], number = j->words[j->count - 2];
    return mark.size == 1 && (mark.data[0] == '.' || mark.data[0] == ',') && all_are(number, tr_is_digit);
}

static bool put_word(joining *j)
{
    const word w = j->words[j->at];
    const bool last = j->at + 1 == j->count;
    if (tr_is_east_asian(w.data[0]) && !speaks(j, "ko")) {
        if (j->at > 0 && tr_is_east_asian(last_of(j->words[j->at - 1])))
            return put_left(j, w);
        return put_plain(j, w);
    }
    if (all_are(w, is_opening))
        return put_right(j, w);
    if (all_are(w, is_closing)) {
        if (speaks(j, "fr") && is_spaced_in_french(w) && !tr_characters_add(j->out, ' '))
            return false;
        return put_left(j, w);
    }
    if (speaks(j, "en") && j->at > 0 && is_english_clitic(w))
        return put_left(j, w);
    if (speaks(j, "cs") && is_czech_fraction(j, w))
        return put_left(j, w);
    if ((speaks(j, "fr") || speaks(j, "it") || speaks(j, "ga")) && !last && is_romance_clitic(w) &&
        tr_is_letter(j->words[j->at + 1].data[0]))
        return put_right(j, w);
    return all_are(w, is_quote) ? put_quote(j, w) : put_plain(j, w);
}

/* Fills words, if it is not NULL; how many there are. */
static size_t find_words(const tr_characters *text, word *words)
{
    size_t count = 0;
    for (size_t i = 0, end; i < text->size; i = end) {
        while (i < text->size && tr_is_white(text->data[i]))
            i++;
        for (end = i; end < text->size && !tr_is_white(text->data[end]);)
            end++;
        if (words && end > i)
            words[count] = (word){text->data + i, end - i};
        count += end > i;
    }
    return count;
}

static bool join_words(tr_rewriting *r, joining *j)
{
    for (j->at = 0; j->at < j->count; j->at++)
        if (!put_word(j))
            return false;
    tr_rewriting_swap(r);
    tr_rewrite_spaces(r);
    tr_rewrite_strip(r);
    return true;
}

/* Adds a space at both ends, where an escaped hyphen may lie as well. */
static bool pad(tr_rewriting *r)
{
    if (!tr_characters_add(&r->spare, ' ') || !tr_ids_append(&r->spare, r->text.data, r->text.size) ||
        !tr_characters_add(&r->spare, ' '))
        return false;
    tr_rewriting_swap(r);
    return true;
}

bool tr_moses_join(tr_rewriting *r, const char *language)
{
    if (!pad(r) || !tr_rewrite(r, plain, TR_COUNT(plain)))
        return false;
    joining j = {.language = language, .count = find_words(&r->text, NULL), .out = &r->spare};
    j.words = calloc(j.count + 1, sizeof *j.words);
    j.quotes = calloc(j.count + 1, sizeof *j.quotes);
    bool done = j.words && j.quotes;
    if (done) {
        find_words(&r->text, j.words);
        done = join_words(r, &j);
    }
    free(j.words);
    free(j.quotes);
    return done;
}
