#include "text/figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

enum { MOST_READ = 64, MOST_DIGITS = 18 }; /* of a value */

static const char *const month_names[] = {"January", "February", "March",     "April",   "May",      "June",
                                          "July",    "August",   "September", "October", "November", "December"};

tr_figure_language tr_figure_language_of(const char *code)
{
    const size_t length = strcspn(code, "-_.@");
    static const char chinese[] = " zh zho chi cmn yue ", english[] = " en eng ";
    char word[8];
    if (length < 2 || length > 3)
        return TR_FIGURES_DIGITS;
    snprintf(word, sizeof word, " %.*s ", (int)length, code);
    return strstr(chinese, word) ? TR_FIGURES_CHINESE : strstr(english, word) ? TR_FIGURES_ENGLISH : TR_FIGURES_DIGITS;
}

void tr_figures_free(tr_figures *figures)
{
    free(figures->items);
    *figures = (tr_figures){0};
}

bool tr_figures_add(tr_figures *figures, const tr_figure *figure)
{
    if (figures->count == figures->capacity) {
        const size_t larger = figures->capacity ? figures->capacity * 2 : 8;
        tr_figure *moved = larger > SIZE_MAX / sizeof *moved ? NULL : realloc(figures->items, larger * sizeof *moved);
        if (!moved)
            return false;
        figures->items = moved;
        figures->capacity = larger;
    }
    figures->items[figures->count++] = *figure;
    return true;
}

/* -------------------------------------------------------------------------------------------------------------- decimals */

tr_decimal tr_decimal_of(uint64_t digits, int decimals)
{
    tr_decimal d = {digits, -decimals};
    if (!digits)
        return (tr_decimal){0};
    while (d.digits % 10 == 0) {
        d.digits /= 10;
        d.exponent++;
    }
    return d;
}

size_t tr_decimal_read(const char *text, size_t size, size_t at, tr_decimal *value, size_t *digits)
{
    uint64_t number = 0;
    int decimals = 0;
    size_t end = at, count = 0, group = 0;
    bool point = false, commas = false;
    for (size_t i = at; i < size && count < MOST_READ; i++) {
        const char c = text[i];
        if (tr_is_ascii_digit(c)) {
            count++;
            group++;
            number = count <= MOST_DIGITS ? number * 10 + (uint64_t)(c - '0') : number;
            decimals += point;
            end = i + 1;
        } else if (c == ',' && !point && i + 3 < size && tr_is_ascii_digit(text[i + 1]) && tr_is_ascii_digit(text[i + 2]) &&
                   tr_is_ascii_digit(text[i + 3]) && !(i + 4 < size && tr_is_ascii_digit(text[i + 4])) &&
                   (commas ? group == 3 : group <= 3)) {
            commas = true;
            group = 0;
        } else if (c == '.' && !point && i + 1 < size && tr_is_ascii_digit(text[i + 1]) && count) {
            point = true;
        } else {
            break;
        }
    }
    *digits = count;
    if (count > MOST_DIGITS || !count)
        return at;
    *value = tr_decimal_of(number, decimals);
    return end;
}

static bool same_decimal(tr_decimal a, tr_decimal b)
{
    return a.digits == b.digits && (a.exponent == b.exponent || !a.digits);
}

static bool is_whole(tr_decimal d, uint64_t number)
{
    return same_decimal(d, tr_decimal_of(number, 0));
}

/* -1: it is no whole number below a million. */
static int64_t whole_of(tr_decimal d)
{
    uint64_t n = d.digits;
    if (d.exponent < 0 || d.exponent > 6)
        return -1;
    for (int i = 0; i < d.exponent; i++)
        n *= 10;
    return n < 1000000 ? (int64_t)n : -1;
}

static tr_decimal shifted(tr_decimal d, int exponent)
{
    d.exponent += d.digits ? exponent : 0;
    return d;
}

/* 100 - d */
static tr_decimal rest_of_hundred(tr_decimal d)
{
    uint64_t scale = 1;
    if (d.exponent < -6 || d.exponent > 2)
        return d;
    int decimals = d.exponent < 0 ? -d.exponent : 0;
    uint64_t digits = d.digits;
    for (int i = 0; i < decimals; i++)
        scale *= 10;
    for (int i = 0; i < d.exponent; i++)
        digits *= 10;
    return digits > 100 * scale ? d : tr_decimal_of(100 * scale - digits, decimals);
}

/* ------------------------------------------------------------------------------------------------------------- comparison
 */

/* Whether value / other is so many per cent. */
static bool is_share(const tr_figure *part, tr_decimal percent)
{
    const int64_t a = whole_of(part->value), b = whole_of(part->other);
    if (a < 0 || b <= 0 || percent.digits > 1000000 || percent.exponent < -6 || percent.exponent > 6)
        return false;
    uint64_t left = (uint64_t)a * 100, right = percent.digits * (uint64_t)b;
    for (int i = 0; i < percent.exponent; i++)
        right *= 10;
    for (int i = 0; i < -percent.exponent; i++)
        left *= 10;
    return left == right;
}

static bool same_parts(const tr_figure *a, const tr_figure *b)
{
    const int64_t p = whole_of(a->value), q = whole_of(a->other), r = whole_of(b->value), s = whole_of(b->other);
    return p >= 0 && q > 0 && r >= 0 && s > 0 && p * s == r * q;
}

static bool same_time(const tr_figure *a, const tr_figure *b)
{
    const bool known = a->half != TR_HALF_UNKNOWN && b->half != TR_HALF_UNKNOWN;
    return a->minute == b->minute && (a->hour == b->hour || (!known && a->hour % 12 == b->hour % 12));
}

static bool same_digits(const char *a_text, const tr_figure *a, const char *b_text, const tr_figure *b)
{
    size_t i = a->begin, k = b->begin;
    for (;;) {
        while (i < a->end && !tr_is_ascii_digit(a_text[i]))
            i++;
        while (k < b->end && !tr_is_ascii_digit(b_text[k]))
            k++;
        if (i == a->end || k == b->end)
            return i == a->end && k == b->end;
        if (a_text[i++] != b_text[k++])
            return false;
    }
}

/* Whether the target's figure t says what the source's figure s does; both are no dates. */
static bool says(const char *source, const tr_figure *s, const char *target, const tr_figure *t)
{
    if (s->kind == TR_FIGURE_DIGITS || t->kind == TR_FIGURE_DIGITS)
        return (s->plain || s->optional) && same_digits(source, s, target, t);
    if (s->negative && !t->negative)
        return false;
    switch (s->kind) {
    case TR_FIGURE_NUMBER:
        if (t->kind == TR_FIGURE_NUMBER)
            return same_decimal(s->value, t->value) || /* 90年代: 1990s */
                   (whole_of(s->value) >= 10 && whole_of(s->value) < 100 && whole_of(t->value) == 1900 + whole_of(s->value));
        if (t->kind == TR_FIGURE_TIME)
            return t->minute == 0 && (whole_of(s->value) == t->hour || whole_of(s->value) + 12 == t->hour);
        return (t->kind == TR_FIGURE_PERCENT && (same_decimal(shifted(s->value, 2), t->value) || s->plain) &&
                (same_decimal(s->value, t->value) || same_decimal(shifted(s->value, 2), t->value)));
    case TR_FIGURE_PERCENT:
        return ((t->kind == TR_FIGURE_PERCENT || t->kind == TR_FIGURE_OFF) && same_decimal(s->value, t->value)) ||
               (t->kind == TR_FIGURE_NUMBER &&
                (same_decimal(s->value, t->value) || same_decimal(shifted(s->value, -2), t->value))) ||
               (t->kind == TR_FIGURE_PART && is_share(t, s->value)) ||
               (t->kind == TR_FIGURE_FOLD && same_decimal(rest_of_hundred(s->value), t->value));
    case TR_FIGURE_FOLD:
        return (t->kind == TR_FIGURE_OFF && same_decimal(rest_of_hundred(s->value), t->value)) ||
               ((t->kind == TR_FIGURE_PERCENT || t->kind == TR_FIGURE_FOLD) && same_decimal(s->value, t->value)) ||
               (t->kind == TR_FIGURE_PERCENT && is_whole(s->value, 50) && is_whole(t->value, 50));
    case TR_FIGURE_OFF:
        return (t->kind == TR_FIGURE_FOLD && same_decimal(rest_of_hundred(s->value), t->value)) ||
               ((t->kind == TR_FIGURE_PERCENT || t->kind == TR_FIGURE_OFF) && same_decimal(s->value, t->value));
    case TR_FIGURE_PART:
        return (t->kind == TR_FIGURE_PART && same_parts(s, t)) || (t->kind == TR_FIGURE_PERCENT && is_share(s, t->value));
    case TR_FIGURE_TIME:
        if (t->kind == TR_FIGURE_TIME)
            return same_time(s, t);
        return t->kind == TR_FIGURE_NUMBER && s->minute == 0 && whole_of(t->value) >= 0 && whole_of(t->value) <= 24 &&
               whole_of(t->value) % 12 == s->hour % 12;
    case TR_FIGURE_RANGE: /* its first number: two or three hundred */
        return t->kind == TR_FIGURE_NUMBER &&
               (same_decimal(s->value, t->value) ||
                (s->value.exponent >= 2 && same_decimal(tr_decimal_of(s->value.digits, 0), t->value)));
    case TR_FIGURE_DATE:
    case TR_FIGURE_DIGITS: break;
    }
    return false;
}

/* The parts of dates and ranges as numbers, everything else as it is. */
typedef struct atom {
    tr_figure figure;
    bool used;
} atom;

static size_t add_number(const tr_figure *f, tr_decimal value, atom *to)
{
    *to = (atom){*f, false};
    to->figure.kind = TR_FIGURE_NUMBER;
    to->figure.value = value;
    return 1;
}

static size_t add_atoms(const tr_figure *f, atom *atoms)
{
    const int parts[] = {f->year, f->month, f->day};
    size_t count = 0;
    if (f->kind == TR_FIGURE_RANGE) {
        atoms[0] = (atom){*f, false}; /* stays a range, see says */
        return 1 + add_number(f, f->other, atoms + 1);
    }
    if (f->kind != TR_FIGURE_DATE) {
        atoms[0] = (atom){*f, false};
        return 1;
    }
    for (int i = 0; i < 3; i++)
        if (parts[i])
            count += add_number(f, tr_decimal_of((uint64_t)parts[i], 0), atoms + count);
    return count;
}

enum { MOST_ATOMS = 96 }; /* of a text that is compared; one with more is taken for wrong */

static size_t list_atoms(const tr_figures *figures, atom *atoms)
{
    size_t count = 0;
    for (size_t i = 0; i < figures->count && count + 3 <= MOST_ATOMS; i++)
        count += add_atoms(&figures->items[i], atoms + count);
    return count;
}

/* Pairs the atoms of one rank: required ones come first, so that optional ones do not take what they need. */
static bool pair_atoms(const char *source, atom *s, size_t s_count, const char *target, atom *t, size_t t_count,
                       bool optional)
{
    bool all = true;
    for (size_t i = 0; i < s_count; i++) {
        size_t k = 0;
        if (s[i].figure.optional != optional)
            continue;
        while (k < t_count && (t[k].used || !says(source, &s[i].figure, target, &t[k].figure)))
            k++;
        s[i].used = k < t_count;
        if (k < t_count)
            t[k].used = true;
        else if (!optional)
            all = false;
    }
    return all;
}

bool tr_figures_agree(const char *source_text, const tr_figures *source, const char *target_text, const tr_figures *target)
{
    atom s[MOST_ATOMS], t[MOST_ATOMS];
    const size_t s_count = list_atoms(source, s), t_count = list_atoms(target, t);
    if (s_count + 3 > MOST_ATOMS || t_count + 3 > MOST_ATOMS)
        return false;
    bool agree = pair_atoms(source_text, s, s_count, target_text, t, t_count, false);
    (void)!pair_atoms(source_text, s, s_count, target_text, t, t_count, true);
    for (size_t k = 0; k < t_count; k++) {
        bool again = false; /* said twice */
        for (size_t i = 0; i < s_count && !t[k].used && !again; i++)
            again = says(source_text, &s[i].figure, target_text, &t[k].figure);
        agree = agree && (t[k].used || t[k].figure.spelled || t[k].figure.optional || again);
    }
    return agree;
}

/* ------------------------------------------------------------------------------------------------------------- writing */

/* Plain decimal digits, with commas from 10,000 on if wanted. */
static bool write_decimal(tr_decimal d, bool commas, tr_buffer *out)
{
    char digits[64], text[96];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, d.digits), at = 0;
    const int whole = length + d.exponent; /* digits before the point */
    if (d.exponent > 20 || d.exponent < -20)
        return tr_buffer_string(out, digits);
    if (whole <= 0)
        text[at++] = '0';
    for (int i = 0; i < whole; i++) {
        if (commas && whole > 4 && i && (whole - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = i < length ? digits[i] : '0';
    }
    if (d.exponent < 0) {
        text[at++] = '.';
        for (int i = whole; i < 0; i++)
            text[at++] = '0';
        for (int i = whole > 0 ? whole : 0; i < length; i++)
            text[at++] = digits[i];
    }
    return tr_buffer_append(out, text, (size_t)at);
}

/* The power of ten of the first digit. */
static int magnitude(tr_decimal d)
{
    int m = d.exponent - 1;
    for (uint64_t n = d.digits; n; n /= 10)
        m++;
    return m;
}

static bool write_english_number(const tr_figure *f, tr_buffer *out)
{
    const int m = magnitude(f->value);
    const int unit = m >= 12 ? 12 : m >= 9 ? 9 : 6;
    if (m >= 6 && f->value.exponent >= unit - 4)
        return write_decimal(shifted(f->value, -unit), true, out) && tr_buffer_string(out, unit == 12  ? " trillion"
                                                                                           : unit == 9 ? " billion"
                                                                                                       : " million");
    return write_decimal(f->value, true, out);
}

static bool write_chinese_number(const tr_figure *f, tr_buffer *out)
{
    const int m = magnitude(f->value);
    const int unit = m >= 8 ? 8 : 4;
    if (m >= 5 && f->value.exponent >= unit - 4)
        return write_decimal(shifted(f->value, -unit), false, out) && tr_buffer_string(out, unit == 8 ? "亿" : "万");
    return write_decimal(f->value, false, out);
}

static bool write_ordinal(tr_decimal value, tr_buffer *out)
{
    const int64_t n = whole_of(value);
    const char *suffix = n % 100 >= 11 && n % 100 <= 13 ? "th"
                         : n % 10 == 1                  ? "st"
                         : n % 10 == 2                  ? "nd"
                         : n % 10 == 3                  ? "rd"
                                                        : "th";
    return write_decimal(value, true, out) && tr_buffer_string(out, suffix);
}

static bool write_english(const tr_figure *f, tr_buffer *out)
{
    char text[64];
    switch (f->kind) {
    case TR_FIGURE_NUMBER:
        return tr_buffer_string(out, f->over       ? "over "
                                     : f->negative ? "-"
                                                   : "") &&
               (f->ordinal ? write_ordinal(f->value, out) : write_english_number(f, out)) &&
               (!f->unit || (tr_buffer_string(out, " ") && tr_buffer_string(out, f->unit)));
    case TR_FIGURE_RANGE:
        return write_decimal(f->value, true, out) && tr_buffer_string(out, " to ") && write_decimal(f->other, true, out);
    case TR_FIGURE_PERCENT: return write_decimal(f->value, true, out) && tr_buffer_string(out, "%");
    case TR_FIGURE_FOLD: return write_decimal(rest_of_hundred(f->value), false, out) && tr_buffer_string(out, "% off");
    case TR_FIGURE_OFF: return write_decimal(f->value, false, out) && tr_buffer_string(out, "% off");
    case TR_FIGURE_PART:
        return write_decimal(f->value, false, out) && tr_buffer_string(out, "/") && write_decimal(f->other, false, out);
    case TR_FIGURE_DATE:
        if (f->month && f->day && f->year)
            snprintf(text, sizeof text, "%s %d, %d", month_names[f->month - 1], f->day, f->year);
        else if (f->month && f->day)
            snprintf(text, sizeof text, "%s %d", month_names[f->month - 1], f->day);
        else if (f->month && f->year)
            snprintf(text, sizeof text, "%s %d", month_names[f->month - 1], f->year);
        else if (f->month)
            snprintf(text, sizeof text, "%s", month_names[f->month - 1]);
        else
            snprintf(text, sizeof text, "%d", f->year ? f->year : f->day);
        return tr_buffer_string(out, text);
    case TR_FIGURE_TIME:
        if (f->half == TR_HALF_UNKNOWN)
            snprintf(text, sizeof text, "%d:%02d", f->hour, f->minute);
        else if (f->minute)
            snprintf(text, sizeof text, "%d:%02d %s", f->hour % 12 ? f->hour % 12 : 12, f->minute,
                     f->half == TR_HALF_MORNING ? "a.m." : "p.m.");
        else
            snprintf(text, sizeof text, "%d %s", f->hour % 12 ? f->hour % 12 : 12,
                     f->half == TR_HALF_MORNING ? "a.m." : "p.m.");
        return tr_buffer_string(out, text);
    case TR_FIGURE_DIGITS: break;
    }
    return true;
}

static bool write_chinese(const tr_figure *f, tr_buffer *out)
{
    char text[64];
    switch (f->kind) {
    case TR_FIGURE_NUMBER: return (!f->ordinal || tr_buffer_string(out, "第")) && write_chinese_number(f, out);
    case TR_FIGURE_RANGE:
        return write_chinese_number(f, out) && tr_buffer_string(out, "到") && write_decimal(f->other, false, out);
    case TR_FIGURE_PERCENT: return write_decimal(f->value, false, out) && tr_buffer_string(out, "%");
    case TR_FIGURE_OFF:
        return write_decimal(shifted(rest_of_hundred(f->value), -1), false, out) && tr_buffer_string(out, "折");
    case TR_FIGURE_FOLD: return write_decimal(shifted(f->value, -1), false, out) && tr_buffer_string(out, "折");
    case TR_FIGURE_PART:
        return write_decimal(f->other, false, out) && tr_buffer_string(out, "分之") && write_decimal(f->value, false, out);
    case TR_FIGURE_DATE: {
        const int parts[] = {f->year, f->month, f->day};
        static const char *const signs[] = {"年", "月", "日"};
        bool good = true;
        for (int i = 0; i < 3 && good; i++)
            good = !parts[i] ||
                   (write_decimal(tr_decimal_of((uint64_t)parts[i], 0), false, out) && tr_buffer_string(out, signs[i]));
        return good;
    }
    case TR_FIGURE_TIME:
        snprintf(text, sizeof text, "%s%d:%02d",
                 f->half == TR_HALF_UNKNOWN   ? ""
                 : f->half == TR_HALF_MORNING ? "上午"
                                              : "下午",
                 f->half == TR_HALF_AFTERNOON && f->hour > 12 ? f->hour - 12 : f->hour, f->minute);
        return tr_buffer_string(out, text);
    case TR_FIGURE_DIGITS: break;
    }
    return true;
}

bool tr_figure_write(const char *text, const tr_figure *figure, tr_figure_language from, tr_figure_language to,
                     tr_buffer *out, bool *known)
{
    const bool both = from != TR_FIGURES_DIGITS && to != TR_FIGURES_DIGITS;
    *known = figure->plain || (both && from != to && figure->kind != TR_FIGURE_DIGITS);
    if (!*known)
        return true;
    if (figure->plain)
        return tr_buffer_append(out, text + figure->begin, figure->end - figure->begin);
    return to == TR_FIGURES_ENGLISH ? write_english(figure, out) : write_chinese(figure, out);
}

/* ------------------------------------------------------------------------------------------------------------- other texts
 */

/* Numbers in digits, whose point and separators may be other ones. */
static bool find_digits(const char *text, size_t size, tr_figures *figures)
{
    for (size_t i = 0; i < size; i++) {
        if (!tr_is_ascii_digit(text[i]))
            continue;
        size_t end = i + 1;
        while (end < size && (tr_is_ascii_digit(text[end]) || ((text[end] == '.' || text[end] == ',') && end + 1 < size &&
                                                               tr_is_ascii_digit(text[end + 1]))))
            end++;
        /* 万 and 亿 change the digits */
        const bool units = size - end >= 3 && (memcmp(text + end, "万", 3) == 0 || memcmp(text + end, "亿", 3) == 0 ||
                                               memcmp(text + end, "萬", 3) == 0 || memcmp(text + end, "億", 3) == 0);
        const tr_figure figure = {
            .begin = i, .end = end, .kind = TR_FIGURE_DIGITS, .plain = !units, .optional = units, .spelled = units};
        if (!tr_figures_add(figures, &figure))
            return false;
        i = end;
    }
    return true;
}

tr_status tr_figures_find(tr_figure_language language, const char *text, size_t size, tr_figures *figures, tr_error *error)
{
    figures->count = 0;
    const bool good = language == TR_FIGURES_CHINESE   ? tr_figures_find_chinese(text, size, figures)
                      : language == TR_FIGURES_ENGLISH ? tr_figures_find_english(text, size, figures)
                                                       : find_digits(text, size, figures);
    return good ? TR_OK : tr_fail_memory(error, "numbers");
}
