#define _GNU_SOURCE
#include "text/protect.h"

#include <string.h>

#include "text/span_scan.h"
#include "tokenizer/language_codes.h"
#include "util/utf8.h"

const tr_stand_ins tr_common_stand_ins = {
    .names = {"Q7", "Zx", "Q8", "X1", "USB", "Z9", "X5", "K8", "W3", "Y6", "T4", "R2", "V8", "J5", "GPS", "M9"},
    .count = 16,
};

tr_protection tr_protection_of(const tr_language_pair *pair)
{
    const tr_figure_language from = pair->source_figures, to = pair->target_figures;
    return (tr_protection){.source = pair->source_letters,
                           .target = pair->target_letters,
                           .from = to == TR_FIGURES_DIGITS ? to : from,
                           .to = from == TR_FIGURES_DIGITS ? from : to,
                           .spaces = pair->source_unspaced && !pair->unspaced,
                           .symbols = pair->package->copy_symbols.size >= TR_CHUNK_WORDS};
}

const tr_stand_in_use *tr_uses_of(const tr_text_chunk *chunk)
{
    const tr_stand_in_use *all = (const tr_stand_in_use *)(const void *)(chunk->plan ? chunk->plan->uses.data : NULL);
    return chunk->use_count ? all + chunk->first_use : NULL;
}

bool tr_use_append(const tr_text_chunk *chunk, const char *text, const tr_stand_in_use *use, bool plural, tr_buffer *out)
{
    const tr_kept_span *span = &use->span;
    const char *written = chunk->plan->written.data + span->written;
    if (!span->is_written)
        return tr_buffer_append(out, text + span->begin, span->end - span->begin);
    return plural && span->is_term ? tr_append_plural(written, span->written_size, out)
                                   : tr_buffer_append(out, written, span->written_size);
}

/* -------------------------------------------------------------------------------------------------------------- the source
 */

/* Numbers that stand for numbers: networks copy small ones, and words around them fit. */
static const char *const numbers[] = {"37", "58", "46", "29", "63", "84", "52", "79", "36", "47", "68", "93"};

enum { NUMBERS = sizeof numbers / sizeof *numbers };

typedef struct stand_in_name {
    char text[TR_STAND_IN_SIZE + 2];
    size_t size;
} stand_in_name;

static stand_in_name name_of(const tr_text_chunk *chunk, tr_stand_in_kind kind, int stand_in)
{
    stand_in_name name = {.size = 0};
    const char *from = kind == TR_STAND_IN_WORD ? chunk->plan->stand_ins->names[stand_in] : numbers[stand_in];
    name.size = strlen(from);
    memcpy(name.text, from, name.size + 1);
    if (kind == TR_STAND_IN_PERCENT) {
        name.text[name.size++] = '%';
        name.text[name.size] = 0;
    }
    return name;
}

/* A stand-in that neither the text nor a use before holds; -1: there is none. */
static int choose_stand_in(const tr_stand_ins *words, int attempt, const char *text, size_t size, tr_stand_in_kind kind,
                           const tr_stand_in_use *uses, int count)
{
    const bool word = kind == TR_STAND_IN_WORD;
    const int all = word ? words->count : NUMBERS, first = attempt * all / TR_ATTEMPTS;
    for (int i = 0; i < all; i++) {
        const int candidate = (first + i) % all;
        const char *name = word ? words->names[candidate] : numbers[candidate];
        bool used = memmem(text, size, name, strlen(name)) != NULL;
        for (int k = 0; k < count && !used; k++)
            used = (uses[k].span.stand_in == TR_STAND_IN_WORD) == word && uses[k].stand_in == candidate;
        if (!used)
            return candidate;
    }
    return -1;
}

tr_status tr_uses_add(tr_plan *plan, const tr_protection *protection, const char *text, const tr_kept_span *spans,
                      size_t count, size_t begin, size_t end, tr_text_chunk *chunk, tr_error *error)
{
    tr_stand_in_use uses[TR_CHUNK_SPANS];
    tr_status status = TR_OK;
    for (size_t i = 0; i < count && !plan->stand_ins && status == TR_OK; i++)
        if (tr_has_stand_in(&spans[i]) && spans[i].stand_in == TR_STAND_IN_WORD)
            status = protection->find_stand_ins(protection->argument, &plan->stand_ins, error);
    if (status != TR_OK)
        return status;
    chunk->plan = plan;
    chunk->first_use = plan->uses.size / sizeof(tr_stand_in_use);
    chunk->use_count = 0;
    for (size_t i = 0; i < count && i < TR_CHUNK_SPANS; i++) {
        const bool has_none = !tr_has_stand_in(&spans[i]);
        const int chosen = has_none ? -1
                                    : choose_stand_in(plan->stand_ins, protection->attempt, text + begin, end - begin,
                                                      spans[i].stand_in, uses, chunk->use_count);
        if (chosen < 0 && !has_none)
            break;
        uses[chunk->use_count++] = (tr_stand_in_use){spans[i], chosen};
    }
    const size_t size = (size_t)chunk->use_count * sizeof *uses;
    return !size || tr_buffer_append(&plan->uses, uses, size) ? TR_OK : tr_fail_memory(error, "protected spans");
}

/* The end of a word of ASCII capitals at text[at], with apostrophes; at: there is none. */
static size_t skip_capitals(const char *text, size_t end, size_t at)
{
    size_t k = at;
    while (k < end && (tr_is_ascii_capital(text[k]) || (text[k] == '\'' && k > at)))
        k++;
    const bool glued = k < end && (tr_is_identifier(text[k]) || (unsigned char)text[k] >= 0xc0);
    return glued ? at : k;
}

/* The end of a row of words in capitals from text[at] on; at: there is none. *sure: it is none of abbreviations, as it has
 * two words, one of five letters at least, or four, one of two letters at most. */
static size_t skip_capital_row(const char *text, size_t end, size_t at, bool *sure)
{
    size_t words = 0, longest = 0, shortest = SIZE_MAX, row = at;
    for (size_t begin = at; begin < end;) {
        const size_t word = skip_capitals(text, end, begin);
        if (word == begin)
            break;
        words++;
        longest = word - begin > longest ? word - begin : longest;
        shortest = word - begin < shortest ? word - begin : shortest;
        row = begin = word;
        while (begin < end && strchr(",.:;!?\"-", text[begin]))
            begin++;
        if (begin == end || text[begin] != ' ')
            break;
        while (begin < end && (text[begin] == ' ' || text[begin] == '"' || text[begin] == '-'))
            begin++;
    }
    *sure = (words >= 2 && longest >= 5) || (words >= 4 && shortest <= 2);
    return row;
}

static bool begins_word(const char *text, size_t begin, size_t at)
{
    return at == begin || !(tr_is_identifier(text[at - 1]) || (unsigned char)text[at - 1] >= 0x80);
}

/* Where a row of words in capitals begins in text[begin .. end); end: there is none. *row: its end. */
static size_t find_capital_row(const char *text, size_t begin, size_t end, size_t *row)
{
    for (size_t at = begin; at<end; at = *row> at ? *row : at + 1) {
        bool sure = false;
        *row = begins_word(text, begin, at) ? skip_capital_row(text, end, at, &sure) : at;
        if (sure)
            return at;
    }
    return *row = end;
}

bool tr_is_in_capitals(const tr_protection *protection, const char *text, const tr_kept_span *spans, size_t count,
                       size_t begin, size_t end)
{
    const tr_scripts cased =
        tr_script_bit(TR_LATIN) | tr_script_bit(TR_GREEK) | tr_script_bit(TR_CYRILLIC) | tr_script_bit(TR_ARMENIAN);
    size_t at = begin, row;
    if (!protection || !(protection->source & tr_script_bit(TR_LATIN)) || !protection->target || protection->target & cased)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (spans[i].begin > at && find_capital_row(text, at, spans[i].begin, &row) < spans[i].begin)
            return true;
        at = spans[i].end;
    }
    return at < end && find_capital_row(text, at, end, &row) < end;
}

/* Words that keep their capital in small letters. */
static bool is_capitalised(const char *word, size_t size)
{
    static const char names[] =
        " I MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY JANUARY FEBRUARY MARCH APRIL JUNE "
        "JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER CHRISTMAS ";
    const char *found = memmem(names, sizeof names - 1, word, size);
    return found && found[-1] == ' ' && found[size] == ' ';
}

/* Appends text[begin .. end), its rows of words in capitals in small letters. first: the chunk begins there. */
static bool append_small(const char *text, size_t begin, size_t end, bool first, tr_buffer *out)
{
    const size_t from = out->size;
    size_t row;
    if (!tr_buffer_append(out, text + begin, end - begin))
        return false;
    for (size_t at = begin; (at = find_capital_row(text, at, end, &row)) < end; at = row)
        for (size_t i = at; i < row; i++) {
            size_t word = i;
            while (word < row && tr_is_ascii_capital(text[word]))
                word++;
            if (word == i)
                continue;
            const bool kept = (first && i == begin) || is_capitalised(text + i, word - i);
            for (size_t k = i + kept; k < word; k++)
                out->data[from + (k - begin)] = (char)(text[k] | 0x20);
            i = word - 1;
        }
    return true;
}

static bool append_text(const tr_text_chunk *chunk, const char *text, size_t begin, size_t end, bool first, tr_buffer *out)
{
    return chunk->capitals ? append_small(text, begin, end, first, out) : tr_buffer_append(out, text + begin, end - begin);
}

/* A stand-in does not grow together with letters and digits around it, nor do those on both sides of a tag. */
tr_status tr_uses_mask(const tr_text_chunk *chunk, const char *text, size_t begin, size_t end, tr_buffer *out,
                       tr_span *places, tr_error *error)
{
    const tr_stand_in_use *uses = tr_uses_of(chunk);
    size_t at = begin;
    bool good = true;
    for (int i = 0; good && i < chunk->use_count; i++) {
        const tr_kept_span *span = &uses[i].span;
        const bool is_tag = tr_is_aligned(span);
        const bool before = span->begin > begin && tr_is_identifier(text[span->begin - 1]);
        const bool after = span->end < end && tr_is_identifier(text[span->end]);
        const stand_in_name name =
            !tr_has_stand_in(span) ? (stand_in_name){.size = 0} : name_of(chunk, span->stand_in, uses[i].stand_in);
        good = append_text(chunk, text, at, span->begin, at == begin, out);
        if (places)
            places[i].begin = out->size;
        if (good && before && (after || !is_tag))
            good = tr_buffer_string(out, " ");
        if (span->kind == TR_SPAN_DIGITS)
            good = good && tr_use_append(chunk, text, &uses[i], false, out);
        good = good && tr_buffer_append(out, name.text, name.size);
        if (good && after && !is_tag)
            good = tr_buffer_string(out, " ");
        if (places)
            places[i].end = out->size;
        at = span->end;
    }
    return good && append_text(chunk, text, at, end, at == begin, out) ? TR_OK : tr_fail_memory(error, "protected spans");
}

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

tr_status tr_add_figure_spans(tr_plan *plan, const tr_protection *protection, const char *text, size_t begin, size_t end,
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
        status = good ? merge_spans(plan, &found, error) : tr_fail_memory(error, "protected spans");
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

tr_status tr_add_digit_spans(tr_plan *plan, const char *text, size_t begin, size_t end, tr_error *error)
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

tr_status tr_add_item_spans(tr_plan *plan, const char *text, size_t begin, size_t end, tr_error *error)
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

tr_status tr_add_target_spans(tr_plan *plan, const tr_protection *protection, const char *text, size_t begin, size_t end,
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

tr_status tr_add_term_spans(tr_plan *plan, const tr_protection *protection, const char *text, size_t begin, size_t end,
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

/* --------------------------------------------------------------------------------------------------------- the translation
 */

/* Whether what lies around a stand-in in a translation makes another word or number of it. */
static bool is_glued(const char *text, size_t size, size_t begin, size_t end)
{
    const bool digits = tr_is_ascii_digit(text[begin]);
    if (begin && tr_is_identifier(text[begin]) && tr_is_identifier(text[begin - 1]))
        return true;
    if (end < size && tr_is_identifier(text[end]) && tr_is_identifier(text[end - 1]))
        return true;
    if (digits && begin > 1 && (text[begin - 1] == '.' || text[begin - 1] == ',') && tr_is_ascii_digit(text[begin - 2]))
        return true;
    return digits && end + 1 < size && (text[end] == '.' || text[end] == ',') && tr_is_ascii_digit(text[end + 1]);
}

/* The stand-in's only place in the translation; false: it has none, or several. */
static bool find_stand_in(stand_in_name name, const char *translation, size_t size, tr_use_place *place)
{
    int found = 0;
    for (size_t from = 0; from + name.size <= size;) {
        const char *at = memmem(translation + from, size - from, name.text, name.size);
        if (!at)
            break;
        place->begin = (size_t)(at - translation);
        place->end = place->begin + name.size;
        from = place->end;
        if (is_glued(translation, size, place->begin, place->end))
            return false;
        found++;
    }
    return found == 1;
}

bool tr_is_copied(const char *name, const char *translation, size_t size)
{
    stand_in_name own = {.size = strlen(name)};
    tr_use_place place;
    memcpy(own.text, name, own.size + 1);
    return find_stand_in(own, translation, size, &place);
}

/* Format directives without numbers take arguments in the order in which they stand. */
static bool is_in_order(const tr_stand_in_use *uses, const tr_use_place *places, int count)
{
    int last = -1;
    for (int i = 0; i < count; i++) {
        if (uses[places[i].use].span.kind != TR_SPAN_PRINTF)
            continue;
        if (places[i].use < last)
            return false;
        last = places[i].use;
    }
    return true;
}

bool tr_uses_find(const tr_text_chunk *chunk, const char *text, const char *translation, size_t size, tr_use_place *places,
                  int *count)
{
    const tr_stand_in_use *uses = tr_uses_of(chunk);
    bool all = true;
    *count = 0;
    for (int i = 0; i < chunk->use_count; i++) {
        const tr_kept_span *span = &uses[i].span;
        tr_use_place place = {.use = i};
        if (!tr_has_stand_in(span))
            continue;
        if (!find_stand_in(name_of(chunk, span->stand_in, uses[i].stand_in), translation, size, &place)) {
            all = false;
            continue;
        }
        all = all && (span->is_written || span->is_target ||
                      !memmem(translation, size, text + span->begin, span->end - span->begin));
        int k = (*count)++;
        for (; k && places[k - 1].begin > place.begin; k--)
            places[k] = places[k - 1];
        places[k] = place;
    }
    return all && is_in_order(uses, places, *count);
}
