/* Numbers in English texts: 1.56 billion, twenty-five, 5% off, two thirds, May 1, 2:35 p.m. */
#define _GNU_SOURCE
#include "text/figures.h"

#include <string.h>

#include "util/utf8.h"

typedef struct reader {
    const char *text;
    size_t size;
} reader;

static char at(const reader *r, size_t i)
{
    return i < r->size ? r->text[i] : 0;
}

/* A word in lower case. */
typedef struct word {
    char text[16];
    size_t begin, end;
} word;

/* The word that begins at text[i]; false: none, or a long one. */
static bool read_word(const reader *r, size_t i, word *w)
{
    size_t length = 0;
    w->begin = i;
    while (tr_is_ascii_letter(at(r, i + length))) {
        if (length < sizeof w->text - 1)
            w->text[length] = (char)(at(r, i + length) | 0x20);
        length++;
    }
    w->end = i + length;
    if (!length || length >= sizeof w->text)
        return false;
    w->text[length] = 0;
    return true;
}

/* The next word after one space or hyphen. */
static bool next_word(const reader *r, size_t i, word *w)
{
    return (at(r, i) == ' ' || at(r, i) == '-') && read_word(r, i + 1, w);
}

static int index_in(const char *const *list, int count, const char *text)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i], text) == 0)
            return i;
    return -1;
}

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static const char *const small[] = {"zero",     "one",     "two",     "three",     "four",     "five",    "six",
                                    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                                    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
static const char *const ordinals[] = {"zeroth",    "first",     "second",      "third",      "fourth",
                                       "fifth",     "sixth",     "seventh",     "eighth",     "ninth",
                                       "tenth",     "eleventh",  "twelfth",     "thirteenth", "fourteenth",
                                       "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth"};
static const char *const tens[] = {"twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
static const char *const tens_ordinals[] = {"twentieth", "thirtieth",  "fortieth",  "fiftieth",
                                            "sixtieth",  "seventieth", "eightieth", "ninetieth"};
static const char *const months[] = {"january", "february", "march",     "april",   "may",      "june",
                                     "july",    "august",   "september", "october", "november", "december"};
static const char *const short_months[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                           "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const scales[] = {"hundred", "thousand", "million", "billion", "trillion"};
static const int scale_powers[] = {2, 3, 6, 9, 12};

static int scale_of(const char *text)
{
    char single[16];
    const size_t length = strlen(text);
    strcpy(single, text);
    if (length > 4 && text[length - 1] == 's')
        single[length - 1] = 0;
    const int i = index_in(scales, COUNT(scales), single);
    return i >= 0 ? scale_powers[i] : 0;
}

static uint64_t power(int exponent)
{
    uint64_t p = 1;
    while (exponent-- > 0)
        p *= 10;
    return p;
}

/* The value of a number's word below 100, and whether it is an ordinal; -1: it is none. */
static int small_value(const char *text, bool *ordinal)
{
    int i = index_in(small, COUNT(small), text);
    *ordinal = false;
    if (i >= 0)
        return i;
    if ((i = index_in(tens, COUNT(tens), text)) >= 0)
        return 20 + 10 * i;
    *ordinal = true;
    if ((i = index_in(ordinals, COUNT(ordinals), text)) >= 0)
        return i;
    return (i = index_in(tens_ordinals, COUNT(tens_ordinals), text)) >= 0 ? 20 + 10 * i : -1;
}

/* A number in words: twenty-five, two hundred and three, a hundred thousand. */
static bool read_spelled(const reader *r, const word *first, tr_figure *f)
{
    uint64_t total = 0, section = 0;
    word w = *first, next;
    bool ordinal = false, any = false;
    int last = 1000;
    if (scale_of(w.text) && w.text[strlen(w.text) - 1] != 's') { /* the hundred */
        section = 1;
        any = true;
    }
    if (strcmp(w.text, "a") == 0 || strcmp(w.text, "an") == 0) {
        if (!next_word(r, w.end, &next) || !scale_of(next.text))
            return false;
        section = 1;
        any = true;
        f->end = w.end;
        w = next;
    }
    for (;;) {
        bool is_ordinal;
        const int value = small_value(w.text, &is_ordinal), scale = value < 0 ? scale_of(w.text) : 0;
        if (value >= 0) {
            if (any && (value >= last || (last == 10 && value >= 10) || last < 10))
                break;
            section += (uint64_t)value;
            last = value >= 20 ? 10 : 1;
        } else if (scale && any && total < power(15)) {
            if (scale == 2)
                section = (section ? section : 1) * 100;
            else {
                total += (section ? section : 1) * power(scale);
                section = 0;
            }
            last = 1000;
        } else {
            break;
        }
        any = true;
        f->end = w.end;
        ordinal = value >= 0 && is_ordinal;
        if (ordinal || !next_word(r, w.end, &next))
            break;
        if (strcmp(next.text, "and") == 0 && last == 1000 && next_word(r, next.end, &w)) {
            bool unused;
            if (small_value(w.text, &unused) < 0)
                break;
            continue;
        }
        w = next;
    }
    if (!any)
        return false;
    f->kind = TR_FIGURE_NUMBER;
    f->begin = first->begin;
    f->value = tr_decimal_of(total + section, 0);
    f->ordinal = ordinal;
    f->spelled = true;
    f->optional = total + section <= 10;
    return true;
}

static bool word_is(const reader *r, size_t i, const char *text, size_t *end)
{
    word w;
    if (!read_word(r, i, &w) || strcmp(w.text, text) != 0)
        return false;
    *end = w.end;
    return true;
}

static size_t skip_space(const reader *r, size_t i)
{
    return at(r, i) == ' ' ? i + 1 : i;
}

/* a.m., pm */
static tr_day_half read_half(const reader *r, size_t i, size_t *end)
{
    const size_t from = skip_space(r, i);
    const char c = (char)(at(r, from) | 0x20);
    size_t k = from + 1;
    if (c != 'a' && c != 'p')
        return TR_HALF_UNKNOWN;
    k += at(r, k) == '.';
    if ((at(r, k) | 0x20) != 'm' || tr_is_ascii_letter(at(r, k + 1)))
        return TR_HALF_UNKNOWN;
    *end = k + 1 + (at(r, k + 1) == '.' && at(r, from + 1) == '.');
    return c == 'a' ? TR_HALF_MORNING : TR_HALF_AFTERNOON;
}

static void set_half(tr_figure *f, tr_day_half half)
{
    f->half = half;
    if (half == TR_HALF_AFTERNOON && f->hour < 12)
        f->hour += 12;
    else if (half == TR_HALF_MORNING && f->hour == 12)
        f->hour = 0;
}

/* What follows a number changes its kind: %, off, a scale, an ordinal's ending, a time's minutes, a denominator. */
static void read_after(const reader *r, tr_figure *f)
{
    word w;
    size_t end = f->end;
    if (at(r, end) == '%' || (read_word(r, skip_space(r, end), &w) && strcmp(w.text, "percent") == 0) ||
        (read_word(r, skip_space(r, end), &w) && strcmp(w.text, "per") == 0 &&
         word_is(r, skip_space(r, w.end), "cent", &w.end))) {
        f->kind = TR_FIGURE_PERCENT;
        f->plain = at(r, end) == '%';
        f->optional = f->spelled = false;
        f->end = at(r, end) == '%' ? end + 1 : w.end;
        if (word_is(r, skip_space(r, f->end), "off", &end) || word_is(r, skip_space(r, f->end), "discount", &end)) {
            f->kind = TR_FIGURE_OFF;
            f->end = end;
            f->plain = false;
        }
        return;
    }
    if (next_word(r, end, &w) && scale_of(w.text)) {
        while (next_word(r, f->end, &w) && scale_of(w.text)) {
            f->value.exponent += f->value.digits ? scale_of(w.text) : 0;
            f->end = w.end;
        }
        f->plain = f->optional = f->spelled = false;
        return;
    }
    const tr_day_half half = read_half(r, end, &end);
    if (half != TR_HALF_UNKNOWN && !f->value.exponent && f->value.digits <= 12) {
        f->kind = TR_FIGURE_TIME;
        f->hour = (int)f->value.digits;
        f->end = end;
        f->plain = f->optional = f->spelled = false;
        set_half(f, half);
        return;
    }
    if (half != TR_HALF_UNKNOWN && f->value.exponent == 1 && f->value.digits == 1) {
        f->kind = TR_FIGURE_TIME;
        f->hour = 10;
        f->end = end;
        f->plain = f->optional = f->spelled = false;
        set_half(f, half);
    }
}

/* 14:35, 2:35 p.m. */
static bool read_clock(const reader *r, size_t i, tr_figure *f)
{
    size_t k = i;
    int hour = 0, minute = 0;
    while (tr_is_ascii_digit(at(r, k)) && k - i < 3)
        hour = hour * 10 + (at(r, k++) - '0');
    if (k - i > 2 || at(r, k) != ':' || !tr_is_ascii_digit(at(r, k + 1)) || !tr_is_ascii_digit(at(r, k + 2)) ||
        tr_is_ascii_digit(at(r, k + 3)) || at(r, k + 3) == ':')
        return false;
    minute = (at(r, k + 1) - '0') * 10 + at(r, k + 2) - '0';
    if (hour > 24 || minute > 59)
        return false;
    *f = (tr_figure){.begin = i, .end = k + 3, .kind = TR_FIGURE_TIME, .hour = hour, .minute = minute};
    set_half(f, read_half(r, f->end, &f->end));
    f->plain = f->half == TR_HALF_UNKNOWN;
    return true;
}

/* 2024-05-01 */
static bool read_iso_date(const reader *r, size_t i, tr_figure *f)
{
    const char c = at(r, i + 4);
    int parts[3] = {0, 0, 0}, part = 0;
    size_t k = i;
    if (c != '-' && c != '/')
        return false;
    for (; part < 3; k++) {
        const char d = at(r, k);
        if (tr_is_ascii_digit(d) && parts[part] < 3000)
            parts[part] = parts[part] * 10 + d - '0';
        else if (d == c && part < 2)
            part++;
        else
            break;
    }
    if (part != 2 || parts[0] < 1000 || parts[1] < 1 || parts[1] > 12 || parts[2] < 1 || parts[2] > 31)
        return false;
    *f = (tr_figure){
        .begin = i, .end = k, .kind = TR_FIGURE_DATE, .year = parts[0], .month = parts[1], .day = parts[2], .plain = true};
    return true;
}

static bool read_digits(const reader *r, size_t i, tr_figure *f)
{
    size_t digits;
    if (read_clock(r, i, f) || read_iso_date(r, i, f))
        return true;
    *f = (tr_figure){.begin = i, .plain = true};
    f->end = tr_decimal_read(r->text, r->size, i, &f->value, &digits);
    if (f->end == i) {
        f->kind = TR_FIGURE_DIGITS;
        while (tr_is_ascii_digit(at(r, f->end)))
            f->end++;
        return f->end > i;
    }
    tr_decimal other;
    if (at(r, f->end) == '/' && tr_is_ascii_digit(at(r, f->end + 1)) && f->value.exponent == 0) {
        const size_t end = tr_decimal_read(r->text, r->size, f->end + 1, &other, &digits);
        if (end > f->end && at(r, end) != '/' && other.digits) {
            f->kind = TR_FIGURE_PART;
            f->other = other;
            f->end = end;
            return true;
        }
    }
    static const char *const endings[] = {"st", "nd", "rd", "th", "s"};
    word w;
    if (read_word(r, f->end, &w)) {
        const int ending = index_in(endings, COUNT(endings), w.text);
        if (ending >= 0) {
            f->ordinal = ending < 4;
            f->plain = false;
            f->end = w.end;
            return true;
        }
        const int scale = strcmp(w.text, "k") == 0                                ? 3
                          : strcmp(w.text, "m") == 0 || strcmp(w.text, "mn") == 0 ? 6
                          : strcmp(w.text, "bn") == 0                             ? 9
                                                                                  : 0;
        if (scale && w.text[0] != 'm') {
            f->value.exponent += f->value.digits ? scale : 0;
            f->end = w.end;
            f->plain = false;
            return true;
        }
    }
    read_after(r, f);
    return true;
}

/* What follows a spelled number: thirds, "and a half", o'clock. */
static void read_after_words(const reader *r, tr_figure *f)
{
    static const char *const parts[] = {"half",  "third",   "quarter", "fourth", "fifth",
                                        "sixth", "seventh", "eighth",  "ninth",  "tenth"};
    static const int of[] = {2, 3, 4, 4, 5, 6, 7, 8, 9, 10};
    word w, half;
    if (!next_word(r, f->end, &w)) {
        return;
    }
    size_t length = strlen(w.text);
    if (length > 4 && w.text[length - 1] == 's')
        w.text[length - 1] = 0;
    const int i = index_in(parts, COUNT(parts), w.text);
    if (i > 0 && f->value.digits < 100 && !f->ordinal) {
        f->kind = TR_FIGURE_PART;
        f->other = tr_decimal_of((uint64_t)of[i], 0);
        f->end = w.end;
        return;
    }
    if (strcmp(w.text, "and") == 0 && next_word(r, w.end, &half) && strcmp(half.text, "a") == 0 &&
        next_word(r, half.end, &half) && strcmp(half.text, "half") == 0 && f->value.exponent == 0) {
        f->value = tr_decimal_of(f->value.digits * 10 + 5, 1);
        f->end = half.end;
        return;
    }
    if (strcmp(w.text, "point") == 0) {
        uint64_t digits = f->value.digits;
        int decimals = 0;
        bool ordinal;
        size_t end = w.end;
        while (f->value.exponent == 0 && decimals < 6 && next_word(r, end, &half) && small_value(half.text, &ordinal) >= 0 &&
               small_value(half.text, &ordinal) < 10 && !ordinal) {
            digits = digits * 10 + (uint64_t)small_value(half.text, &ordinal);
            decimals++;
            end = half.end;
        }
        if (decimals) {
            f->value = tr_decimal_of(digits, decimals);
            f->end = end;
            f->optional = false;
        }
    }
    read_after(r, f);
}

/* half past nine, quarter to ten; half alone. */
static bool read_half_word(const reader *r, const word *w, tr_figure *f)
{
    word next, hour;
    bool ordinal;
    const bool quarter = strcmp(w->text, "quarter") == 0;
    *f = (tr_figure){.begin = w->begin,
                     .end = w->end,
                     .kind = TR_FIGURE_PERCENT,
                     .value = tr_decimal_of(quarter ? 25 : 50, 0),
                     .optional = true,
                     .spelled = true};
    if (next_word(r, w->end, &next) && (strcmp(next.text, "past") == 0 || strcmp(next.text, "to") == 0) &&
        next_word(r, next.end, &hour)) {
        const int value = small_value(hour.text, &ordinal);
        if (value < 1 || value > 12)
            return true;
        const bool to = next.text[0] == 't';
        f->kind = TR_FIGURE_TIME;
        f->hour = to ? (value == 1 ? 12 : value - 1) : value;
        f->minute = quarter ? (to ? 45 : 15) : 30;
        f->end = hour.end;
        f->optional = false;
        set_half(f, read_half(r, f->end, &f->end));
    }
    return true;
}

/* a third, one quarter */
static bool read_single_part(const reader *r, const word *w, tr_figure *f)
{
    static const char *const parts[] = {"third",   "quarter", "fourth", "fifth", "sixth",
                                        "seventh", "eighth",  "ninth",  "tenth"};
    static const int of[] = {3, 4, 4, 5, 6, 7, 8, 9, 10};
    word part;
    if ((strcmp(w->text, "a") != 0 && strcmp(w->text, "one") != 0) || !next_word(r, w->end, &part))
        return false;
    const int i = index_in(parts, COUNT(parts), part.text);
    if (i < 0)
        return false;
    *f = (tr_figure){.begin = w->begin,
                     .end = part.end,
                     .kind = TR_FIGURE_PART,
                     .value = tr_decimal_of(1, 0),
                     .other = tr_decimal_of((uint64_t)of[i], 0),
                     .optional = w->text[0] == 'a',
                     .spelled = true};
    return true;
}

static bool read_words(const reader *r, const word *w, tr_figure *f)
{
    if (read_single_part(r, w, f))
        return true;
    *f = (tr_figure){.begin = w->begin, .end = w->end, .optional = true, .spelled = true};
    int i = index_in(months, COUNT(months), w->text);
    if (i < 0 && at(r, w->begin) < 'a')
        i = index_in(short_months, COUNT(short_months), w->text);
    if (i >= 0 && at(r, w->begin) < 'a') {
        f->kind = TR_FIGURE_DATE;
        f->month = i + 1;
        f->optional = i == 4 || i == 2; /* may, march */
        return true;
    }
    if (strcmp(w->text, "half") == 0 || strcmp(w->text, "quarter") == 0)
        return read_half_word(r, w, f);
    static const char *const others[] = {"noon",   "midday", "midnight", "dozen",  "once",   "twice",
                                         "thrice", "both",   "couple",   "double", "triple", "single"};
    static const int values[] = {12, 12, 0, 12, 1, 2, 3, 2, 2, 2, 3, 1};
    i = index_in(others, COUNT(others), w->text);
    if (i >= 0 && i < 3) {
        f->kind = TR_FIGURE_TIME;
        f->hour = values[i];
        return true;
    }
    if (i >= 0) {
        f->value = tr_decimal_of((uint64_t)values[i], 0);
        return true;
    }
    if (!read_spelled(r, w, f))
        return false;
    read_after_words(r, f);
    return true;
}

/* Whether a sign or a word before a number says so. */
static bool is_negative(const reader *r, const tr_figure *f)
{
    static const char *const before[] = {"-", "\xe2\x88\x92", "minus ", "negative ", "Minus ", "Negative "};
    for (size_t i = 0; i < COUNT(before); i++) {
        const size_t length = strlen(before[i]), from = f->begin - length;
        if (f->begin >= length && memcmp(r->text + from, before[i], length) == 0 &&
            (!from || !tr_is_ascii_word(r->text[from - 1]))) /* not 010-8888 */
            return true;
    }
    return false;
}

/* Whether a text speaks of a loss, which makes its numbers negative. */
static bool tells_loss(const reader *r)
{
    static const char *const words[] = {"below zero", "below freezing", "loss", "deficit", "lost", "negative", "minus"};
    for (size_t i = 0; i < COUNT(words); i++)
        if (memmem(r->text, r->size, words[i], strlen(words[i])))
            return true;
    return false;
}

bool tr_figures_find_english(const char *text, size_t size, tr_figures *figures)
{
    const reader r = {text, size};
    bool loss = false;
    for (size_t i = 0; i < size;) {
        tr_figure f;
        word w;
        bool found = false;
        if (tr_is_ascii_digit(text[i])) {
            found = read_digits(&r, i, &f);
        } else if (text[i] == '.' && i + 1 < size && tr_is_ascii_digit(text[i + 1])) { /* .75 */
            found = read_digits(&r, i + 1, &f);
            int decimals = 0;
            for (size_t k = i + 1; k < size && tr_is_ascii_digit(text[k]); k++)
                decimals++;
            if ((f.kind == TR_FIGURE_NUMBER || f.kind == TR_FIGURE_PERCENT) && f.value.digits)
                f.value.exponent -= decimals;
        } else if (tr_is_ascii_letter(text[i])) {
            size_t end = i;
            if (read_word(&r, i, &w))
                found = read_words(&r, &w, &f);
            while (end < size && (tr_is_ascii_letter(text[end]) || (tr_is_ascii_digit(text[end]) && end > i)))
                end++;
            if (end > i && tr_is_ascii_digit(text[end - 1]))
                found = false; /* USB3, Q7 */
            if (!found)
                i = end;
        }
        if (!found) {
            i += i < size && !tr_is_ascii_letter(text[i]) && !tr_is_ascii_digit(text[i]);
            continue;
        }
        f.negative = (figures->count ? loss : (loss = tells_loss(&r))) || is_negative(&r, &f);
        if (!tr_figures_add(figures, &f))
            return false;
        i = f.end > i ? f.end : i + 1;
    }
    return true;
}
