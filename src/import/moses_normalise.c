#include <string.h>

#include "import/letters.h"
#include "import/moses.h"

#define NBSP "\xc2\xa0"

static bool is_mark(int32_t c)
{
    return c == '.' || c == '!' || c == ':' || c == '?' || c == ';' || c == ',';
}

static const tr_rule brackets[] = {{NULL, "\r", NULL, ""}, {NULL, "(", NULL, " ("}, {NULL, ")", NULL, ") "}};

static const tr_rule spaces[] = {
    {NULL, ") ", is_mark, ")"}, {NULL, "( ", NULL, "("}, {NULL, " )", NULL, ")"}, {tr_is_decimal, " %", NULL, "%"},
    {NULL, " :", NULL, ":"},    {NULL, " ;", NULL, ";"}, {NULL, "`", NULL, "'"},  {NULL, "''", NULL, " \" "},
    {NULL, "„", NULL, "\""},    {NULL, "“", NULL, "\""}, {NULL, "”", NULL, "\""}, {NULL, "–", NULL, "-"},
    {NULL, "—", NULL, " - "},
};

static const tr_rule quotes[] = {
    {NULL, "´", NULL, "'"},
    {NULL, "‘", NULL, "'"},
    {NULL, "‚", NULL, "'"},
    {NULL, "’", NULL, "'"},
    {NULL, "''", NULL, "\""},
    {NULL, "…", NULL, "..."},
    {NULL, NBSP "«" NBSP, NULL, "\""},
    {NULL, "«" NBSP, NULL, "\""},
    {NULL, "«", NULL, "\""},
    {NULL, NBSP "»" NBSP, NULL, "\""},
    {NULL, NBSP "»", NULL, "\""},
    {NULL, "»", NULL, "\""},
    {NULL, NBSP "%", NULL, "%"},
    {NULL, "nº" NBSP, NULL, "nº "},
    {NULL, NBSP ":", NULL, ":"},
    {NULL, NBSP "ºC", NULL, " ºC"},
    {NULL, NBSP "cm", NULL, " cm"},
    {NULL, NBSP "?", NULL, "?"},
    {NULL, NBSP "!", NULL, "!"},
    {NULL, NBSP ";", NULL, ";"},
    {NULL, "," NBSP, NULL, ", "},
};

static const tr_rule comma_quote[] = {{NULL, ",\"", NULL, "\","}};
static const tr_rule decimal_comma[] = {{tr_is_decimal, NBSP, tr_is_decimal, ","}};
static const tr_rule decimal_point[] = {{tr_is_decimal, NBSP, tr_is_decimal, "."}};

/* English: marks go inside of quotes, "word", to "word," */
static void marks_before_quotes(tr_characters *text)
{
    for (size_t i = 0; i + 1 < text->size; i++) {
        int32_t *const c = text->data + i;
        if (c[0] == '"' && (c[1] == '.' || c[1] == ',')) {
            c[0] = c[1];
            c[1] = '"';
        }
    }
}

/* True if a quote at text[at] is followed by anything, white space included, other than an end tag. */
static bool goes_on(const tr_characters *text, size_t at, size_t *end)
{
    size_t next = at + 1;
    while (next < text->size && tr_is_white(text->data[next]))
        next++;
    const bool other = next < text->size && text->data[next] != '<';
    *end = other ? next + 1 : next;
    return other || next > at + 1;
}

/* German, Spanish, French: full stops go outside, unless the sentence ends there. */
static void quotes_before_stops(tr_characters *text)
{
    for (size_t i = 0, end; i < text->size;) {
        size_t quote = i;
        while (quote < text->size && text->data[quote] == '.')
            quote++;
        if (quote == i || quote == text->size || text->data[quote] != '"' || !goes_on(text, quote, &end)) {
            i = quote > i ? quote : i + 1;
            continue;
        }
        text->data[i] = '"';
        for (size_t k = i + 1; k <= quote; k++)
            text->data[k] = '.';
        i = end;
    }
}

static bool is_one_of(const char *language, const char *list)
{
    return strlen(language) == 2 && strstr(list, language) != NULL;
}

bool tr_moses_normalise(tr_rewriting *r, const char *language)
{
    bool done = tr_rewrite(r, brackets, TR_COUNT(brackets));
    tr_rewrite_spaces(r);
    done = done && tr_rewrite(r, spaces, TR_COUNT(spaces));
    tr_rewrite_spaces(r);
    done = done && tr_rewrite(r, quotes, TR_COUNT(quotes));
    tr_rewrite_spaces(r);
    if (is_one_of(language, "en")) {
        marks_before_quotes(&r->text);
    } else if (is_one_of(language, "de es fr")) {
        done = done && tr_rewrite(r, comma_quote, TR_COUNT(comma_quote));
        quotes_before_stops(&r->text);
    }
    const bool comma = is_one_of(language, "de es fr cs cz");
    done = done && tr_rewrite(r, comma ? decimal_comma : decimal_point, 1);
    tr_rewrite_strip(r);
    return done;
}
