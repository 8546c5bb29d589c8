/* Numbers in texts: where they stand, what they are worth, whether a translation says the same ones, and how Chinese and
 * English write those of the other. Other languages are compared by their digits. */
#ifndef TR_TEXT_FIGURES_H
#define TR_TEXT_FIGURES_H

#include "util/buffer.h"

typedef enum tr_figure_language { TR_FIGURES_DIGITS, TR_FIGURES_CHINESE, TR_FIGURES_ENGLISH } tr_figure_language;

tr_figure_language tr_figure_language_of(const char *code);

typedef enum tr_figure_kind {
    TR_FIGURE_NUMBER,
    TR_FIGURE_PERCENT, /* 12.5%, 三成, 一半 */
    TR_FIGURE_FOLD,    /* 九五折: what is paid, in per cent */
    TR_FIGURE_OFF,     /* 5% off: what is not */
    TR_FIGURE_PART,    /* value / other: 三分之一 */
    TR_FIGURE_DATE,    /* year, month, day; 0: not named */
    TR_FIGURE_TIME,    /* hour, minute */
    TR_FIGURE_RANGE,   /* value to other: 三四十 */
    TR_FIGURE_DIGITS,  /* too long for a value: compared digit by digit */
} tr_figure_kind;

typedef enum tr_day_half { TR_HALF_UNKNOWN, TR_HALF_MORNING, TR_HALF_AFTERNOON } tr_day_half;

/* digits * 10^exponent, without trailing zeros in digits. */
typedef struct tr_decimal {
    uint64_t digits;
    int exponent;
} tr_decimal;

typedef struct tr_figure {
    size_t begin, end; /* bytes of the text */
    tr_figure_kind kind;
    tr_decimal value, other;
    int year, month, day, hour, minute;
    tr_day_half half;
    bool optional; /* it may be missing in a translation: 一, "a few" */
    bool spelled;  /* in words: it may be there without one in the source */
    bool ordinal;
    bool plain;       /* in digits alone, as other languages write it, too */
    bool over;        /* 100多亿: over 10 billion */
    bool negative;    /* 负三十万 */
    const char *unit; /* in English, where the figure has it inside: 三块五; NULL: it has none */
} tr_figure;

typedef struct tr_figures {
    tr_figure *items; /* [count] in the order of the text */
    size_t count, capacity;
} tr_figures;

/* Replaces what figures holds by the figures of a text, valid UTF-8. Linear in its size. TR_ERROR_MEMORY */
tr_status tr_figures_find(tr_figure_language language, const char *text, size_t size, tr_figures *figures, tr_error *error);
void tr_figures_free(tr_figures *figures);

bool tr_figures_add(tr_figures *figures, const tr_figure *figure) TR_CHECKED;
bool tr_figures_find_chinese(const char *text, size_t size, tr_figures *figures) TR_CHECKED;
bool tr_figures_find_english(const char *text, size_t size, tr_figures *figures) TR_CHECKED;

/* Whether a translation says all figures of its source that are not optional, and no other ones in digits. */
bool tr_figures_agree(const char *source_text, const tr_figures *source, const char *target_text, const tr_figures *target);

/* Appends a figure of a text as another language writes it. *known: out, a rule does. False: out of memory. */
bool tr_figure_write(const char *text, const tr_figure *figure, tr_figure_language from, tr_figure_language to,
                     tr_buffer *out, bool *known) TR_CHECKED;

/* A decimal of digits / 10^decimals. */
tr_decimal tr_decimal_of(uint64_t digits, int decimals);
/* Reads digits with separators of thousands and a decimal point from text[at] on. Returns their end; at: there are none, or
 * too many for a value: *digits is how many. */
size_t tr_decimal_read(const char *text, size_t size, size_t at, tr_decimal *value, size_t *digits);

#endif
