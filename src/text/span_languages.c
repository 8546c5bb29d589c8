/* Spans that depend on the languages, the glossary and the attempt. */
#include <string.h>

#include "text/protect.h"
#include "text/span_scan.h"
#include "util/utf8.h"

/* Whether a new span takes the place of those of the plan that it overlaps: of words that lie within a term. */
static bool takes_place(const tr_kept_span *new, const tr_kept_span *old)
{
    return new->is_term && old->kind == TR_SPAN_WORD && old->begin >= new->begin && old->end <= new->end;
}

/* Puts more spans, in order, among those of the plan; those that overlap one of these are left out, but for terms. */
static tr_status merge_spans(tr_plan *plan, const tr_buffer *more, tr_error *error)
{
    const tr_kept_span *old = (const tr_kept_span *)(const void *)plan->spans.data;
    const tr_kept_span *new = (const tr_kept_span *)(const void *)more->data;
    const size_t old_count = plan->spans.size / sizeof *old, new_count = more->size / sizeof *new;
    tr_buffer merged = {0};
    size_t i = 0;
    if (!new_count)
        return TR_OK;
    for (size_t k = 0; k < new_count; k++) {
        const size_t first = i;
        while (i < old_count && old[i].end <= new[k].begin)
            i++;
        size_t after = i;
        while (after < old_count && takes_place(&new[k], &old[after]))
            after++;
        const bool fits = after == old_count || old[after].begin >= new[k].end;
        const size_t before = i - first;
        i = fits ? after : i;
        if ((before && !tr_buffer_append(&merged, &old[first], before * sizeof *old)) ||
            (fits && !tr_buffer_append(&merged, &new[k], sizeof *new))) {
            tr_buffer_free(&merged);
            return tr_fail_memory(error, "protected spans");
        }
    }
    if (i < old_count && !tr_buffer_append(&merged, &old[i], (old_count - i) * sizeof *old)) {
        tr_buffer_free(&merged);
        return tr_fail_memory(error, "protected spans");
    }
    tr_buffer_free(&plan->spans);
    plan->spans = merged;
    return TR_OK;
}

/* Puts the spans that were found, if there was memory for them, into the plan, and frees their list. */
static tr_status merge_found(tr_plan *plan, tr_buffer *found, bool good, tr_error *error)
{
    const tr_status status = good ? merge_spans(plan, found, error) : tr_fail_memory(error, "protected spans");
    tr_buffer_free(found);
    return status;
}

/* The figures that a translation must say, and that a rule writes in the target language. */
static tr_status add_figures(tr_plan *plan, const tr_protection *protection, const char *text, size_t begin, size_t end,
                             tr_error *error)
{
    tr_figures *figures = &plan->figures;
    tr_buffer *written = &plan->written, found = {0};
    const bool symbols = protection->symbols && protection->attempt == TR_ATTEMPT_WITH_SYMBOLS;
    tr_status status = tr_figures_find(protection->from, text + begin, end - begin, figures, error);
    bool good = true;
    for (size_t i = 0; status == TR_OK && good && i < figures->count; i++) {
        const tr_figure *f = &figures->items[i];
        const bool percent = f->kind == TR_FIGURE_PERCENT || f->kind == TR_FIGURE_FOLD || f->kind == TR_FIGURE_OFF;
        tr_kept_span span = {.begin = begin + f->begin,
                             .end = begin + f->end,
                             .stand_in = symbols   ? TR_STAND_IN_WORD
                                         : percent ? TR_STAND_IN_PERCENT
                                                   : TR_STAND_IN_NUMBER,
                             .is_written = true,
                             .written = written->size};
        bool known = false;
        if (f->optional)
            continue;
        good = tr_figure_write(text + begin, f, protection->from, protection->to, written, &known);
        span.written_size = written->size - span.written;
        if (good && known && span.written_size)
            good = tr_buffer_append(&found, &span, sizeof span);
    }
    if (status == TR_OK)
        return merge_found(plan, &found, good, error);
    tr_buffer_free(&found);
    return status;
}

/* Ways of writing numbers of which vocabularies lack characters. */
typedef enum digit_way { NO_DIGIT, CIRCLE, FORMAL, WIDE } digit_way;

/* A character of such a number. */
typedef struct digit_form {
    const char *from, *to; /* in the text, and as the network sees it */
    digit_way way;
    bool rare; /* most vocabularies lack it; without one of them the others stay */
} digit_form;

static const digit_form digit_forms[] = {
    {"〇", "0", CIRCLE, true},   {"一", "1", CIRCLE, false},  {"二", "2", CIRCLE, false},  {"三", "3", CIRCLE, false},
    {"四", "4", CIRCLE, false},  {"五", "5", CIRCLE, false},  {"六", "6", CIRCLE, false},  {"七", "7", CIRCLE, false},
    {"八", "8", CIRCLE, false},  {"九", "9", CIRCLE, false},  {"壹", "一", FORMAL, true},  {"贰", "二", FORMAL, true},
    {"貳", "二", FORMAL, true},  {"叁", "三", FORMAL, true},  {"參", "三", FORMAL, true},  {"肆", "四", FORMAL, true},
    {"伍", "五", FORMAL, true},  {"陆", "六", FORMAL, true},  {"陸", "六", FORMAL, true},  {"柒", "七", FORMAL, true},
    {"捌", "八", FORMAL, true},  {"玖", "九", FORMAL, true},  {"拾", "十", FORMAL, true},  {"佰", "百", FORMAL, true},
    {"仟", "千", FORMAL, true},  {"零", "零", FORMAL, false}, {"万", "万", FORMAL, false}, {"亿", "亿", FORMAL, false},
    {"萬", "万", FORMAL, false}, {"億", "亿", FORMAL, false}};

/* The full-width forms of printable ASCII, in numbers and names: letters, digits, and marks between them. */
static char narrow_form(const char *text, size_t end, size_t at)
{
    size_t length;
    const int32_t c = tr_character(text, end, at, &length);
    const char narrow = c > 0xff00 && c < 0xff5f ? (char)(c - 0xfee0) : 0;
    return tr_is_ascii_word(narrow) || (narrow && strchr(".%-/+", narrow)) ? narrow : 0;
}

/* The character at text[at], all of which have three bytes. narrow: memory for it. */
static digit_form digit_at(const char *text, size_t end, size_t at, char narrow[2])
{
    if (end - at < 3 || (unsigned char)text[at] < 0xe3)
        return (digit_form){.way = NO_DIGIT};
    for (size_t i = 0; i < sizeof digit_forms / sizeof *digit_forms; i++)
        if (memcmp(text + at, digit_forms[i].from, 3) == 0)
            return digit_forms[i];
    narrow[0] = narrow_form(text, end, at);
    narrow[1] = 0;
    return (digit_form){.to = narrow, .way = narrow[0] ? WIDE : NO_DIGIT, .rare = tr_is_ascii_word(narrow[0])};
}

/* Digits that most vocabularies lack, which the network sees in others: see TR_SPAN_DIGITS. */
static tr_status add_digits(tr_plan *plan, const char *text, size_t begin, size_t end, tr_error *error)
{
    tr_buffer found = {0};
    bool good = true;
    for (size_t at = begin; at < end && good;) {
        tr_kept_span span = {.begin = at, .kind = TR_SPAN_DIGITS, .is_written = true, .written = plan->written.size};
        char narrow[2];
        bool rare = false;
        digit_form digit = digit_at(text, end, at, narrow);
        const digit_way way = digit.way;
        for (; good && way && digit.way == way; digit = digit_at(text, end, at, narrow)) {
            good = tr_buffer_string(&plan->written, digit.to);
            rare = rare || digit.rare;
            at += 3;
        }
        span.end = at;
        span.written_size = plan->written.size - span.written;
        if (rare && (way == WIDE || at > span.begin + 3))
            good = good && tr_buffer_append(&found, &span, sizeof span);
        else
            plan->written.size = span.written;
        at += !way;
    }
    return merge_found(plan, &found, good, error);
}

/* The end of the number of an item at text[at], before a space and what is no number; at: it is none. One letter has a
 * bracket: "A. B. Smith" is a name. */
static size_t skip_item_number(const char *text, size_t end, size_t at)
{
    const bool opened = at < end && text[at] == '(';
    size_t k = at + opened, digits = 0;
    while (k < end && digits < 3 && tr_is_ascii_digit(text[k]))
        digits++, k++;
    if (!digits && k < end && tr_is_ascii_letter(text[k]))
        k++;
    if (k == at + opened || k >= end || (text[k] != ')' && (text[k] != '.' || !digits || opened)))
        return at;
    const size_t mark = k + 1;
    for (k = mark; k < end && text[k] == ' '; k++)
        ;
    return k > mark && k < end && !tr_is_ascii_digit(text[k]) ? mark : at;
}

/* The numbers of items at the beginnings of lines: 1. 12) (3) b) */
static tr_status add_items(tr_plan *plan, const char *text, size_t begin, size_t end, tr_error *error)
{
    tr_buffer found = {0};
    bool good = true;
    size_t before = begin, at = begin;
    while (before && (text[before - 1] == ' ' || text[before - 1] == '\t'))
        before--;
    if (before && !tr_is_line_end(text[before - 1])) /* a sentence of a line, which is planned again */
        return TR_OK;
    while (good && at < end) {
        while (at < end && (text[at] == ' ' || text[at] == '\t'))
            at++;
        const tr_kept_span span = {.begin = at, .end = skip_item_number(text, end, at), .kind = TR_SPAN_MARK};
        if (span.end > at)
            good = tr_buffer_append(&found, &span, sizeof span);
        while (at < end && !tr_is_line_end(text[at]))
            at++;
        at += at < end;
    }
    return merge_found(plan, &found, good, error);
}

/* Words in Chinese characters and kana, where the target language has these and the source language does not. */
static tr_status add_target_words(tr_plan *plan, const tr_protection *protection, const char *text, size_t begin, size_t end,
                                  tr_error *error)
{
    const tr_scripts han = tr_script_bit(TR_HAN), kana = tr_script_bit(TR_HIRAGANA) | tr_script_bit(TR_KATAKANA);
    const tr_scripts own = protection->target & (han | kana);
    tr_buffer found = {0};
    bool good = true;
    if (!own || !protection->source || protection->source & own)
        return TR_OK;
    for (size_t at = begin, length; good && at < end;) {
        tr_kept_span span = {.begin = at, .is_target = true};
        for (size_t k = at; k < end; k += length) { /* digits and · may stand between: 2024年6月, 卡尔·马克思 */
            const int32_t c = tr_character(text, end, k, &length);
            if (tr_is_letter_of(own, c) || c == 0x30fc)
                span.end = k + length;
            else if (!tr_is_ascii_digit(c) && (c != 0xb7 || k == at))
                break;
        }
        if (span.end > at) {
            good = tr_buffer_append(&found, &span, sizeof span);
            at = span.end;
            continue;
        }
        tr_character(text, end, at, &length);
        at += length;
        while (at < end && tr_is_ascii_digit(text[at - 1]) && tr_is_ascii_digit(text[at]))
            at++;
    }
    return merge_found(plan, &found, good, error);
}

/* The terms of the glossary. */
static tr_status add_terms(tr_plan *plan, const tr_protection *protection, const char *text, size_t begin, size_t end,
                           tr_error *error)
{
    tr_buffer found = {0};
    tr_term_match match;
    bool good = true;
    for (size_t at = begin; good && tr_terms_next(protection->terms, text, end, at, &match); at = match.end) {
        const tr_kept_span span = {.begin = match.begin,
                                   .end = match.end,
                                   .is_written = true,
                                   .is_term = true,
                                   .written = plan->written.size,
                                   .written_size = match.target_size};
        good = tr_buffer_append(&plan->written, match.target, match.target_size) &&
               tr_buffer_append(&found, &span, sizeof span);
    }
    return merge_found(plan, &found, good, error);
}

tr_status tr_add_language_spans(tr_plan *plan, const tr_protection *protection, const char *text, size_t begin, size_t end,
                                bool figures, tr_error *error)
{
    tr_status status = protection->terms ? add_terms(plan, protection, text, begin, end, error) : TR_OK;
    if (status == TR_OK)
        status = add_target_words(plan, protection, text, begin, end, error);
    if (status == TR_OK && protection->from == TR_FIGURES_ENGLISH)
        status = add_items(plan, text, begin, end, error);
    if (status == TR_OK && figures)
        status = add_figures(plan, protection, text, begin, end, error);
    if (status == TR_OK && protection->from == TR_FIGURES_CHINESE)
        status = add_digits(plan, text, begin, end, error);
    return status;
}
